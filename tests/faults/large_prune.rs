//! Prunes and restores of large branches: readers see all of the branch or nothing of it, and so does the next process after
//! a kill.
//!
//! `cargo test` kills 6 children; `LOOM_KILLS=1000` sets another number, `LOOM_SEED` other moments.

use std::{path::Path, time::Duration};

use loomtree::{
    id::NodeId,
    ops::{Actor, NodeDraft, TreeDraft},
    store::{Mutation, PendingCommit},
    types::{Mode, Node, Op, Parent, Tree},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{
    all_nodes, assert_clean, child,
    large_copy::branch,
    support::{rounds, store::Scene},
};

const NODES: u64 = 6_000;

/// The number of marks of unfinished changes.
fn marks(path: &Path) -> u64 {
    let conn = rusqlite::Connection::open(path).unwrap();
    conn.query_row("SELECT count(*) FROM retags", [], |r| r.get(0)).unwrap()
}

/// The number of nodes that have such a mark.
fn marked(path: &Path) -> u64 {
    let conn = rusqlite::Connection::open(path).unwrap();
    conn.query_row("SELECT count(*) FROM node_state WHERE hidden_by < 0", [], |r| r.get(0)).unwrap()
}

fn stocked(scene: &Scene) -> (Actor, Tree, Node, NodeId) {
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let from = branch(&owner, &root, NODES);
    (owner, tree, root, from)
}

fn visible(owner: &Actor, tree: &Tree) -> u64 {
    owner.loom().tree(tree.id).unwrap().counts.nodes
}

/// Starts a prune and waits until some of its nodes have a mark.
fn begin_prune(scene: &Scene, owner: &Actor, node: NodeId) -> PendingCommit {
    let pending = owner.submit(Op::Prune, vec![Mutation::Prune { node }]);
    while marked(&scene.path) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    pending
}

#[test]
fn a_prune_in_progress_is_invisible_and_takes_what_is_appended_meanwhile() {
    let scene = Scene::new(91);
    let (owner, tree, root, from) = stocked(&scene);
    let before = visible(&owner, &tree);
    let pending = begin_prune(&scene, &owner, from);
    // Another connection that opens the file for writing.
    let other = scene.owner();
    let late = owner.append(Parent::Node(from), NodeDraft::text("late")).unwrap().nodes[0].id;
    let later = owner.append(Parent::Node(late), NodeDraft::text("later")).unwrap().nodes[0].id;
    let mut looks = 0;
    while marks(&scene.path) > 0 {
        let snapshot = other.loom().snapshot().unwrap();
        let counted = snapshot.tree(tree.id).unwrap().unwrap().counts.nodes;
        let hidden = snapshot.node(from).unwrap().unwrap().state.hidden_by.is_some();
        assert_eq!(counted, if hidden { before - NODES } else { before + 2 });
        let pruned = all_nodes(snapshot.as_ref()).unwrap().iter().filter(|node| node.state.hidden_by.is_some()).count();
        assert_eq!(pruned as u64, if hidden { NODES + 2 } else { 0 });
        drop(snapshot);
        assert_clean(other.loom().store().as_ref());
        looks += 1;
    }
    assert_eq!(pending.wait().unwrap().affected, NODES + 2);
    assert_eq!((visible(&owner, &tree), marked(&scene.path)), (1, 0));
    assert_eq!(owner.loom().node(later).unwrap().state.hidden_by, Some(from));
    assert_eq!(owner.loom().tree(tree.id).unwrap().counts.max_depth, 0);
    owner.undo(Some(tree.id)).unwrap();
    assert_eq!(visible(&owner, &tree), before + 2);
    assert_clean(other.loom().store().as_ref());
    owner.redo(Some(tree.id)).unwrap();
    assert_eq!(visible(&owner, &tree), 1);
    owner.append(Parent::Node(root.id), NodeDraft::text("beside")).unwrap();
    drop(owner);
    assert_eq!((marks(&scene.path), marked(&scene.path)), (0, 0));
    assert_clean(other.loom().store().as_ref());
    println!("{looks} looks at the file during the prune");
}

#[test]
fn a_branch_that_is_pruned_inside_of_a_large_prune_keeps_its_own_pruning() {
    let scene = Scene::new(92);
    let (owner, tree, _, from) = stocked(&scene);
    let inner = owner.append(Parent::Node(from), NodeDraft::text("inner")).unwrap().nodes[0].id;
    let shown = owner.append(Parent::Node(from), NodeDraft::text("shown again")).unwrap().nodes[0].id;
    owner.prune(shown).unwrap();
    let pending = begin_prune(&scene, &owner, from);
    owner.prune(inner).unwrap();
    owner.restore(shown).unwrap();
    pending.wait().unwrap();
    assert_eq!(visible(&owner, &tree), 1);
    assert_clean(owner.loom().store().as_ref());
    owner.restore(from).unwrap();
    assert_eq!(visible(&owner, &tree), NODES + 2);
    assert_eq!(owner.loom().node(inner).unwrap().state.hidden_by, Some(inner));
    assert_eq!(owner.loom().node(shown).unwrap().state.hidden_by, None);
    drop(owner);
    assert_eq!((marks(&scene.path), marked(&scene.path)), (0, 0));
    assert_clean(scene.owner().loom().store().as_ref());
}

#[test]
fn a_node_that_is_pruned_between_its_finding_and_its_marking_is_counted_once() {
    let scene = Scene::new(94);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let top = owner.append(Parent::Node(root.id), NodeDraft::text("top")).unwrap().nodes[0].id;
    // The walk finds both children of `top` first, and marks the older one last.
    let inner = owner.append(Parent::Node(top), NodeDraft::text("inner")).unwrap().nodes[0].id;
    branch(&owner, &owner.loom().node(top).unwrap(), NODES);
    let pending = begin_prune(&scene, &owner, top);
    owner.prune(inner).unwrap();
    pending.wait().unwrap();
    assert_eq!(visible(&owner, &tree), 1);
    assert_clean(owner.loom().store().as_ref());
    owner.restore(top).unwrap();
    assert_eq!(visible(&owner, &tree), NODES + 2);
    assert_eq!(owner.loom().node(inner).unwrap().state.hidden_by, Some(inner));
    assert_clean(owner.loom().store().as_ref());
}

#[test]
fn a_version_whose_place_is_pruned_stays_hidden_after_a_large_restore() {
    let scene = Scene::new(93);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root").mode(Mode::Buffer)).unwrap();
    let from = branch(&owner, &root, NODES);
    let place = owner.append(Parent::Node(from), NodeDraft::text("first words")).unwrap().nodes[0].id;
    let version = owner.edit(place, "other words").unwrap().nodes[0].id;
    owner.prune(place).unwrap();
    let before = (visible(&owner, &tree), owner.loom().node(version).unwrap().state.hidden_by);
    assert_eq!(before.1, Some(place));
    owner.prune(from).unwrap();
    owner.restore(from).unwrap();
    assert_eq!((visible(&owner, &tree), owner.loom().node(version).unwrap().state.hidden_by), before);
    assert_clean(owner.loom().store().as_ref());
}

/// Runs in a child process: prunes a branch, takes it back, and prints a line before each.
pub(crate) fn prune(path: &str, seed: u64, node: &str) {
    let owner = Scene::at(path.as_ref(), seed).owner();
    let node: NodeId = node.parse().unwrap();
    let tree = owner.loom().node(node).unwrap().tree;
    child::say("prunes");
    owner.prune(node).unwrap();
    child::say("undoes");
    owner.undo(Some(tree)).unwrap();
    child::say("undone");
    // The parent kills this process.
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_killed_prune_or_undo_is_whole_or_leaves_nothing() {
    let (kills, seed) = (u64::from(rounds::of("LOOM_KILLS", 3, 6)), rounds::number("LOOM_SEED", 20_261_125));
    let mut rng = StdRng::seed_from_u64(seed);
    let mut outcomes = std::collections::BTreeMap::new();
    let mut left = 0;
    for kill in 0..kills {
        let scene = Scene::new(94);
        let (owner, tree, root, from) = stocked(&scene);
        let before = visible(&owner, &tree);
        drop(owner);
        let job = ["prune", scene.path.to_str().unwrap(), &(seed + kill).to_string(), &from.to_string()];
        let (mut process, said) = child::start(child::command(&[], &job));
        said.recv_timeout(Duration::from_secs(60)).expect("the child starts");
        std::thread::sleep(Duration::from_micros(rng.random_range(0..1_500_000)));
        process.kill().unwrap();
        process.wait().unwrap();
        left += u64::from(marks(&scene.path) > 0);
        let owner = scene.owner();
        let outcome = match visible(&owner, &tree) {
            1 => "pruned",
            all if all == before => "visible",
            other => panic!("LOOM_SEED={seed}, kill {kill}: {other} of {before} nodes are visible"),
        };
        *outcomes.entry(outcome).or_insert(0) += 1;
        assert_clean(owner.loom().store().as_ref());
        owner.append(Parent::Node(root.id), NodeDraft::text("beside")).unwrap();
        drop(owner);
        assert_eq!((marks(&scene.path), marked(&scene.path)), (0, 0), "LOOM_SEED={seed}, kill {kill}");
        assert_clean(scene.owner().loom().store().as_ref());
    }
    println!("{kills} kills, LOOM_SEED={seed}: {outcomes:?}; {left} left marks, 0 after the next writer");
}
