//! Copies and moves of long branches.

use std::time::{Duration, Instant};

use loomtree::{
    ops::NodeDraft,
    store::Mutation,
    types::{Mode, Op, Parent},
};

use crate::support::store::Scene;

/// Compares the time per node of copying and moving a branch at two depths.
#[test]
fn a_copy_and_a_move_take_time_in_proportion_to_the_branch() {
    let times: Vec<Duration> = [2_000, 8_000]
        .map(|depth: u64| {
            let scene = Scene::new(75 + depth);
            let owner = scene.owner();
            let (_, root) = owner.create_tree(None, Mode::Dialogue, None, NodeDraft::text("root")).unwrap();
            let mut parent = root.id;
            for _ in 0..depth / 1_000 {
                let drafts = (0..1_000).map(|number| {
                    let node = owner.draft(Parent::Node(parent), NodeDraft::text(format!("word{number}")));
                    parent = node.id;
                    Mutation::Append(Box::new(node))
                });
                let drafts = drafts.collect();
                owner.commit(Op::Append, drafts).unwrap();
            }
            let path = owner.loom().snapshot().unwrap().path_back(parent, &[], 0).unwrap();
            let start = Instant::now();
            owner.copy_branch(path[1].id, root.id).unwrap();
            owner.move_branch(path[1].id, root.id).unwrap_err();
            owner.move_branch(path[2].id, root.id).unwrap();
            let taken = start.elapsed();
            println!("{depth} nodes copied and moved in {taken:?}");
            assert_eq!(owner.loom().leaf(&root).unwrap().depth as u64, depth - 1);
            taken
        })
        .into();
    // The branch has four times the nodes; a quadratic algorithm would take sixteen times the time.
    assert!(times[1] < times[0] * 10, "{times:?}");
}
