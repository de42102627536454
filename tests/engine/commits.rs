//! Changes of callers that wait and of callers that do not: their order, and failures beside each other.

#![allow(clippy::unwrap_used)] // helpers of tests

use std::{thread, time::Duration};

use loomtree::{
    id::NodeId,
    ops::{Actor, NodeDraft, TreeDraft},
    store::{Change, Mutation},
    types::{Op, Parent},
};

use crate::support::store::Scene;

fn append(actor: &Actor, parent: NodeId, text: &str) -> Change {
    let node = actor.draft(Parent::Node(parent), NodeDraft::text(text));
    actor.change(Op::Append, vec![Mutation::Append(Box::new(node))])
}

fn assert_whole(actor: &Actor) {
    let report = actor.loom().store().verify(&mut |_| ()).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
}

#[test]
fn a_change_does_not_overtake_one_that_was_queued_before() {
    let scene = Scene::new(21);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    for round in 0..200 {
        // With a pause the writer thread sleeps when the first change comes.
        if round % 4 == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        let store = owner.loom().store();
        let first = store.submit(append(&owner, root.id, "first"));
        let second = store.commit(append(&owner, root.id, "second")).unwrap();
        assert!(first.wait().unwrap().seq < second.seq);
    }
    assert_whole(&owner);
}

#[test]
fn callers_that_wait_and_callers_that_do_not_write_at_once() {
    let scene = Scene::new(22);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    thread::scope(|scope| {
        for caller in 0..4 {
            let owner = &owner;
            scope.spawn(move || {
                let store = owner.loom().store();
                for number in 0..150 {
                    let change = append(owner, root.id, &format!("message {number} of {caller}"));
                    if caller < 2 && number % 10 == 9 {
                        thread::sleep(Duration::from_millis(1));
                    }
                    match caller {
                        0 | 2 => drop(store.commit(change).unwrap()),
                        _ => drop(store.submit(change).wait().unwrap()),
                    }
                }
            });
        }
    });
    assert_eq!(owner.loom().tree(tree.id).unwrap().counts.nodes, 601);
    assert_whole(&owner);
}

#[test]
fn a_refused_change_does_not_fail_those_submitted_with_it() {
    let scene = Scene::new(23);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    for pause in [0, 5] {
        thread::sleep(Duration::from_millis(pause));
        let missing = owner.loom().node_id();
        let changes = [root.id, missing, root.id].map(|parent| append(&owner, parent, "said"));
        let pending = owner.loom().store().submit_here(changes.into());
        let results: Vec<bool> = pending.into_iter().map(|pending| pending.wait().is_ok()).collect();
        assert_eq!(results, [true, false, true]);
    }
    assert_whole(&owner);
}

#[test]
fn the_metadata_of_a_path_is_that_of_its_nodes() {
    let scene = Scene::new(24);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let mut at = root.id;
    for number in 0..6 {
        let metadata = (number % 2 == 0).then(|| serde_json::json!({ "number": number }).into());
        at = owner.append(at, NodeDraft::text("said").metadata(metadata)).unwrap().nodes[0].id;
        if number == 2 {
            owner.append(root.id, NodeDraft::text("elsewhere")).unwrap();
        }
    }
    let snapshot = owner.loom().snapshot().unwrap();
    for limit in [0, 1, 3, 100] {
        let nodes = snapshot.path_back(at, &[], limit).unwrap();
        let expected: Vec<_> =
            nodes.into_iter().map(|node| node.metadata.map(|json| json.as_str().to_owned())).collect();
        assert_eq!(snapshot.path_metadata(at, &[], limit).unwrap(), expected);
    }
}
