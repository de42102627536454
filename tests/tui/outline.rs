//! The outline, read from the cursor outwards, matches the tree's order.

use loomtree::{
    id::NodeId,
    ops::NodeDraft,
    store::{ChildFilter, Snapshot},
    types::{EdgeKind, Parent},
};
use proptest::prelude::*;

use crate::{harness::Harness, play::Play};

/// Short ids of a node and its visible descendants, in outline order.
fn in_order(snapshot: &dyn Snapshot, from: NodeId, found: &mut Vec<String>) {
    found.push(snapshot.node(from).unwrap().unwrap().local.to_string());
    let filter = ChildFilter::default().kind(EdgeKind::Continuation).pruned(false).limit(0);
    for child in snapshot.children(from, &filter).unwrap() {
        in_order(snapshot, child.id, found);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn stepping_through_its_lines_visits_every_node_once(
        parents in prop::collection::vec(any::<prop::sample::Index>(), 1..30),
        pruned in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let play = Play::new();
        let mut nodes = vec![play.root, play.marie, play.trauma, play.tired];
        for (number, parent) in parents.iter().enumerate() {
            let under = Parent::Node(*parent.get(&nodes));
            let receipt = play.owner.append(under, NodeDraft::text(format!("Node {number}."))).unwrap();
            nodes.push(receipt.nodes[0].id);
        }
        for node in pruned {
            // Pruning a pruned node or the root fails.
            let _ = play.owner.prune(*node.get(&nodes[1..]));
        }
        let mut expected = Vec::new();
        in_order(&*play.loom.snapshot().unwrap(), play.root, &mut expected);
        let mut harness = Harness::at(play, |play| play.root, 60, 16, []);
        let mut down = vec![harness.cursor()];
        for _ in 1..expected.len() {
            harness.press("J");
            down.push(harness.cursor());
        }
        prop_assert_eq!(&down, &expected);
        harness.press("J");
        prop_assert_eq!(&harness.cursor(), expected.last().unwrap(), "there is no line after the last");
        for line in expected.iter().rev().skip(1) {
            harness.press("K");
            prop_assert_eq!(&harness.cursor(), line);
        }
    }
}
