//! Failures found by the kill tests, reduced to a minimum of operations.

use loomtree::{
    ops::{Actor, SplitAt, TreeDraft},
    types::Node,
};

use crate::{assert_clean, support::store::Scene};

fn rooted(scene: &Scene) -> (Actor, Node) {
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("root text")).unwrap();
    (owner, root)
}

#[test]
fn pruning_half_of_a_split_root_uncounts_both_halves() {
    let scene = Scene::new(111);
    let (owner, root) = rooted(&scene);
    let halves = owner.split(root.id, &SplitAt::Character(2)).unwrap().nodes;
    owner.prune(halves[0].id).unwrap();
    assert_eq!(owner.loom().node(root.id).unwrap().state.versions, 0);
    assert_clean(owner.loom().store().as_ref());
    owner.restore(halves[0].id).unwrap();
    assert_eq!(owner.loom().node(root.id).unwrap().state.versions, 2);
    assert_clean(owner.loom().store().as_ref());
}

#[test]
fn the_path_through_a_version_of_the_root_that_was_split_twice_ends() {
    let scene = Scene::new(112);
    let (owner, root) = rooted(&scene);
    let version = owner.edit(root.id, "one two three").unwrap().nodes[0].id;
    let first = owner.split(version, &SplitAt::Character(4)).unwrap().nodes;
    let second = owner.split(first[1].id, &SplitAt::Character(4)).unwrap().nodes;
    let path = owner.loom().snapshot().unwrap().path_back(second[1].id, &[], 0).unwrap();
    let read: Vec<&str> = path.iter().map(|n| n.content.as_str()).collect();
    assert_eq!(read, ["one ", "two ", "three"]);
}

#[test]
fn an_edit_of_a_pruned_half_is_pruned_with_it() {
    let scene = Scene::new(113);
    let (owner, root) = rooted(&scene);
    let halves = owner.split(root.id, &SplitAt::Character(2)).unwrap().nodes;
    owner.prune(halves[0].id).unwrap();
    let edited = owner.edit(halves[1].id, "other words").unwrap().nodes[0].id;
    assert_eq!(owner.loom().node(edited).unwrap().state.hidden_by, Some(halves[0].id));
    assert_clean(owner.loom().store().as_ref());
    owner.restore(halves[0].id).unwrap();
    assert_clean(owner.loom().store().as_ref());
}
