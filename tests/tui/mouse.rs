//! The mouse: lines, panes, lists, columns.

use crossterm::event::MouseEventKind::{ScrollDown, ScrollUp};
use loomtree::provider::ScriptedReply;

use crate::stage::Stage;

#[test]
fn a_click_goes_to_a_line_and_another_one_folds_it() {
    let mut stage = Stage::new();
    let trauma = stage.play.id(stage.play.trauma);
    stage.click("Building on the trauma");
    assert_eq!(stage.at(), trauma);
    stage.shows("○ Go on.").click("Building on the trauma").lacks("○ Go on.");
    stage.click("Building on the trauma").shows("○ Go on.");
    // Where there is no line nothing happens.
    stage.click("space generate");
    assert_eq!(stage.at(), trauma);
}

#[test]
fn the_wheel_steps_in_the_tree_and_scrolls_the_text() {
    let mut stage = Stage::new();
    let trauma = stage.play.id(stage.play.trauma);
    stage.mouse(ScrollDown, "○ Who is Marie?");
    assert_eq!(stage.at(), trauma);
    stage.mouse(ScrollUp, "○ Who is Marie?").press("end").resize(80, 8);
    let nine = stage.at();
    stage.shows("The lighthouse was dark.").mouse(ScrollUp, "The lighthouse was dark.");
    stage.lacks("The lighthouse was dark.").mouse(ScrollDown, "│").shows("The lighthouse was dark.");
    // Back to where it was, and the cursor with it: the wheel over the text moves nobody.
    assert_eq!(stage.at(), nine);
}

#[test]
fn lists_pages_and_columns_hear_the_mouse() {
    let mut stage = Stage::with(["One way.", "One way.", "One way."].map(ScriptedReply::words));
    stage.press("m").shows("─ models: ").click("slow").shows("slow ×3").press("esc");
    stage.keys("l p y R").click("Building on the trauma").shows("6 nodes");
    stage.press("?").shows("Walk").mouse(ScrollDown, "Walk").lacks("  ← h").mouse(ScrollUp, "─ keys ─").shows("  ← h");
    stage.press("esc").keys("h");
    stage.press("m").click("slow").press("esc").press("space").shows("▸1 test:scripted ✓");
    stage.click("3 test:scripted").shows("▸3 test:scripted ✓").press("enter").shows("· depth 2");
    assert!(stage.at() != stage.play.id(stage.play.marie));
}
