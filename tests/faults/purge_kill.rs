//! A purge killed at a random moment: the next writer that opens the file finishes it.
//!
//! `cargo test` kills 12 children; `LOOM_KILLS=1000` sets another number, `LOOM_SEED` other moments.

use std::{path::Path, time::Duration};

use loomtree::{
    ops::{Actor, NodeDraft, TreeDraft},
    store::{Mutation, PurgeTarget, TreeFilter},
    types::Parent,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{
    assert_clean, child, message,
    purge::files_with,
    support::{rounds, store::Scene},
    verified,
};

const SECRET: &str = "zquxKILLEDquxz";

/// Runs in a child process: appends a node below the root, prints its id, and purges it.
pub(crate) fn purge(path: &str, seed: u64) {
    let scene = Scene::at(path.as_ref(), seed);
    let owner = scene.owner();
    let trees = owner.loom().snapshot().unwrap().trees(TreeFilter::default()).unwrap();
    let words = format!("{SECRET} and so on, ").repeat(2_000);
    let added = owner.append(Parent::Node(trees[0].root.unwrap()), NodeDraft::text(words)).unwrap();
    child::say(&added.nodes[0].id.to_string());
    owner.purge(PurgeTarget::Node(added.nodes[0].id)).unwrap();
    child::say("purged");
    // The parent kills this process.
    std::thread::sleep(Duration::from_secs(60));
}

/// True if the file has the mark of an unfinished purge.
pub(crate) fn has_scrub_mark(path: &Path) -> bool {
    let conn = rusqlite::Connection::open(path).unwrap();
    conn.prepare("SELECT 1 FROM settings WHERE name = 'scrub_owed'").unwrap().exists([]).unwrap()
}

/// Creates a file whose scrub takes some milliseconds.
fn filled(scene: &Scene) -> Actor {
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let add = |number: usize| owner.append(Parent::Node(root.id), NodeDraft::text(message(number * 9))).unwrap();
    (0..100).for_each(|number| drop(add(number)));
    owner
}

#[test]
fn a_killed_purge_is_finished_by_the_next_writer() {
    let (kills, seed) = (u64::from(rounds::of("LOOM_KILLS", 6, 12)), rounds::number("LOOM_SEED", 20_261_123));
    let mut rng = StdRng::seed_from_u64(seed);
    let scene = Scene::new(71);
    drop(filled(&scene));
    let (mut committed, mut owed, mut left) = (0, 0, 0);
    for kill in 0..kills {
        let job = ["purge", scene.path.to_str().unwrap(), &(1_000 + seed + kill).to_string()];
        let (mut process, said) = child::start(child::command(&[], &job));
        let node = said.recv_timeout(Duration::from_secs(60)).expect("the child adds a node");
        std::thread::sleep(Duration::from_micros(rng.random_range(0..30_000)));
        process.kill().unwrap();
        process.wait().unwrap();
        owed += u64::from(has_scrub_mark(&scene.path));
        left += u64::from(!files_with(&scene.path, SECRET).is_empty());
        let owner = scene.owner();
        let node = owner.loom().node(node.parse().unwrap()).unwrap();
        if node.purged_at.is_some() {
            committed += 1;
        } else {
            owner.purge(PurgeTarget::Node(node.id)).unwrap();
        }
        drop(owner);
        assert_eq!(files_with(&scene.path, SECRET), Vec::<String>::new(), "LOOM_SEED={seed}, kill {kill}");
        assert!(!has_scrub_mark(&scene.path));
    }
    assert_clean(scene.owner().loom().store().as_ref());
    println!(
        "{kills} kills, LOOM_SEED={seed}: {committed} after the commit, {owed} owed a scrub, {left} left words; 0 after"
    );
}

#[test]
fn an_unfinished_purge_is_reported_and_finished_by_a_refused_one() {
    let scene = Scene::new(72);
    let owner = filled(&scene);
    let root = owner.loom().snapshot().unwrap().trees(TreeFilter::default()).unwrap()[0].root.unwrap();
    let added = owner.append(Parent::Node(root), NodeDraft::text(SECRET.repeat(500))).unwrap().nodes[0].id;
    drop(owner);
    let loom = scene.over(scene.options().wait(Duration::from_millis(100)).open(&scene.path).unwrap());
    let owner = loom.actor(&loom.agent("owner").unwrap());
    {
        let reader = loom.snapshot().unwrap();
        reader.last_seq().unwrap();
        let error = owner.purge(PurgeTarget::Node(added)).unwrap_err().to_string();
        assert!(error.starts_with("the content is purged, but traces may be left"), "{error}");
    }
    let problems = verified(loom.store().as_ref()).problems;
    assert!(problems.len() == 1 && problems[0].starts_with("a purge is unfinished"), "{problems:?}");
    let error = owner.purge(PurgeTarget::Node(added)).unwrap_err().to_string();
    assert!(error.contains("purged already"), "{error}");
    assert_clean(loom.store().as_ref());
    assert_eq!(files_with(&scene.path, SECRET), Vec::<String>::new());
}

#[test]
fn a_purged_session_takes_its_stashes_and_the_queries_of_its_agent() {
    use loomtree::types::{AgentAction, StashContent};
    let scene = Scene::new(73);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let session = owner.start_session("/project", tree.id, Some(root.id)).unwrap();
    let speaker = owner.clone().in_session(session);
    speaker.append(Parent::Node(root.id), NodeDraft::text("words of the session")).unwrap();
    speaker.stash(tree.id, &format!("label {SECRET}"), StashContent::Words(format!("text {SECRET}"))).unwrap();
    speaker
        .record_actions(tree.id, vec![AgentAction { tool: "recall".into(), about: Some(SECRET.into()), after: 0 }])
        .unwrap();
    assert!(!files_with(&scene.path, SECRET).is_empty());
    owner.purge(PurgeTarget::Session(session)).unwrap();
    assert_eq!(files_with(&scene.path, SECRET), Vec::<String>::new());
    assert_clean(owner.loom().store().as_ref());
}

#[test]
fn a_purge_takes_the_errors_of_delegations_that_may_quote_the_node() {
    let scene = Scene::new(75);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let head = owner.append(Parent::Node(root.id), NodeDraft::text("goal")).unwrap().nodes[0].id;
    let said = owner.append(Parent::Node(head), NodeDraft::text(SECRET)).unwrap().nodes[0].id;
    let events = [
        format!("{{\"event\":\"broke\",\"task\":0,\"why\":\"refused: {SECRET}\"}}"),
        format!("{{\"event\":\"unverified\",\"task\":0,\"why\":\"no verdict: {SECRET}\"}}"),
        "{\"event\":\"ended\"}".to_owned(),
    ];
    for (number, event) in (1..).zip(events) {
        let event = loomtree::types::Json::parse(event).unwrap();
        let event = Mutation::AppendDelegationEvent { node: head, number, event };
        owner.commit(loomtree::types::Op::Delegate, vec![event]).unwrap();
    }
    owner.purge(PurgeTarget::Node(said)).unwrap();
    assert_eq!(files_with(&scene.path, SECRET), Vec::<String>::new());
    let left = owner.loom().snapshot().unwrap().delegation(head).unwrap();
    assert_eq!(left[0].as_str(), "{\"event\":\"broke\",\"task\":0,\"why\":\"\"}");
    assert_eq!(left[2].as_str(), "{\"event\":\"ended\"}");
    assert_clean(owner.loom().store().as_ref());
}

#[test]
fn copies_edits_and_halves_of_what_is_purged_are_named() {
    let scene = Scene::new(74);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let said = owner.append(Parent::Node(root.id), NodeDraft::text("first half, second half")).unwrap().nodes[0].id;
    let copy = owner.copy_branch(said, root.id).unwrap().nodes[0].id;
    let split = owner.split(said, &loomtree::ops::SplitAt::After("first half,".to_owned())).unwrap();
    let named = |target| -> Vec<_> {
        owner.loom().snapshot().unwrap().copies(target).unwrap().into_iter().map(|node| node.id).collect()
    };
    let found = named(PurgeTarget::Node(said));
    assert!(found.contains(&copy) && split.nodes.iter().any(|half| found.contains(&half.id)), "{found:?}");
    assert_eq!(named(PurgeTarget::Node(copy)), [said], "the original");
    assert_eq!(named(PurgeTarget::Tree(root.tree)), []);
    owner.purge(PurgeTarget::Node(copy)).unwrap();
    assert!(!named(PurgeTarget::Node(said)).contains(&copy), "a purged copy holds nothing");
}
