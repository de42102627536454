//! Copies and moves of long branches.

use loomtree::{
    ops::{NodeDraft, TreeDraft},
    store::Mutation,
    types::{Op, Parent},
};

use crate::support::store::Scene;

/// A branch deeper than any limit of recursion or of bound parameters. `benches/limits.rs` has the time.
#[test]
fn a_branch_of_thousands_of_nodes_is_copied_and_moved_whole() {
    const DEPTH: u64 = 8_000;
    let scene = Scene::new(75);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let mut parent = root.id;
    for _ in 0..DEPTH / 1_000 {
        let drafts = (0..1_000).map(|number| {
            let node = owner.draft(Parent::Node(parent), NodeDraft::text(format!("word{number}")));
            parent = node.id;
            Mutation::Append(Box::new(node))
        });
        let drafts = drafts.collect();
        owner.commit(Op::Append, drafts).unwrap();
    }
    let path = owner.loom().snapshot().unwrap().path_back(parent, &[], 0).unwrap();
    owner.copy_branch(path[1].id, root.id).unwrap();
    owner.move_branch(path[1].id, root.id).unwrap_err();
    owner.move_branch(path[2].id, root.id).unwrap();
    assert_eq!(u64::from(owner.loom().leaf(&root, &[]).unwrap().depth), DEPTH - 1);
}
