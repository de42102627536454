//! A buffer tree: one text, a caret in it, edits that become versions.

use loomtree::{provider::ScriptedReply, types::Mode};

use crate::{play::Play, stage::Stage};

#[test]
fn what_is_written_in_the_text_becomes_versions() {
    let mut stage = Stage::buffer();
    stage.press("e");
    stage.shows("ctrl-s saves");
    stage.press("ctrl-home").types("So: ").shows("not saved").press("ctrl-s");
    stage.shows("So: Who is Marie?").lacks("not saved");
    stage.press("esc");
    let root = stage.play.loom.node(stage.play.root).unwrap();
    assert_eq!((root.content.as_str(), root.state.versions), ("Who is Marie?", 1));
    stage.lacks("⋮").shows("≡2");
    // What followed the original follows the version.
    stage.shows("Marie's reluctance");
    stage.press("u");
    stage.lacks("So: Who");
}

#[test]
fn what_follows_a_models_words_is_ones_own() {
    let mut stage = Stage::buffer();
    stage.press("i").types(" And so she stayed.").press("esc");
    stage.shows("And so she stayed.").shows("· depth 2");
    let marie = stage.play.loom.node(stage.play.marie).unwrap();
    assert_eq!(marie.state.versions, 0, "the model's words are as they were");
}

#[test]
fn other_wordings_are_read_at_the_caret() {
    let mut stage = Stage::buffer();
    stage.press("e").press("ctrl-home").types("So: ").press("ctrl-s");
    stage.press("ctrl-home").press("right").press("alt-,");
    stage.shows("version 1 of 2").lacks("So: Who");
    stage.press("alt-.");
    stage.shows("So: Who");
}

#[test]
fn whose_a_character_is_shows_in_its_colour() {
    let mut stage = Stage::buffer();
    stage.press(":").types("theme dark").press("enter").press("e");
    let (model, mine) = (stage.style_of("reluctance").fg, stage.style_of("Who is").fg);
    assert_ne!(model, mine);
    // In the middle of a model's sentence.
    stage.press("ctrl-home");
    for _ in 0.."Who is Marie?Marie's ".chars().count() {
        stage.send("right");
    }
    stage.types("slow ").shows("Marie's slow reluctance");
    assert_eq!(stage.style_of("slow ").fg, mine);
    assert_eq!(stage.style_of("reluctance").fg, model);
    // It is so after it is saved, and read again.
    stage.press("esc").settle();
    assert_eq!(stage.style_of("slow ").fg, mine);
    assert_eq!(stage.style_of("reluctance").fg, model);
    let marie = stage.play.loom.snapshot().unwrap().versions(stage.play.marie).unwrap();
    assert_eq!(marie.len(), 2);
}

#[test]
fn the_caret_goes_by_the_rows_that_are_seen() {
    let mut stage = Stage::buffer();
    // The text is one line of the file and several of the screen.
    stage.keys("end e").press("up").types("[up]").press("home").types("[home]").press("end").types("[end]");
    let screen = stage.screen();
    let rows: Vec<&str> = screen.lines().filter_map(|line| line.split('│').nth(1)).map(str::trim).collect();
    let row = rows.iter().position(|row| row.contains("[home]")).unwrap();
    assert!(row > 0 && !rows[0].contains('['), "{screen}");
    assert!(rows[row].starts_with("[home]") || rows[row - 1].ends_with(' '), "{screen}");
    stage.press("ctrl-home").keys("pagedown").types("[last]");
    let screen = stage.screen();
    let last = screen.lines().filter_map(|line| line.split('│').nth(1)).map(str::trim).rfind(|row| !row.is_empty());
    assert!(last.unwrap().contains("[last]"), "{screen}");
}

#[test]
fn a_click_puts_the_caret_there() {
    let mut stage = Stage::buffer();
    stage.press("e").click("reluctance").types("slow ");
    stage.shows("Marie's slow reluctance");
}

#[test]
fn what_is_written_is_continued_by_a_key() {
    let mut stage = Stage::changed(
        Play::of(Mode::Buffer),
        |play| play.marie,
        (80, 24),
        [ScriptedReply::words(" The sea was grey.")],
        |setup| setup.count = 1,
    );
    stage.press("e").types(" So she left.").press("alt-enter").settle();
    stage.shows("So she left. The sea was grey.").shows("· depth 3");
    // Where nothing was written, what is there is continued.
    let mut stage = Stage::changed(
        Play::of(Mode::Buffer),
        |play| play.marie,
        (80, 24),
        [ScriptedReply::words(" The sea was grey.")],
        |setup| setup.count = 1,
    );
    stage.press("e").press("alt-enter").settle();
    stage.shows("left in the summer.").shows(" The sea was grey.").shows("· depth 2").shows("branch 3/3");
}
