//! A write-ahead log that ends or is damaged at a random byte: earlier commits exist, later ones do not, and no commit
//! exists in part.

use std::{fs, path::Path};

use loomtree::{ops::NodeDraft, types::Parent};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{
    assert_clean, assert_sentence, chain, message,
    support::{rounds, store::Scene},
    verified,
};

/// A database with its log. `commits` has the log's length and the journal's last number after each commit.
struct Log {
    database: Vec<u8>,
    log: Vec<u8>,
    /// The journal's last number without the log, then after each commit in it.
    commits: Vec<(usize, u64)>,
}

fn sibling_file(path: &Path, ending: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn written() -> Log {
    let scene = Scene::new(41);
    let first = chain(&scene.owner(), 4);
    // The first writer closed the file and emptied the log into it; the second one's commits are all in the log.
    let owner = scene.owner();
    let (wal, loom) = (sibling_file(&scene.path, "-wal"), owner.loom().clone());
    let length = || fs::metadata(&wal).map_or(0, |m| usize::try_from(m.len()).unwrap());
    let last = || loom.snapshot().unwrap().last_seq().unwrap();
    let mut commits = vec![(length(), last())];
    let mut parent = first[4].id;
    for number in 0..40 {
        match number % 5 {
            3 => drop(owner.bookmark(parent, &format!("label {number}")).unwrap()),
            4 => drop(owner.edit(parent, &format!("{} again", message(number))).unwrap()),
            _ => parent = owner.append(Parent::Node(parent), NodeDraft::text(message(number))).unwrap().nodes[0].id,
        }
        commits.push((length(), last()));
    }
    assert!(commits.is_sorted_by(|a, b| a.0 < b.0), "each commit made the log longer: {commits:?}");
    Log { database: fs::read(&scene.path).unwrap(), log: fs::read(&wal).unwrap(), commits }
}

/// Opens the database with this log; returns the journal's last number.
fn open(log: &Log, torn: &[u8]) -> u64 {
    let scene = Scene::new(42);
    fs::write(&scene.path, &log.database).unwrap();
    fs::write(sibling_file(&scene.path, "-wal"), torn).unwrap();
    let owner = scene.owner();
    let report = verified(owner.loom().store().as_ref());
    assert!(report.problems.is_empty(), "{:#?}", report.problems);
    assert!(report.nodes >= 5, "what was in the file is there");
    let last = owner.loom().snapshot().unwrap().last_seq().unwrap();
    // New commits work.
    chain(&owner, 2);
    assert_clean(owner.loom().store().as_ref());
    last
}

/// Number of damaged logs of a test.
fn cases() -> usize {
    rounds::of("LOOM_TORN", 24, 200) as usize
}

#[test]
fn a_log_torn_at_any_byte_keeps_exactly_the_commits_before() {
    let log = written();
    let mut rng = StdRng::seed_from_u64(43);
    let mut seen = std::collections::BTreeSet::new();
    let cases = cases();
    for case in 0..cases {
        // Tests the last byte of every commit and the byte before it.
        let at = match log.commits.get(case / 2) {
            Some((end, _)) if case < 80 && case < cases / 2 => end.saturating_sub(case % 2),
            _ => rng.random_range(0..=log.log.len()),
        };
        let expected = log.commits.iter().rfind(|(end, _)| *end <= at).map_or(log.commits[0].1, |c| c.1);
        assert_eq!(open(&log, &log.log[..at]), expected, "torn at byte {at}");
        seen.insert(expected);
    }
    println!("{cases} torn logs, {} of {} commits were the last to survive", seen.len(), log.commits.len());
}

#[test]
fn a_log_overwritten_at_any_byte_keeps_exactly_the_commits_before() {
    let log = written();
    let mut rng = StdRng::seed_from_u64(44);
    for case in 0..cases() {
        let at = rng.random_range(0..log.log.len());
        let mut torn = log.log.clone();
        match case % 3 {
            // Flips a bit, writes a sector of zeros as an unwritten disk has it, or noise up to the end.
            0 => torn[at] ^= 1 << rng.random_range(0..8),
            1 => {
                let end = (at + 512).min(torn.len());
                torn[at..end].fill(0);
            }
            _ => rng.fill(&mut torn[at..]),
        }
        // Zeros may replace zeros; only the first byte that differs counts.
        let Some(at) = torn.iter().zip(&log.log).position(|(a, b)| a != b) else { continue };
        let expected = log.commits.iter().rfind(|(end, _)| *end <= at).map_or(log.commits[0].1, |c| c.1);
        assert_eq!(open(&log, &torn), expected, "overwritten at byte {at}, case {case}");
    }
}

#[test]
fn a_log_that_is_none_is_an_empty_one() {
    let log = written();
    let without = log.commits[0].1;
    for torn in [Vec::new(), b"not a log".to_vec(), vec![0; 32], vec![0xff; 100_000]] {
        assert_eq!(open(&log, &torn), without);
    }
    // The log of another database is ignored because its salt differs, but its frames are valid in themselves. SQLite
    // cannot detect such a mix, so the file must stay readable or report damage.
    let other = {
        let scene = Scene::new(45);
        let owner = scene.owner();
        chain(&owner, 3);
        fs::read(sibling_file(&scene.path, "-wal")).unwrap()
    };
    let scene = Scene::new(46);
    fs::write(&scene.path, &log.database).unwrap();
    fs::write(sibling_file(&scene.path, "-wal"), other).unwrap();
    match scene.options().open(&scene.path) {
        Ok(store) => drop(verified(&store)),
        Err(error) => assert_sentence(&error),
    }
}
