//! Continuations side by side, turns with commands, and what agents ask.

use std::time::Duration;

use loomtree::{
    provider::{Finish, FinishReason, ProviderError, ScriptedEnd, ScriptedReply, StreamError},
    store::ChildFilter,
    types::{AuthorType, EdgeKind},
};

use crate::stage::Stage;

fn three() -> Stage {
    Stage::with(["First way.", "Second way.", "Third way."].map(ScriptedReply::words))
}

#[test]
fn continuations_stand_side_by_side_and_one_is_taken() {
    // Which reply comes to which column is up to the threads, so they are alike.
    let mut stage = Stage::with(["One way of three."; 3].map(ScriptedReply::words));
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
    stage.shows("all 3 are saved as branches").shows("9 nodes · 5 branches").shows("· depth 1");
}

#[test]
fn digits_say_how_many_and_models_are_picked() {
    let mut stage = Stage::with(["Alone."].map(ScriptedReply::words));
    stage.keys("1 space");
    stage.shows("Alone.").shows("· depth 2");
    stage.keys("m down enter enter esc");
    stage.shows("without fast").keys("n").types("12").press("enter").shows("a number from 1 to 9");
}

#[test]
fn one_or_all_are_stopped_and_what_came_is_kept() {
    let slow = || ScriptedReply::chunks(["It began ", "and never ended."]).delayed(Duration::from_secs(3600));
    let mut stage = Stage::with([slow(), slow(), slow()]);
    stage.send("space");
    stage.wait("▸1 test:scripted …");
    stage.send("x");
    stage.wait("✗");
    stage.send("esc");
    stage.settle();
    stage.lacks("generating");
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
    let replies = [ScriptedReply::words("Let me look.\n→ view\n"), ScriptedReply::words("She was nine.")];
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

/// A model that begins and never ends.
fn endless(words: &str) -> ScriptedReply {
    ScriptedReply::chunks([words]).ending(ScriptedEnd::Hang)
}

#[test]
fn what_a_line_of_ones_own_has_continue_streams_and_is_stopped() {
    let mut stage = Stage::with([endless("It began one way"), endless("It began another way")]);
    stage.press("i");
    stage.types("→ continue n:2").send("enter");
    stage.wait("It began one way").wait("It began another way").shows("▸1 → continue n:2 …").shows("generating");
    // Nothing else waits for it: what is said meanwhile is on the disk while the models still write.
    stage.send("i");
    stage.wait("still writing").send("i");
    stage.sends("Said meanwhile.").send("enter");
    let marie = stage.play.marie;
    stage.wait("Said meanwhile.").wait("saved").shows("writing…");
    stage.send("esc");
    stage.settle();
    let filter = ChildFilter { kind: Some(EdgeKind::Continuation), pruned: false, limit: 0 };
    let below = stage.play.loom.snapshot().unwrap().children(marie, &filter).unwrap();
    let models: Vec<_> = below.iter().filter(|node| node.interrupted).map(|node| node.author_type).collect();
    assert_eq!(models, [AuthorType::Model; 2], "what came is kept");
    stage.lacks("running").shows("ready to choose").press("space").shows("choose one");
}

#[test]
fn a_line_of_ones_own_that_asks_for_one_goes_to_it() {
    let mut stage = Stage::with([ScriptedReply::words("She went on alone.")]);
    stage.press("i").types("→ continue").press("enter");
    stage.shows("She went on alone.").shows("· depth 2").lacks("running").lacks("─ answers ─");
    stage.press("i").types("→ view").press("enter").shows("─ answers ─").press("esc");
    stage.press("i").types("→ look at nothing").press("enter").shows("✗");
}

#[test]
fn several_models_write_side_by_side() {
    let mut stage = Stage::with(["From one of them."; 4].map(ScriptedReply::words));
    stage.press("m").press("down").press("enter").press("down").press("enter").press("esc");
    stage.shows("2 models ×3").keys("2").shows("2 models ×2").press("space");
    stage.shows("4 test:scripted").press("1").shows("10 nodes · 6 branches");
    // One that is in no list is taken by its name.
    stage.press("m").types("ollama:another").press("enter").press("esc").shows("3 models ×2");
}

#[test]
fn an_error_stands_in_its_column_and_the_others_go_on() {
    let cause = StreamError::Connection("the line went dead".to_owned());
    let error = ProviderError::Cut { cause, so_far: Box::new(Finish::new(FinishReason::Interrupted)) };
    let broken = ScriptedReply::chunks(["It broke "]).ending(ScriptedEnd::Fail { after: 1, error });
    let mut stage = Stage::with([broken, ScriptedReply::words("It held."), ScriptedReply::words("It held.")]);
    stage
        .press("space")
        .shows(" ✗")
        .shows("It broke")
        .shows("the line went dead")
        .shows("It held.")
        .shows("choose one");
    // Where words came they are kept, and can be taken.
    let screen = stage.screen();
    let column = screen.lines().nth(3).unwrap().split('✗').next().unwrap().matches("test:scripted").count();
    stage.press(&column.to_string()).shows("· depth 2").shows("interrupted");
}

#[test]
fn nothing_is_left_of_an_error_after_its_column_is_closed() {
    let mut stage = Stage::with([endless("Half"), endless("Half"), endless("Half")]);
    stage.send("space");
    stage.wait("▸1 test:scripted …").wait("Half").send("esc");
    stage.settle();
    stage.shows("stopped; the received text").press("esc").shows("all 3 are saved as branches").lacks("stopped");
    let below = stage.play.loom.node(stage.play.marie).unwrap().state.continuations;
    assert_eq!(below, 5);
}
