//! Copies and moves of large branches: other writers continue meanwhile, and a kill leaves all of the copy or nothing.
//!
//! `cargo test` copies a branch of 3,000 nodes and kills 6 copies; `LOOM_COPY_NODES=200000` and `LOOM_KILLS=1000` set other
//! numbers, `LOOM_SEED` other moments.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use loomtree::{
    id::NodeId,
    ops::{Actor, NodeDraft, TreeDraft},
    store::{Mutation, StoreError, TreeFilter},
    types::{Node, Op, Parent},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{
    all_nodes, assert_clean, child, store_error,
    support::{rounds, store::Scene},
};

/// Appends a branch of `count` nodes under `root`: a chain whose every hundredth node has a second child.
pub(crate) fn branch(owner: &Actor, root: &Node, count: u64) -> NodeId {
    let (mut first, mut last) = (None, root.id);
    for start in (0..count).step_by(1_000) {
        let mut mutations = Vec::new();
        for at in start..count.min(start + 1_000) {
            let node = owner.draft(Parent::Node(last), NodeDraft::text(format!("message {at} of a long branch")));
            first = first.or(Some(node.id));
            if at % 100 != 99 {
                last = node.id;
            }
            mutations.push(Mutation::Append(Box::new(node)));
        }
        owner.commit(Op::Append, mutations).unwrap();
    }
    first.unwrap()
}

/// Runs `operation` while another connection appends. Returns the duration, the number of appends and the longest one.
fn beside_a_writer(scene: &Scene, parent: NodeId, operation: impl FnOnce()) -> (Duration, usize, Duration) {
    let loom = scene.over(scene.options().wait(Duration::from_secs(600)).open(&scene.path).unwrap());
    let other = loom.actor(&loom.agent("owner").unwrap());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let mut waits = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let start = Instant::now();
                owner_appends(&other, parent);
                waits.push(start.elapsed());
                std::thread::sleep(Duration::from_millis(1));
            }
            waits
        });
        let start = Instant::now();
        operation();
        let took = start.elapsed();
        done.store(true, Ordering::Relaxed);
        let waits = waits.join().unwrap();
        (took, waits.len(), waits.into_iter().max().unwrap_or_default())
    })
}

fn owner_appends(owner: &Actor, parent: NodeId) {
    owner.append(Parent::Node(parent), NodeDraft::text("beside")).unwrap();
}

#[test]
fn another_writer_continues_beside_a_large_copy_and_move() {
    let nodes = rounds::number("LOOM_COPY_NODES", 3_000);
    let scene = Scene::new(81);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let (_, other) = owner.create_tree(TreeDraft::new("other")).unwrap();
    let from = branch(&owner, &root, nodes);
    let counted = |owner: &Actor| owner.loom().tree(tree.id).unwrap().counts.nodes;
    let before = counted(&owner);
    let mut copied = None;
    let copy = beside_a_writer(&scene, other.id, || copied = Some(owner.copy_branch(from, root.id).unwrap()));
    let copied = copied.unwrap();
    assert_eq!((copied.nodes.len() as u64, copied.affected), (nodes, nodes));
    assert_eq!(counted(&owner), before + nodes);
    let undo = beside_a_writer(&scene, other.id, || drop(owner.undo(Some(tree.id)).unwrap()));
    assert_eq!(counted(&owner), before, "one undo takes the whole copy back");
    let moved = beside_a_writer(&scene, other.id, || drop(owner.move_branch(from, other.id).unwrap()));
    assert_eq!(counted(&owner), before - nodes);
    let redone = beside_a_writer(&scene, other.id, || drop(owner.undo(Some(tree.id)).unwrap()));
    assert_eq!(counted(&owner), before, "one undo takes the whole move back");
    let pruned = beside_a_writer(&scene, other.id, || drop(owner.prune(from).unwrap()));
    assert_eq!(counted(&owner), before - nodes);
    let restored = beside_a_writer(&scene, other.id, || drop(owner.restore(from).unwrap()));
    assert_eq!(counted(&owner), before);
    let all = [
        ("copy", copy),
        ("undo of it", undo),
        ("move", moved),
        ("undo of it", redone),
        ("prune", pruned),
        ("restore", restored),
    ];
    for (what, (took, appends, longest)) in all {
        println!("{what}, {nodes} nodes: {took:?}; beside it {appends} appends, the longest {longest:?}");
        // One append may wait for the whole operation, and one comes after it. An operation that is over before another
        // writer had its turn shows nothing.
        assert!(appends > 2 || took < 4 * longest, "{what} lets no other writer in");
    }
    assert_clean(owner.loom().store().as_ref());
    assert!(owner.loom().snapshot().unwrap().trees(TreeFilter::default()).unwrap().len() == 2);
}

/// Runs in a child process: copies a branch, moves the copy, and prints a line before each.
pub(crate) fn copy(path: &str, seed: u64, ids: [&str; 2]) {
    let owner = Scene::at(path.as_ref(), seed).owner();
    let [from, to] = ids.map(|id| id.parse().unwrap());
    let session = owner.start_session("/project", owner.loom().node(to).unwrap().tree, None).unwrap();
    let owner = owner.in_session(session);
    child::say("copies");
    let copied = owner.copy_branch(from, to).unwrap();
    child::say("moves");
    owner.move_branch(copied.nodes[0].id, from).unwrap();
    child::say("moved");
    // The parent kills this process.
    std::thread::sleep(Duration::from_secs(60));
}

/// The number of nodes in unfinished copies.
fn staged(path: &Path) -> u64 {
    let conn = rusqlite::Connection::open(path).unwrap();
    conn.query_row("SELECT ifnull(sum(last - first + 1), 0) FROM staged_nodes", [], |r| r.get(0)).unwrap()
}

#[test]
fn a_killed_copy_or_move_is_whole_or_leaves_nothing() {
    let (kills, seed, nodes) =
        (u64::from(rounds::of("LOOM_KILLS", 3, 6)), rounds::number("LOOM_SEED", 20_261_124), 2_000);
    let mut rng = StdRng::seed_from_u64(seed);
    let mut outcomes = std::collections::BTreeMap::new();
    let mut left = 0;
    for kill in 0..kills {
        let scene = Scene::new(82);
        let owner = scene.owner();
        let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
        let from = branch(&owner, &root, nodes);
        let before = owner.loom().tree(tree.id).unwrap().counts.nodes;
        drop(owner);
        let job =
            ["copy", scene.path.to_str().unwrap(), &(seed + kill).to_string(), &from.to_string(), &root.id.to_string()];
        let (mut process, said) = child::start(child::command(&[], &job));
        said.recv_timeout(Duration::from_secs(60)).expect("the child starts");
        std::thread::sleep(Duration::from_micros(rng.random_range(0..2_500_000)));
        process.kill().unwrap();
        process.wait().unwrap();
        left += u64::from(staged(&scene.path) > 0);
        let owner = scene.owner();
        assert_eq!(staged(&scene.path), 0, "LOOM_SEED={seed}, kill {kill}");
        assert_clean(owner.loom().store().as_ref());
        let counts = owner.loom().tree(tree.id).unwrap().counts.nodes - before;
        let stored = all_nodes(owner.loom().snapshot().unwrap().as_ref()).unwrap().len() as u64 - before;
        let whole = match (counts, stored) {
            (0, 0) => "nothing copied",
            (added, all) if added == nodes && all == nodes => "copied",
            (added, all) if added == nodes && all == 2 * nodes => "copied and moved",
            other => panic!("LOOM_SEED={seed}, kill {kill}: {other:?} nodes of {nodes}"),
        };
        *outcomes.entry(whole).or_insert(0) += 1;
        // Deleted nodes leave their numbers to new ones, which are found.
        let text = "quetzal follows";
        let added = owner.append(Parent::Node(root.id), NodeDraft::text(text)).unwrap().nodes[0].clone();
        assert_eq!(owner.loom().node(added.id).unwrap().content, text);
        assert_clean(owner.loom().store().as_ref());
    }
    println!("{kills} kills, LOOM_SEED={seed}: {outcomes:?}; {left} left staged nodes, 0 after the next open");
}

#[test]
fn a_copy_in_progress_is_invisible_and_survives_another_process() {
    let scene = Scene::new(83);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let from = branch(&owner, &root, 3_000);
    let target = owner.append(Parent::Node(root.id), NodeDraft::text("target")).unwrap().nodes[0].id;
    let visible = owner.loom().tree(tree.id).unwrap().counts.nodes;
    let id = owner.loom().node_id();
    let pending = owner.submit(Op::Copy, vec![Mutation::CopyBranch { from, to: target, id }]);
    let mut beside = 0;
    while staged(&scene.path) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Each of these is another connection that opens the file for writing.
    let other = scene.owner();
    while staged(&scene.path) > 0 {
        let snapshot = other.loom().snapshot().unwrap();
        if staged(&scene.path) == 0 {
            break;
        }
        let counted = snapshot.tree(tree.id).unwrap().unwrap().counts.nodes;
        if counted < visible + 3_000 {
            assert_eq!(snapshot.node(id).unwrap().map(|node| node.id), None);
            assert!(snapshot.path_back(target, &[], 0).unwrap()[1].state.continuations == 0);
            let all = loomtree::store::ChildFilter::default().pruned(true);
            assert_eq!(snapshot.children(target, &all).unwrap().len(), 0);
            assert_eq!(all_nodes(snapshot.as_ref()).unwrap().len() as u64, counted);
            drop(snapshot);
            beside += 1;
            // A node appended to the branch meanwhile is copied too.
            if beside == 1 {
                owner.append(Parent::Node(from), NodeDraft::text("late")).unwrap();
                assert_clean(other.loom().store().as_ref());
            }
        }
    }
    let copied = pending.wait().unwrap();
    assert_eq!(copied.nodes.len(), 3_000 + usize::from(beside > 0));
    assert_eq!(copied.nodes[0].id, id);
    assert_clean(owner.loom().store().as_ref());
    println!("{beside} looks at the file during the copy");
}

#[test]
fn a_purge_during_a_large_copy_refuses_the_copy_and_leaves_nothing() {
    let scene = Scene::new(84);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let secret = owner.append(Parent::Node(root.id), NodeDraft::text("zquxCOPIEDquxz")).unwrap().nodes[0].id;
    branch(&owner, &owner.loom().node(secret).unwrap(), 6_000);
    let copy = vec![Mutation::CopyBranch { from: secret, to: root.id, id: owner.loom().node_id() }];
    let pending = owner.submit(Op::Copy, copy);
    while staged(&scene.path) == 0 {
        std::thread::yield_now();
    }
    let purged = owner.submit(Op::Purge, vec![Mutation::Purge(loomtree::store::PurgeTarget::Node(secret))]);
    purged.wait().unwrap();
    match pending.wait() {
        Err(error) => assert!(matches!(error, StoreError::Conflict(_)), "{error}"),
        Ok(copied) => panic!("{} nodes were copied", copied.nodes.len()),
    }
    assert_eq!(staged(&scene.path), 0);
    // The copy was in the file when the purge rewrote it.
    assert!(!crate::purge_kill::has_scrub_mark(&scene.path));
    assert_eq!(crate::purge::files_with(&scene.path, "zquxCOPIEDquxz"), Vec::<String>::new());
    assert_clean(owner.loom().store().as_ref());
}

#[test]
fn a_large_copy_to_a_node_that_is_pruned_meanwhile_is_refused() {
    let scene = Scene::new(85);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let from = branch(&owner, &root, 6_000);
    let target = owner.append(Parent::Node(root.id), NodeDraft::text("target")).unwrap().nodes[0].id;
    let copy = vec![Mutation::CopyBranch { from, to: target, id: owner.loom().node_id() }];
    let pending = owner.submit(Op::Copy, copy);
    owner.prune(target).unwrap();
    let error = store_error(pending.wait().map_err(Into::into).unwrap_err());
    assert!(matches!(error, StoreError::Conflict(_)), "{error}");
    assert_eq!(owner.loom().tree(tree.id).unwrap().counts.nodes, 6_001);
    assert_clean(owner.loom().store().as_ref());
}
