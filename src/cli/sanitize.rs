//! Removes terminal control sequences from stored text.
//!
//! Content may contain any character, and terminals act on many: escape sequences repaint lines, retitle the window or
//! write the clipboard; bidirectional overrides disguise text. All text that this program did not create passes through
//! this module: control characters become visible symbols. Line feeds and tabs are kept. JSON output keeps every
//! character, as an escape.

use std::borrow::Cow;

use loomtree::types::{is_harmful, strip_control};
use unicode_width::UnicodeWidthChar as _;

/// Returns `text` with control characters replaced by visible symbols. Line feeds are kept.
pub(crate) fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").chars().map(strip_control).collect())
}

/// Returns the beginning of `text` on one line, at most `width` columns wide. `…` marks omitted text.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let mut line = String::new();
    let (mut used, mut gap) = (0, false);
    for c in text.chars() {
        if c.is_whitespace() {
            gap = !line.is_empty();
            continue;
        }
        let wide = c.width().unwrap_or(1) + usize::from(gap);
        // Zero-width characters do not count as columns, so the byte length is bounded too.
        if used + wide > width || line.len() > 16 * width {
            while used >= width
                && let Some(last) = line.pop()
            {
                used -= last.width().unwrap_or(1);
            }
            if width > 0 {
                line.push('…');
            }
            return line;
        }
        if std::mem::take(&mut gap) {
            line.push(' ');
        }
        line.push(strip_control(c));
        used += wide;
    }
    line
}

/// Returns the end of `text` on one line, about `width` columns wide.
pub(crate) fn tail(text: &str, width: usize) -> String {
    match text.char_indices().rev().nth(width.saturating_sub(2)) {
        Some((from, _)) if from > 0 => format!("…{}", cut(&text[from..], width.saturating_sub(1))),
        _ => cut(text, width),
    }
}

/// Returns `text` on one line, of any length.
pub(crate) fn one_line(text: &str) -> String {
    sanitize(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

/// Escapes characters that JSON allows in strings and that terminals act on.
pub(crate) fn escape_json(json: &str) -> Cow<'_, str> {
    let is_printable = |c: char| c == '\n' || !is_harmful(c);
    if json.chars().all(is_printable) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_printable(c) {
            escaped.push(c);
        } else {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sequences in use: colour, clear screen, window title, clipboard, 8-bit CSI and OSC, a hyperlink, a reset.
    const CONTROL_SEQUENCES: [&str; 9] = [
        "\x1b[31mred\x1b[0m",
        "\x1b[2J\x1b[H",
        "\x1b]0;title\x07",
        "\x1b]52;c;ZWNobw==\x1b\\",
        "\u{9b}31m",
        "\u{9d}0;t\u{9c}",
        "\x1b]8;;http://e.example\x1b\\text\x1b]8;;\x1b\\",
        "\x1bc\x08\x7f",
        "a\u{202e}txt.exe\u{2066}\u{2069}",
    ];

    #[test]
    fn control_characters_are_replaced() {
        for text in CONTROL_SEQUENCES {
            for shown in [sanitize(text).into_owned(), cut(text, 60), one_line(text)] {
                assert!(!shown.chars().any(is_harmful), "{text:?} gave {shown:?}");
            }
            let json = serde_json::to_string(text).unwrap();
            let escaped = escape_json(&json);
            assert!(!escaped.chars().any(is_harmful), "{escaped:?}");
            assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
        }
        assert_eq!(sanitize("\x1b[31mred"), "␛[31mred");
    }

    #[test]
    fn safe_text_is_unchanged() {
        let text = "a line\n\ta tab — naïve 漢字 👩‍👩‍👧 עברית\r\n";
        assert_eq!(sanitize("plain\n\ttext"), "plain\n\ttext");
        assert_eq!(sanitize(text), text.replace("\r\n", "\n"));
    }

    #[test]
    fn a_line_is_cut_to_columns() {
        assert_eq!(cut("one  two\nthree", 40), "one two three");
        assert_eq!(cut("one two three", 7), "one tw…");
        assert_eq!(cut("one two", 7), "one two");
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("漢字漢字", 8), "漢字漢字");
        assert_eq!(cut("long", 1), "…");
        assert_eq!(cut("long", 0), "");
        assert!(cut(&"\u{301}".repeat(1 << 20), 10).len() < 400);
        assert_eq!(cut("", 5), "");
    }
}
