//! Text of nodes on the screen and in the output of commands: Markdown, highlighting, wrapping, sanitising.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::Line,
    widgets::{Paragraph, Widget as _},
};

use crate::{
    cli::{sanitize, wrap},
    tui::{
        Palette,
        highlight::{highlight, styled_pieces},
        markdown, text,
    },
    types::is_harmful,
};

/// Signs of Markdown, escape sequences, and characters of unusual width.
pub(super) const WORDS: &[&str] = &[
    "\n",
    "\n\n",
    "\r\n",
    "\t",
    "    ",
    "# ",
    "> ",
    "- ",
    "1. ",
    "- [ ] ",
    "```rust\n",
    "```py\n",
    "```html\n",
    "```diff\n",
    "\n```\n",
    "~~~",
    "`",
    "**",
    "__",
    "~~",
    "| a | b |\n|---|:-:|\n",
    "|",
    "[a](http://e.example)",
    "![x](y)",
    "<b>",
    "<!--",
    "---\n",
    "\\",
    "&amp;",
    "&#27;",
    "&#x9b;",
    "\u{1b}[31m",
    "\u{1b}]0;t\u{7}",
    "\u{1b}]52;c;eA==\u{1b}\\",
    "\u{9b}2J",
    "\u{202e}",
    "\u{2066}",
    "\u{200d}",
    "\u{200b}",
    "\u{301}",
    "漢字",
    "👩‍👩‍👧",
    "🇩🇪",
    "\u{fe0f}",
    "\u{ad}",
    "\u{2028}",
    "\u{85}",
    "\0",
    "\"\"\"",
    "r#\"",
    "/*",
];

/// Longest input in bytes, a few screens of text.
const MAX_INPUT_BYTES: usize = 8 << 10;

/// Text fits its columns and holds no character that a terminal executes.
pub(super) fn draw(bytes: &[u8]) {
    let source = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_INPUT_BYTES)]);
    let colors = |language: &str, code: &str| {
        let runs = highlight(language, code);
        let styled = styled_pieces(code, &runs, Palette::Dark);
        assert_eq!(styled.iter().map(|(text, _)| text.as_str()).collect::<String>(), code, "runs of {language}");
        Some(runs)
    };
    for columns in [1, 2 + bytes.len() % 60, 80] {
        check(&markdown::render(&source, columns, Style::new(), Palette::Dark, &colors), None);
        check(&markdown::plain(&source, columns, Style::new()), Some(columns.max(2)));
        assert!(text::width(&text::truncate(&source, columns)) <= columns);
        assert_eq!(text::width(&text::pad(&source, columns)), columns);
        for shown in [
            sanitize::sanitize(&source).into_owned(),
            sanitize::cut(&source, columns),
            sanitize::tail(&source, columns),
            sanitize::one_line(&source),
            wrap::wrap(&sanitize::sanitize(&source), columns),
        ] {
            assert!(!shown.chars().any(is_harmful), "{shown:?}");
        }
    }
}

/// Checks rendered lines, also as cells of a screen.
fn check(lines: &[Line<'static>], max_columns: Option<usize>) {
    for line in lines {
        assert!(max_columns.is_none_or(|most| text::line_width(line) <= most), "{line:?} in {max_columns:?}");
        assert!(!line.spans.iter().any(|span| span.content.chars().any(is_harmful)), "{line:?}");
    }
    let area = Rect::new(0, 0, 40, 30);
    let mut buffer = Buffer::empty(area);
    Paragraph::new(lines.to_vec()).render(area, &mut buffer);
    assert!(!buffer.content.iter().any(|cell| cell.symbol().chars().any(|c| is_harmful(c) || c == '\n' || c == '\t')));
}
