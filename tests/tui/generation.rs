//! Continuations side by side and turns with commands.

use std::time::Duration;

use loomtree::{
    provider::{Finish, FinishReason, ProviderError, ScriptedEnd, ScriptedReply, StreamError},
    store::ChildFilter,
    tui::ScreenSetup,
    types::{AuthorType, EdgeKind},
};

use crate::{harness::Harness, play::Play};

fn three() -> Harness {
    Harness::with_replies(["First way.", "Second way.", "Third way."].map(ScriptedReply::words))
}

#[test]
fn continuations_are_side_by_side_and_one_is_taken() {
    // All replies are equal, because threads decide their order.
    let mut harness = Harness::with_replies(["One way of three."; 3].map(ScriptedReply::words));
    harness.press("space");
    insta::assert_snapshot!(harness.screen());
    harness.press("2");
    harness.shows("/5 ").shows("▸ subject").shows("9 nodes").shows("· depth 2");
}

#[test]
fn other_continuations_are_saved_or_pruned() {
    let mut harness = three();
    harness.keys("space 1");
    harness.shows("9 nodes · 5 branches");
    let mut harness = three();
    harness.keys("space l p");
    harness.shows("7 nodes · 3 branches").shows("pruned 2 other continuations");
    harness.keys("u");
    harness.shows("9 nodes · 5 branches");
    let mut harness = three();
    harness.keys("space esc");
    harness.shows("all 3 are saved as branches").shows("9 nodes · 5 branches").shows("· depth 1");
}

#[test]
fn digits_set_the_count_and_models_are_selected() {
    let mut harness = Harness::with_replies(["Alone."].map(ScriptedReply::words));
    harness.keys("1 space");
    harness.shows("Alone.").shows("· depth 2");
    harness.keys("m down enter enter esc");
    harness.shows("without fast").keys("n").type_text("12").press("enter").shows("a number from 1 to 9");
}

#[test]
fn the_model_that_was_found_is_named() {
    let replies = [ScriptedReply::words("Alone.")];
    let unset = |setup: &mut ScreenSetup| setup.model = None;
    let mut harness = Harness::with_setup(Play::new(), |play| play.marie, (80, 24), replies, unset);
    harness.lacks("test:scripted").keys("1 space").shows("Alone.").shows("test:scripted ×1");
    harness.press("m").shows("  test:scripted");
}

#[test]
fn one_or_all_continuations_are_cancelled() {
    let slow = || ScriptedReply::chunks(["It began ", "and never ended."]).delayed(Duration::from_secs(3600));
    let mut harness = Harness::with_replies([slow(), slow(), slow()]);
    harness.send("space");
    harness.wait_for("▸1 test:scripted …");
    harness.send("x");
    harness.wait_for("✗");
    harness.send("esc");
    harness.settle();
    harness.lacks("generating");
}

#[test]
fn ctrl_c_answers_the_question_whether_to_quit() {
    let mut harness = Harness::with_replies([endless("It began"), endless("It began"), endless("It began")]);
    harness.send("space");
    // The first key leaves the columns, which keep streaming.
    harness.wait_for("It began").send("q").lacks("Something still runs").send("q");
    harness.wait_for("Something still runs").send("ctrl-c");
    assert!(harness.app.has_ended());
}

#[test]
fn todos_that_a_turn_leaves_open_are_named() {
    let replies = ["→ todo add \"count the waves\" \"name them\"\n", "Later."];
    let mut harness = Harness::with_replies(replies.map(ScriptedReply::words));
    harness.press("r");
    harness.shows("Later.").shows("left open: 1 \"count the waves\" · 2 \"name them\"");
}

#[test]
fn a_failed_generation_shows_its_error() {
    let mut harness = Harness::with_replies([]);
    harness.press("space");
    harness.shows("· depth 1").lacks("generating");
    let screen = harness.screen();
    assert!(screen.lines().rev().nth(1).unwrap().len() > 5, "it says why:\n{screen}");
}

#[test]
fn a_turn_shows_its_commands_folded_with_their_answers() {
    let replies = [ScriptedReply::words("Let me look.\n→ view\n"), ScriptedReply::words("She was nine.")];
    let mut harness = Harness::with_replies(replies);
    harness.press(":").type_text("chat How old was she?").press("enter");
    harness.shows("How old was she?").shows("She was nine.");
    harness.shows("⤷").lacks("generating");
}

#[test]
fn arrow_lines_of_the_user_run() {
    let mut harness = Harness::new();
    let here = harness.cursor();
    harness.press("i").type_text("→ bookmark here \"the turn\"").press("enter");
    harness.lacks("the turn\n› ");
    harness.press("i").type_text(&format!("→ annotate {here} \"a note of mine\"")).press("enter");
    harness.shows("a note of mine");
}

/// A reply that streams some text and never ends.
fn endless(words: &str) -> ScriptedReply {
    ScriptedReply::chunks([words]).ending(ScriptedEnd::Hang)
}

#[test]
fn continuations_of_a_user_line_stream_and_are_stopped() {
    let mut harness = Harness::with_replies([endless("It began one way"), endless("It began another way")]);
    harness.press("i");
    harness.type_text("→ continue n:2").send("enter");
    harness
        .wait_for("It began one way")
        .wait_for("It began another way")
        .shows("▸1 → continue n:2 …")
        .shows("generating");
    // Other writes are not blocked while the models stream.
    harness.send("i");
    harness.wait_for("still writing").send("i");
    harness.type_queued("Said meanwhile.").send("enter");
    let marie = harness.play.marie;
    harness.wait_for("Said meanwhile.").wait_for("saved").shows("writing…");
    harness.send("esc");
    harness.settle();
    let filter = ChildFilter::default().kind(EdgeKind::Continuation).pruned(false).limit(0);
    let below = harness.play.loom.snapshot().unwrap().children(marie, &filter).unwrap();
    let models: Vec<_> = below.iter().filter(|node| node.interrupted).map(|node| node.author_type).collect();
    assert_eq!(models, [AuthorType::Model; 2], "what came is kept");
    harness.lacks("running").shows("ready to choose").press("space").shows("choose one");
}

#[test]
fn a_continue_line_moves_the_cursor_to_its_continuation() {
    let mut harness = Harness::with_replies([ScriptedReply::words("She went on alone.")]);
    harness.press("i").type_text("→ continue").press("enter");
    harness.shows("She went on alone.").shows("· depth 2").lacks("running").lacks("─ results ─");
    harness.press("i").type_text("→ view").press("enter").shows("─ results ─").press("esc");
    harness.press("i").type_text("→ look at nothing").press("enter").shows("✗");
}

#[test]
fn several_models_stream_side_by_side() {
    let mut harness = Harness::with_replies(["From one of them."; 4].map(ScriptedReply::words));
    harness.press("m").press("down").press("enter").press("down").press("enter").press("esc");
    harness.shows("2 models ×3").keys("2").shows("2 models ×2").press("space");
    harness.shows("4 test:scripted").press("1").shows("10 nodes · 6 branches");
    // A model that is not listed is added by its name.
    harness.press("m").type_text("ollama:another").press("enter").press("esc").shows("3 models ×2");
}

#[test]
fn an_error_is_shown_in_its_column_and_others_continue() {
    let cause = StreamError::Connection("the line went dead".to_owned());
    let error = ProviderError::Interrupted { cause, so_far: Box::new(Finish::new(FinishReason::Interrupted)) };
    let broken = ScriptedReply::chunks(["It broke "]).ending(ScriptedEnd::Fail { after: 1, error });
    let mut harness =
        Harness::with_replies([broken, ScriptedReply::words("It held."), ScriptedReply::words("It held.")]);
    harness
        .press("space")
        .shows(" ✗")
        .shows("It broke")
        .shows("the line went dead")
        .shows("It held.")
        .shows("choose one");
    // A partial reply is saved and can be taken.
    let screen = harness.screen();
    let column = screen.lines().nth(3).unwrap().split('✗').next().unwrap().matches("test:scripted").count();
    harness.press(&column.to_string()).shows("· depth 2").shows("interrupted");
}

#[test]
fn closing_the_columns_clears_their_errors() {
    let mut harness = Harness::with_replies([endless("Half"), endless("Half"), endless("Half")]);
    harness.send("space");
    harness.wait_for("▸1 test:scripted …").wait_for("Half").send("esc");
    harness.settle();
    harness.shows("stopped; the received text").press("esc").shows("all 3 are saved as branches").lacks("stopped");
    let below = harness.play.loom.node(harness.play.marie).unwrap().state.continuations;
    assert_eq!(below, 5);
}
