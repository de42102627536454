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
