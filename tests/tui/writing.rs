//! Buffer trees: one editable text whose edits become versions.

use loomtree::{
    ops::NodeDraft,
    provider::ScriptedReply,
    store::PurgeTarget,
    types::{Mode, Parent},
};

use crate::{harness::Harness, play::Play};

#[test]
fn edits_of_the_text_become_versions() {
    let mut harness = Harness::buffer_tree();
    harness.press("e");
    harness.shows("ctrl-s saves");
    harness.press("ctrl-home").type_text("So: ").shows("not saved").press("ctrl-s");
    harness.shows("So: Who is Marie?").lacks("not saved").shows("saved · esc, then u undoes it");
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

#[test]
fn a_long_last_node_opens_whole() {
    let play = Play::of(Mode::Buffer);
    let long =
        play.owner.append(Parent::Node(play.marie), NodeDraft::text("word ".repeat(10_000))).unwrap().nodes[0].id;
    let mut harness = Harness::at(play, |_| long, 100, 24, []);
    let first = harness.play.id(long);
    harness.press("e").shows("word word").shows(&format!("the text opens at {first}"));
    harness.type_text("The end.").press("ctrl-s").shows("The end.").lacks("not saved");
    harness.type_text(" Really.").press("esc").shows("The end. Really.");
    let versions = harness.play.loom.snapshot().unwrap().versions(long).unwrap();
    assert_eq!(versions.len(), 3);
    assert!(versions[2].content.starts_with("word word") && versions[2].content.ends_with("word The end. Really."));
}

#[test]
fn text_after_purged_nodes_is_saved() {
    let play = Play::of(Mode::Buffer);
    play.owner.purge(PurgeTarget::Node(play.root)).unwrap();
    let mut harness = Harness::at(play, |play| play.root, 80, 24, []);
    harness.press("e").type_text("It began again.").press("esc").shows("It began again.").shows("· depth 1");
}

#[test]
fn keys_typed_during_a_save_edit_the_saved_text() {
    let mut harness = Harness::buffer_tree();
    harness.press("e").type_text(" And so");
    harness.send("ctrl-s").type_queued(" she stayed.").send("esc");
    harness.settle();
    harness.shows("And so she stayed.").shows("· depth 2").shows("≡2");
    let marie = harness.play.loom.node(harness.play.marie).unwrap();
    assert_eq!(marie.state.continuations, 3, "the text was appended once");
}

#[test]
fn a_newer_version_of_another_window_is_reported_before_a_save() {
    let mut harness = Harness::buffer_tree();
    let root = harness.play.root;
    let other = harness.play.scene.owner();
    harness.press("e").press("ctrl-home").type_text("So: ");
    other.edit(root, "Who is she?").unwrap();
    harness.settle();
    let versions = |harness: &Harness| harness.play.loom.snapshot().unwrap().versions(root).unwrap();
    harness.press("ctrl-s").shows("saved by another window").shows("So: Who is Marie?").shows("not saved");
    assert_eq!(versions(&harness).len(), 2);
    // Left, the text is not saved and not lost.
    harness.press("esc").shows("opens the text again").press("e").shows("So: Who is Marie?");
    harness.press("ctrl-s").shows("So: Who is Marie?").lacks("not saved");
    let saved: Vec<String> = versions(&harness).into_iter().map(|node| node.content).collect();
    assert_eq!(saved, ["Who is Marie?", "Who is she?", "So: Who is Marie?"]);
}

#[test]
fn an_unchanged_text_follows_the_current_version() {
    let mut harness = Harness::buffer_tree();
    let marie = harness.play.marie;
    let other = harness.play.scene.owner();
    harness.press("e");
    other.edit(marie, "She was not there.").unwrap();
    harness.wait_for("She was not there.").settle();
    harness.press("ctrl-end").type_text(" Not yet.").press("esc").shows("She was not there. Not yet.");
    let versions = harness.play.loom.snapshot().unwrap().versions(marie).unwrap();
    assert_eq!(versions.last().unwrap().content, "She was not there. Not yet.");
    // An older version that the user goes to stays.
    harness.press("<").press("e").shows("She was not there.").lacks("Not yet.");
    other.bookmark(harness.play.root, "here").unwrap();
    harness.wait_for("★").settle();
    harness.lacks("Not yet.");
}
