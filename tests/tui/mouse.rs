//! Mouse events on lines, panes, lists and columns.

use crossterm::event::MouseEventKind::{ScrollDown, ScrollUp};
use loomtree::provider::ScriptedReply;

use crate::harness::Harness;

#[test]
fn a_click_selects_a_line_and_a_second_click_folds_it() {
    let mut harness = Harness::new();
    let trauma = harness.play.id(harness.play.trauma);
    harness.click("Building on the trauma");
    assert_eq!(harness.cursor(), trauma);
    harness.shows("○ Go on.").click("Building on the trauma").lacks("○ Go on.");
    harness.click("Building on the trauma").shows("○ Go on.");
    // A click outside of lines does nothing.
    harness.click("space generate");
    assert_eq!(harness.cursor(), trauma);
}

#[test]
fn the_wheel_steps_in_the_tree_and_scrolls_the_text() {
    let mut harness = Harness::new();
    let trauma = harness.play.id(harness.play.trauma);
    harness.mouse(ScrollDown, "○ Who is Marie?");
    assert_eq!(harness.cursor(), trauma);
    harness.mouse(ScrollUp, "○ Who is Marie?").press("end").resize(80, 8);
    let nine = harness.cursor();
    harness.shows("The lighthouse was dark.").mouse(ScrollUp, "The lighthouse was dark.");
    harness.lacks("The lighthouse was dark.").mouse(ScrollDown, "│").shows("The lighthouse was dark.");
    // The text is back, and the wheel over it did not move the cursor.
    assert_eq!(harness.cursor(), nine);
}

#[test]
fn lists_pages_and_columns_react_to_the_mouse() {
    let mut harness = Harness::with_replies(["One way.", "One way.", "One way."].map(ScriptedReply::words));
    harness.press("m").shows("─ models: ").click("slow").shows("slow ×3").press("esc");
    harness.keys("l p y R").click("Building on the trauma").shows("6 nodes");
    harness
        .press("?")
        .shows("Walk")
        .mouse(ScrollDown, "Walk")
        .lacks("  ← h")
        .mouse(ScrollUp, "─ keys ─")
        .shows("  ← h");
    harness.press("esc").keys("h");
    harness.press("m").click("slow").press("esc").press("space").shows("▸1 test:scripted ✓");
    harness.click("3 test:scripted").shows("▸3 test:scripted ✓").press("enter").shows("· depth 2");
    assert!(harness.cursor() != harness.play.id(harness.play.marie));
}
