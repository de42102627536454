//! Continuations side by side, turns with commands, and what agents ask.

use std::time::Duration;

use loomtree::provider::Reply;

use crate::stage::Stage;

fn three() -> Stage {
    Stage::with(["First way.", "Second way.", "Third way."].map(Reply::words))
}

#[test]
fn continuations_stand_side_by_side_and_one_is_taken() {
    // Which reply comes to which column is up to the threads, so they are alike.
    let mut stage = Stage::with(["One way of three."; 3].map(Reply::words));
    stage.press("space");
    insta::assert_snapshot!(stage.screen());
    stage.press("2");
    stage.shows("/5 ").shows("▸ subject").shows("9 nodes").shows("· depth 2");
}

#[test]
fn the_others_are_kept_or_pruned() {
    let mut stage = three();
    stage.keys("space 1");
    stage.shows("9 nodes · 5 branches");
    let mut stage = three();
    stage.keys("space l p");
    stage.shows("7 nodes · 3 branches").shows("pruned the other 2");
    stage.keys("u u");
    stage.shows("9 nodes · 5 branches");
    let mut stage = three();
    stage.keys("space esc");
    stage.shows("all 3 are kept as branches").shows("9 nodes · 5 branches").shows("· depth 1");
}

#[test]
fn digits_say_how_many_and_models_are_picked() {
    let mut stage = Stage::with(["Alone."].map(Reply::words));
    stage.keys("1 space");
    stage.shows("Alone.").shows("· depth 2");
    stage.keys("m down enter enter esc");
    stage.shows("without fast").keys("n").types("12").press("enter").shows("a number from 1 to 9");
}

#[test]
fn one_or_all_are_stopped_and_what_came_is_kept() {
    let slow = || Reply::chunks(["It began ", "and never ended."]).delayed(Duration::from_secs(3600));
    let mut stage = Stage::with([slow(), slow(), slow()]);
    stage.send("space");
    wait(&mut stage, "▸1 test:scripted …");
    stage.send("x");
    wait(&mut stage, "✗");
    stage.send("esc");
    stage.settle();
    stage.lacks("generating");
}

/// Lets the background go on until something is on the screen.
#[track_caller]
fn wait(stage: &mut Stage, text: &str) {
    for _ in 0..2_000 {
        stage.app.hear();
        if stage.screen().contains(text) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{text:?} never came:\n{}", stage.screen());
}

#[test]
fn a_failure_stands_where_it_belongs() {
    let mut stage = Stage::with([]);
    stage.press("space");
    stage.shows("· depth 1").lacks("generating");
    let screen = stage.screen();
    assert!(screen.lines().rev().nth(1).unwrap().len() > 5, "it says why:\n{screen}");
}

#[test]
fn a_turn_shows_its_commands_folded_with_their_answers() {
    let replies = [Reply::words("Let me look.\n→ view\n"), Reply::words("She was nine.")];
    let mut stage = Stage::with(replies);
    stage.press(":").types("chat How old was she?").press("enter");
    stage.shows("How old was she?").shows("She was nine.");
    stage.shows("⤷").lacks("generating");
}

#[test]
fn arrow_lines_of_the_persons_are_run() {
    let mut stage = Stage::new();
    let here = stage.at();
    stage.press("i").types("→ bookmark here \"the turn\"").press("enter");
    stage.lacks("the turn\n› ");
    stage.press("i").types(&format!("→ annotate {here} \"a note of mine\"")).press("enter");
    stage.shows("a note of mine");
}
