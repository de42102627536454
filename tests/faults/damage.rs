//! Flipped bytes: `verify` names the damaged item, and no other operation on such a file panics or hangs.

use std::{
    fs,
    path::Path,
    sync::{Arc, mpsc},
    time::Duration,
};

use loomtree::{
    ops::{NodeDraft, TreeDraft},
    store::{JournalFilter, LocalIdLookup, SessionFilter, Snapshot, Store, StoreError},
    types::{LinkTarget, Mode, Node, Parent},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{all_nodes, assert_sentence, chain, support::store::Scene, verified};

#[test]
fn verify_names_the_node_whose_content_was_changed() {
    for (seed, words) in [(101, 3), (102, 4_000)] {
        let scene = Scene::new(seed);
        let owner = scene.owner();
        let nodes = chain(&owner, 20);
        let text = format!("{} needle {}", "hay ".repeat(words), "hay ".repeat(words));
        let id = owner.append(Parent::Node(nodes[9].id), NodeDraft::text(text)).unwrap().nodes[0].id;
        let local = owner.loom().node(id).unwrap().local;
        drop(owner);

        let mut bytes = fs::read(&scene.path).unwrap();
        let at = bytes.windows(6).position(|w| w == b"needle").expect("it is in the file");
        bytes[at] ^= 1;
        fs::write(&scene.path, &bytes).unwrap();
        let problems = verified(&scene.store()).problems;
        assert_eq!(problems.len(), 1, "{problems:?}");
        let named = format!("node [{local}] is damaged");
        assert!(problems[0].starts_with(&named), "{problems:?}");
        // The content is not UTF-8 any more. SQLite returns it unchanged, and decoding the node fails.
        bytes[at] = 0xff;
        fs::write(&scene.path, &bytes).unwrap();
        let store = scene.store();
        let problems = verified(&store).problems;
        assert!(problems.iter().any(|p| p.starts_with(&format!("node [{local}]"))), "{problems:?}");
        let read = store.snapshot().unwrap().node(id);
        assert!(matches!(read, Err(StoreError::Undecodable(_))), "never a default: {read:?}");
        assert_sentence(&read.unwrap_err());
    }
}

#[test]
fn wrong_derived_data_is_found_and_rebuilt() {
    let scene = Scene::new(103);
    let owner = scene.owner();
    let nodes = chain(&owner, 9);
    let raw = rusqlite::Connection::open(&scene.path).unwrap();
    raw.execute_batch("INSERT INTO node_state (node, continuations) VALUES (3, 9); UPDATE tree_state SET leaves = 77")
        .unwrap();
    let problems = verified(owner.loom().store().as_ref()).problems;
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains(nodes[2].local.as_str()), "{problems:?}");
    let rebuilt = owner.loom().store().rebuild().unwrap();
    assert_eq!((rebuilt.nodes, rebuilt.trees), (1, 1));
    crate::assert_clean(owner.loom().store().as_ref());
}

#[test]
fn tables_by_local_id_are_found_wrong_and_rebuilt() {
    let wrong = [
        "DELETE FROM local_ids_newest WHERE node = 4",
        "INSERT INTO local_ids_kept VALUES ('zzzzzz', 1, 4)",
        "UPDATE local_ids_newest SET node = 5 WHERE node = 4",
    ];
    for (seed, sql) in (105..).zip(wrong) {
        let scene = Scene::new(seed);
        let owner = scene.owner();
        let nodes = chain(&owner, 9);
        rusqlite::Connection::open(&scene.path).unwrap().execute_batch(sql).unwrap();
        let problems = verified(owner.loom().store().as_ref()).problems;
        assert!(problems.len() == 1 && problems[0].contains("tables of local ids"), "{sql}: {problems:?}");
        owner.loom().store().rebuild().unwrap();
        crate::assert_clean(owner.loom().store().as_ref());
        let found = owner.loom().snapshot().unwrap().resolve(nodes[3].tree, nodes[3].local.as_str()).unwrap();
        assert!(matches!(&found, LocalIdLookup::One(node) if node.id == nodes[3].id), "{sql}: {found:?}");
    }
}

#[test]
fn a_path_is_read_whatever_depth_a_damaged_node_says() {
    let scene = Scene::new(108);
    let owner = scene.owner();
    let nodes = chain(&owner, 9);
    rusqlite::Connection::open(&scene.path)
        .unwrap()
        .execute_batch("DROP TRIGGER nodes_update; UPDATE nodes SET depth = 4000000000 WHERE seq = 10")
        .unwrap();
    let path = owner.loom().snapshot().unwrap().path_back(nodes[9].id, &[], 0).unwrap();
    assert_eq!(path.len(), 10);
    assert!(!verified(owner.loom().store().as_ref()).problems.is_empty());
}

/// Returns a closed database with a row in every table, and its content.
fn stocked() -> (Vec<u8>, Dump) {
    let scene = Scene::new(104);
    let owner = scene.owner();
    let nodes = chain(&owner, 40);
    let session = owner.start_session("/project", nodes[0].tree, Some(nodes[9].id)).unwrap();
    let speaker = owner.clone().in_session(session);
    let root = speaker.loom().tree(nodes[0].tree).unwrap().id;
    speaker.append(Parent::Position(session), NodeDraft::text("in a session")).unwrap();
    let document = owner.create_document("notes", "# Notes\n\nsome\n").unwrap();
    owner.link(nodes[4].id, LinkTarget::Document { id: document, section: None }, None).unwrap();
    owner.link(nodes[4].id, LinkTarget::Node(nodes[7].id), Some("see".to_owned())).unwrap();
    owner.bookmark(nodes[5].id, "five").unwrap();
    owner.edit(nodes[6].id, "six again").unwrap();
    owner.prune(nodes[30].id).unwrap();
    owner.undo(Some(root)).unwrap();
    owner.create_tree(TreeDraft::new("another").mode(Mode::Buffer)).unwrap();
    drop((owner, speaker));
    let store = scene.store();
    let dump = Dump::of(store.snapshot().unwrap().as_ref()).unwrap();
    drop(store);
    (fs::read(&scene.path).unwrap(), dump)
}

/// The content of a file: the part that hashes cover, and all of it.
#[derive(Debug, PartialEq)]
struct Dump {
    vouched: Vec<String>,
    all: Vec<String>,
}

impl Dump {
    fn of(snapshot: &dyn Snapshot) -> Result<Self, StoreError> {
        let nodes = all_nodes(snapshot)?;
        let vouched = |n: &Node| format!("{:?} {:?} {:?} {} {}", n.parent, n.author, n.kind, n.hash, n.content);
        let mut all: Vec<String> = nodes.iter().map(|n| format!("{n:?}")).collect();
        for node in &nodes {
            all.push(format!("{:?}", snapshot.links(node.id)?));
            let path = snapshot.path_back(node.id, &[], 0)?;
            all.push(format!("{:?}", path.iter().map(|n| n.id).collect::<Vec<_>>()));
            all.push(format!("{}", snapshot.children(node.id, &loomtree::store::ChildFilter::default())?.len()));
        }
        all.push(format!("{:?}", snapshot.agents()?));
        all.push(format!("{:?}", snapshot.sessions(&SessionFilter::default())?));
        all.push(format!("{:?}", snapshot.trees(loomtree::store::TreeFilter::default())?));
        all.push(format!("{:?}", snapshot.journal(JournalFilter::default())?));
        for document in snapshot.documents()? {
            all.push(format!("{:?} {:?}", document, snapshot.document_version(document.id, 0)?));
        }
        Ok(Self { vouched: nodes.iter().map(vouched).collect(), all })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// Opening the file fails.
    Refused,
    /// `verify` reports a problem.
    Found,
    /// Reading the file fails.
    Unreadable,
    /// The content is unchanged: the byte was in free space.
    Unharmed,
    /// The content differs in a field that no hash covers.
    Unnoticed,
}

/// Opens, verifies, reads and writes a damaged file. Panics if it returns wrong content.
fn exercise(path: &Path, original: &Dump) -> Outcome {
    let scene = Scene::at(path, 105);
    let store = match scene.options().open(&scene.path) {
        Ok(store) => store,
        Err(error) => {
            assert_sentence(&error);
            return Outcome::Refused;
        }
    };
    let report = verified(&store);
    let dump = store.snapshot().and_then(|s| Dump::of(s.as_ref()));
    // A write may succeed or fail; the writer thread must survive it.
    let loom = scene.over(store);
    if let Some(owner) = loom.agent("owner").ok().map(|owner| loom.actor(&owner)) {
        for attempt in 0..2 {
            match owner.create_tree(TreeDraft::new(format!("attempt {attempt}"))) {
                Err(loomtree::ops::OpsError::Store(StoreError::Closed)) => panic!("the writer died"),
                Err(error) => drop(error.to_string()),
                Ok(_) => {}
            }
        }
    }
    if !report.problems.is_empty() {
        assert!(report.problems.iter().all(|p| !p.contains('\n')), "{:?}", report.problems);
        return Outcome::Found;
    }
    match dump {
        Err(error) => {
            assert_sentence(&error);
            Outcome::Unreadable
        }
        Ok(dump) if dump == *original => Outcome::Unharmed,
        Ok(dump) => {
            assert!(dump.vouched == original.vouched, "verify is silent about what a hash vouches for");
            Outcome::Unnoticed
        }
    }
}

#[test]
fn a_flipped_byte_anywhere_never_panics_hangs_or_returns_wrong_content() {
    let (bytes, dump) = stocked();
    let dump = Arc::new(dump);
    let mut rng = StdRng::seed_from_u64(106);
    let mut outcomes = std::collections::BTreeMap::new();
    let folder = tempfile::tempdir().unwrap();
    for case in 0..300 {
        // The first page holds the header and the schema; every tenth byte is flipped there.
        let at = if case % 10 == 0 { rng.random_range(0..4_096) } else { rng.random_range(0..bytes.len()) };
        let mask = if case % 2 == 0 { 1_u8 << rng.random_range(0..8) } else { rng.random_range(1..=255) };
        let mut flipped = bytes.clone();
        flipped[at] ^= mask;
        let path = folder.path().join(format!("{case}.db"));
        fs::write(&path, &flipped).unwrap();
        let (done, outcome) = mpsc::channel();
        let (theirs, original) = (path.clone(), Arc::clone(&dump));
        let case = std::thread::spawn(move || done.send(exercise(&theirs, &original)));
        match outcome.recv_timeout(Duration::from_secs(60)) {
            Ok(outcome) => *outcomes.entry(outcome).or_insert(0) += 1,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("byte {at} ^ {mask:#x} makes it hang"),
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("byte {at} ^ {mask:#x}: {:?}", case.join()),
        }
        fs::remove_file(path).unwrap();
    }
    println!("300 flipped bytes of {}: {outcomes:?}", bytes.len());
}
