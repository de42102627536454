//! Walks through the study, as a person takes them.

use crate::stage::Stage;

#[test]
fn the_first_screen() {
    insta::assert_snapshot!(Stage::new().screen());
}

#[test]
fn siblings_wrap_and_the_child_visited_last_is_remembered() {
    let mut stage = Stage::new();
    stage.press("l");
    let first = stage.at();
    stage.press("j");
    let second = stage.at();
    assert_ne!(first, second);
    stage.press("j");
    assert_eq!(stage.at(), first, "after the last comes the first");
    stage.keys("k h l");
    assert_eq!(stage.at(), second, "the one visited last");
}

#[test]
fn what_is_typed_ahead_is_done_where_the_steps_before_it_lead() {
    let mut stage = Stage::new();
    // None of these waits for the screen: the branch that is pruned is the one that they lead to.
    stage.sends("0llp");
    stage.settle();
    stage.shows("Prune this node and 2 below it?").press("y");
    let pruned = |stage: &Stage, node| stage.play.loom.node(node).unwrap().state.pruned_by.is_some();
    assert!(pruned(&stage, stage.play.trauma) && !pruned(&stage, stage.play.marie));
    stage.press("u").sends("0llliHere.").send("enter");
    stage.settle();
    let at = stage.at();
    let said = stage.play.loom.find_node(stage.play.tree, &at).unwrap();
    assert_eq!((said.content.as_str(), said.parent), ("Here.", Some(stage.play.go_on)));
}
