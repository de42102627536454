//! Navigation in the sample tree.

use crate::harness::Harness;

#[test]
fn first_screen() {
    insta::assert_snapshot!(Harness::new().screen());
}

#[test]
fn siblings_wrap_and_the_last_visited_child_is_remembered() {
    let mut harness = Harness::new();
    harness.press("l");
    let first = harness.cursor();
    harness.press("j");
    let second = harness.cursor();
    assert_ne!(first, second);
    harness.press("j");
    assert_eq!(harness.cursor(), first, "after the last comes the first");
    harness.keys("k h l");
    assert_eq!(harness.cursor(), second, "the one visited last");
}

#[test]
fn queued_keys_apply_where_earlier_steps_lead() {
    let mut harness = Harness::new();
    // Keys are sent without waiting: the prune applies to the node that the steps lead to.
    harness.type_queued("0llp");
    harness.settle();
    harness.shows("Prune this node and 2 below it?").press("y");
    let pruned = |harness: &Harness, node| harness.play.loom.node(node).unwrap().state.hidden_by.is_some();
    assert!(pruned(&harness, harness.play.trauma) && !pruned(&harness, harness.play.marie));
    harness.press("u").type_queued("0llliHere.").send("enter");
    harness.settle();
    let at = harness.cursor();
    let said = harness.play.loom.find_node(harness.play.tree, &at).unwrap();
    assert_eq!((said.content.as_str(), said.parent), ("Here.", Some(harness.play.go_on)));
}

#[test]
fn a_frame_of_another_size_waits_for_the_resize() {
    let harness = Harness::with_size(80, 24);
    let mut small = ratatui::Terminal::new(ratatui::backend::TestBackend::new(40, 12)).unwrap();
    small.draw(|frame| harness.app.draw(frame)).unwrap();
    assert!(small.backend().buffer().content.iter().all(|cell| cell.symbol() == " "));
}
