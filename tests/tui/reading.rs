//! Text pane: Markdown, tables, highlighted code, sanitised text.

use loomtree::{id::NodeId, ops::NodeDraft, types::Parent};
use ratatui::style::{Color, Modifier};

use crate::{harness::Harness, play::Play};

/// Screen that shows only the text of a node.
fn reading(text: &str, width: u16, height: u16) -> Harness {
    let play = Play::new();
    let node: NodeId = play.owner.append(Parent::Node(play.tired), NodeDraft::text(text)).unwrap().nodes[0].id;
    let mut harness = Harness::at(play, |_| node, width, height, []);
    harness.press("w");
    harness
}

#[test]
fn markdown_is_rendered() {
    let mut harness = reading(
        "# The light\n\nIt is **not** dark, see [the log](http://e.example).\n\n> said she\n\n- one\n  - two\n\n\
         | hour | seen |\n|---|---:|\n| six | 漢字 |\n\n1. first",
        60,
        30,
    );
    harness.lacks("**").lacks("# The").lacks("|---").lacks("> said");
    harness.shows("the log (http://e.example)").shows("│ said she").shows("• one").shows("  • two");
    harness.shows("hour │ seen").shows("─────┼─────").shows("six  │ 漢字").shows("1. first");
    assert!(harness.style_of("The light").add_modifier.contains(Modifier::BOLD));
    assert!(harness.style_of("not dark").add_modifier.contains(Modifier::BOLD));
    assert!(harness.style_of("the log").add_modifier.contains(Modifier::UNDERLINED));
}

const CODE: &str = "Look:\n\n```rust\nfn lamp() -> u8 { 7 } // lit\n```\n\nand `inline`.";

#[test]
fn code_is_highlighted_except_in_the_plain_palette() {
    let mut harness = reading(CODE, 60, 24);
    let plain = harness.style_of("fn lamp");
    assert_eq!(plain, harness.style_of("7 }"), "without colours all of it looks the same");
    assert!(!matches!(plain.fg, Some(Color::Indexed(_))));
    for theme in ["dark", "light"] {
        harness.press(":").type_text(&format!("theme {theme}")).press("enter");
        let styles = ["fn lamp", "lamp()", "7 }", "// lit", "{ 7"].map(|words| harness.style_of(words).fg);
        assert!(styles.iter().all(|colour| matches!(colour, Some(Color::Indexed(_)))), "{theme}: {styles:?}");
        for (at, colour) in styles.iter().enumerate() {
            assert!(!styles[..at].contains(colour), "{theme}: word {at} has a colour of its own: {styles:?}");
        }
    }
}

#[test]
fn unknown_and_hostile_code_is_shown_as_text() {
    let hostile = "```klingon\nqapla\n```\n\n```sh\nprintf '\u{1b}]0;owned\u{7}' \u{202e}gnp.exe\n```\n";
    let mut harness = reading(hostile, 60, 24);
    harness.press(":").type_text("theme dark").press("enter");
    harness.shows("qapla").shows("printf").shows("␛]0;owned␇").lacks("\u{202e}");
    // More code blocks than the cache holds: the screen still settles.
    let many = "```rust\nlet a = 1;\n```\n\n".repeat(4_000);
    let mut harness = reading(&many, 60, 24);
    harness.press(":").type_text("theme dark").press("enter").shows("let a = 1;");
}

#[test]
fn documents_are_shown_with_highlighted_code() {
    let mut harness = reading("Nothing.", 80, 24);
    harness.play.owner.create_document("notes", &format!("# Notes\n\n{CODE}")).unwrap();
    harness.press(":").type_text("theme dark").press("enter").press("D").press("enter");
    harness.shows("notes · version 1").shows("fn lamp() -> u8 { 7 } // lit");
    assert_ne!(harness.style_of("fn lamp").fg, harness.style_of("lamp()").fg);
    // The page scrolls, and any other key closes it.
    harness.press("end").press("q").lacks("notes · version 1");
}

#[test]
fn a_narrow_pane_shortens_the_header() {
    Harness::with_size(60, 24).shows("5m ago  2 continuations");
    Harness::with_size(80, 24).shows("5m ago  2 cont.").lacks("continuatio");
    Harness::with_size(72, 24).keys("b enter").shows("  2 cont.  ★").lacks("5m ago  2");
}

#[test]
fn wide_glyphs_keep_their_columns_at_every_size() {
    let text = "漢字漢字漢字 👩‍👩‍👧 e\u{301}\u{301} und mehr ".repeat(20);
    for (width, height) in [(10, 4), (23, 9), (40, 12), (80, 24), (200, 60)] {
        let mut harness = reading(&text, width, height);
        harness.press("w").press("w");
        for line in harness.screen().lines() {
            assert!(unicode_width::UnicodeWidthStr::width(line) <= usize::from(width), "{line:?} at {width}");
        }
        if width >= 40 {
            harness.shows("漢字漢字");
        }
    }
}
