//! Buffer trees: one editable text whose edits become versions.

use loomtree::{provider::ScriptedReply, store::PurgeTarget, types::Mode};

use crate::{harness::Harness, play::Play};

#[test]
fn edits_of_the_text_become_versions() {
    let mut harness = Harness::buffer_tree();
    harness.press("e");
    harness.shows("ctrl-s saves");
    harness.press("ctrl-home").type_text("So: ").shows("not saved").press("ctrl-s");
    harness.shows("So: Who is Marie?").lacks("not saved");
    harness.press("esc");
    let root = harness.play.loom.node(harness.play.root).unwrap();
    assert_eq!((root.content.as_str(), root.state.versions), ("Who is Marie?", 1));
    harness.lacks("⋮").shows("≡2");
    // Continuations of the original follow the version.
    harness.shows("Marie's reluctance");
    harness.press("u");
    harness.lacks("So: Who");
}

#[test]
fn text_after_model_text_is_a_new_node() {
    let mut harness = Harness::buffer_tree();
    harness.press("i").type_text(" And so she stayed.").press("esc");
    harness.shows("And so she stayed.").shows("· depth 2");
    let marie = harness.play.loom.node(harness.play.marie).unwrap();
    assert_eq!(marie.state.versions, 0, "the model's words are as they were");
}

#[test]
fn versions_are_selected_at_the_caret() {
    let mut harness = Harness::buffer_tree();
    harness.press("e").press("ctrl-home").type_text("So: ").press("ctrl-s");
    harness.press("ctrl-home").press("right").press("alt-,");
    harness.shows("version 1 of 2").lacks("So: Who");
    harness.press("alt-.");
    harness.shows("So: Who");
}

#[test]
fn authorship_is_shown_in_colors() {
    let mut harness = Harness::buffer_tree();
    harness.press(":").type_text("theme dark").press("enter").press("e");
    let (model, mine) = (harness.style_of("reluctance").fg, harness.style_of("Who is").fg);
    assert_ne!(model, mine);
    // Inside a model's sentence.
    harness.press("ctrl-home");
    for _ in 0.."Who is Marie?Marie's ".chars().count() {
        harness.send("right");
    }
    harness.type_text("slow ").shows("Marie's slow reluctance");
    assert_eq!(harness.style_of("slow ").fg, mine);
    assert_eq!(harness.style_of("reluctance").fg, model);
    // The same after saving and reloading.
    harness.press("esc").settle();
    assert_eq!(harness.style_of("slow ").fg, mine);
    assert_eq!(harness.style_of("reluctance").fg, model);
    let marie = harness.play.loom.snapshot().unwrap().versions(harness.play.marie).unwrap();
    assert_eq!(marie.len(), 2);
}

#[test]
fn the_caret_moves_by_visual_rows() {
    let mut harness = Harness::buffer_tree();
    // One line of text wraps to several rows.
    harness
        .keys("end e")
        .press("up")
        .type_text("[up]")
        .press("home")
        .type_text("[home]")
        .press("end")
        .type_text("[end]");
    let screen = harness.screen();
    let rows: Vec<&str> = screen.lines().filter_map(|line| line.split('│').nth(1)).map(str::trim).collect();
    let row = rows.iter().position(|row| row.contains("[home]")).unwrap();
    assert!(row > 0 && !rows[0].contains('['), "{screen}");
    assert!(rows[row].starts_with("[home]") || rows[row - 1].ends_with(' '), "{screen}");
    harness.press("ctrl-home").keys("pagedown").type_text("[last]");
    let screen = harness.screen();
    let last = screen.lines().filter_map(|line| line.split('│').nth(1)).map(str::trim).rfind(|row| !row.is_empty());
    assert!(last.unwrap().contains("[last]"), "{screen}");
}

#[test]
fn a_click_moves_the_caret() {
    let mut harness = Harness::buffer_tree();
    harness.press("e").click("reluctance").type_text("slow ");
    harness.shows("Marie's slow reluctance");
}

#[test]
fn alt_enter_saves_and_generates() {
    let mut harness = Harness::with_setup(
        Play::of(Mode::Buffer),
        |play| play.marie,
        (80, 24),
        [ScriptedReply::words(" The sea was grey.")],
        |setup| setup.count = 1,
    );
    harness.press("e").type_text(" So she left.").press("alt-enter").settle();
    harness.shows("So she left. The sea was grey.").shows("· depth 3");
    // Without changes the existing text is continued.
    let mut harness = Harness::with_setup(
        Play::of(Mode::Buffer),
        |play| play.marie,
        (80, 24),
        [ScriptedReply::words(" The sea was grey.")],
        |setup| setup.count = 1,
    );
    harness.press("e").press("alt-enter").settle();
    harness.shows("left in the summer.").shows(" The sea was grey.").shows("· depth 2").shows("branch 3/3");
}

#[test]
fn a_text_whose_save_fails_stays_in_its_editor() {
    let mut harness = Harness::new();
    let marie = harness.play.marie;
    harness.press("e").type_text(" And the sea.");
    harness.play.loom.actor(&harness.play.loom.agent("owner").unwrap()).purge(PurgeTarget::Node(marie)).unwrap();
    // Keys that were typed ahead are no part of the text.
    harness.send("ctrl-s").send("u").send("p");
    harness.settle();
    harness.shows("there is nothing to edit").shows("And the sea.").lacks("sea.up");
    // Left, it opens again.
    harness.press("esc").shows("not saved").press("q").shows("A text is not saved. Quit").press("esc");
    harness.press("e").shows("And the sea.");
}

#[test]
fn a_message_under_a_pruned_node_is_refused_and_kept() {
    let mut harness = Harness::new();
    let owner = harness.play.loom.actor(&harness.play.loom.agent("owner").unwrap());
    harness.press("i").type_text("Where is she?");
    owner.prune(harness.play.marie).unwrap();
    // The cursor has left it by now.
    harness.settle();
    harness.press("enter").shows("is pruned");
    harness.press("i").press("up").shows("Where is she?");
    let below = harness.play.loom.node(harness.play.marie).unwrap();
    assert_eq!(below.state.continuations, 2, "nothing was written below it");
}

#[test]
fn prose_whose_save_fails_stays() {
    let mut harness = Harness::buffer_tree();
    let owner = harness.play.loom.actor(&harness.play.loom.agent("owner").unwrap());
    harness.press("e").type_text(" She waits.");
    owner.prune(harness.play.marie).unwrap();
    harness.press("ctrl-s").shows("She waits.").shows("not saved");
    harness.press("esc").shows("opens the text again").lacks("She waits.");
    harness.press("e").shows("She waits.");
}
