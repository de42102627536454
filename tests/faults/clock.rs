//! Clock jumps: the order is the insertion sequence, and no time makes an operation fail.

use std::collections::HashSet;

use loomtree::{
    ops::{NodeDraft, TreeDraft},
    types::{Parent, Timestamp},
};

use crate::{assert_clean, support::store::Scene};

const DAY: i64 = 86_400_000;
const NOW: i64 = 1_700_000_000_000;

/// Times in disorder: forwards, backwards, before 1970, before the first ULID, and the extremes of the type.
const TIMES: [i64; 14] = [
    NOW,
    NOW + DAY,
    NOW - DAY,
    NOW - 1,
    0,
    -1,
    -DAY * 365 * 100,
    i64::MIN,
    NOW,
    (1 << 48) - 1,
    1 << 48,
    i64::MAX,
    NOW + 5,
    NOW,
];

#[test]
fn a_clock_that_jumps_changes_no_order_and_breaks_no_id() {
    let scene = Scene::new(31);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let session = owner.start_session("/project", tree.id, Some(root.id)).unwrap();
    let owner = owner.in_session(session);
    let mut written = vec![root.id];
    let mut updated = tree.updated_at;
    let mut active = updated;
    for (at, millis) in TIMES.into_iter().cycle().take(TIMES.len() * 5).enumerate() {
        scene.clock.set(Timestamp::from_millis(millis));
        let receipt = owner.append(Parent::Position(session), NodeDraft::text(format!("at {at}"))).unwrap();
        written.push(receipt.nodes[0].id);
        let node = owner.loom().node(receipt.nodes[0].id).unwrap();
        assert_eq!(node.created_at.as_millis(), millis, "a node says what its writer's clock said");
        assert_eq!(node.id.ulid().timestamp_ms(), node.created_at.as_millis_clamped());
        assert_eq!(node.id.to_string().parse(), Ok(node.id), "the id is a ULID");
        let (tree, session) = (owner.loom().tree(tree.id).unwrap(), owner.loom().session(session).unwrap());
        assert!(tree.updated_at >= updated && session.last_active_at >= active, "never goes backwards");
        (updated, active) = (tree.updated_at, session.last_active_at);
        let ages: HashSet<String> = TIMES.iter().map(|t| node.created_at.age(Timestamp::from_millis(*t))).collect();
        assert!(ages.iter().all(|age| age == "just now" || age.ends_with(" ago") && !age.contains('-')), "{ages:?}");
    }

    let snapshot = owner.loom().snapshot().unwrap();
    let path = snapshot.path_back(*written.last().unwrap(), &[], 0).unwrap();
    assert_eq!(path.iter().map(|n| n.id).collect::<Vec<_>>(), written, "the path is in the order of writing");
    let stored = snapshot.nodes_after(tree.id, 0, 0).unwrap();
    assert_eq!(stored.iter().map(|n| n.id).collect::<Vec<_>>(), written, "so is the tree");
    assert!(stored.is_sorted_by(|a, b| a.seq < b.seq));
    assert_eq!(stored.iter().map(|n| &n.local).collect::<HashSet<_>>().len(), stored.len());
    for node in &stored {
        assert_eq!(owner.loom().find_node(tree.id, &node.local).unwrap().id, node.id);
    }
    drop(snapshot);
    // The newest operation is found by sequence too: this undoes the last append, whatever its time.
    scene.clock.set(Timestamp::from_millis(-5));
    assert_eq!(owner.undo(Some(tree.id)).unwrap().target.entry.node, written.last().copied());
    assert_clean(owner.loom().store().as_ref());
}

#[test]
fn a_store_is_made_and_opened_at_any_time() {
    for millis in TIMES {
        let scene = Scene::new(32);
        scene.clock.set(Timestamp::from_millis(millis));
        let nodes = crate::chain(&scene.owner(), 3);
        scene.clock.set(Timestamp::from_millis(NOW));
        let again = scene.owner();
        assert_eq!(again.loom().node(nodes[3].id).unwrap().created_at.as_millis(), millis);
        assert_clean(again.loom().store().as_ref());
    }
}
