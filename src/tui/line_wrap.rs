//! Wrapping of styled text into lines of the screen.

use ratatui::{
    style::Style,
    text::{Line, Span},
};
use unicode_segmentation::UnicodeSegmentation as _;

use super::text::cell;

/// Text with its style.
pub(crate) type Piece = (String, Style);

/// Wraps styled text at `max_columns` columns, between words if possible. Line feeds end lines.
/// `first` is the prefix of the first line, `rest` of the others; both count towards the width.
pub(crate) fn wrap(pieces: &[Piece], max_columns: usize, first: &[Piece], rest: &[Piece]) -> Vec<Line<'static>> {
    let mut wrapper = TextWrapper {
        max_columns: max_columns.max(1),
        rest,
        lines: Vec::new(),
        line: Vec::new(),
        used: 0,
        break_at: None,
        prefix_cells: 0,
    };
    wrapper.begin(first);
    for (text, style) in pieces {
        for grapheme in text.graphemes(true) {
            wrapper.push(grapheme, *style);
        }
    }
    wrapper.end();
    wrapper.lines
}

struct TextWrapper<'a> {
    max_columns: usize,
    rest: &'a [Piece],
    lines: Vec<Line<'static>>,
    /// Cells of the current line, with their columns.
    line: Vec<(String, Style, usize)>,
    used: usize,
    /// Index to break at: the cells before it stay.
    break_at: Option<usize>,
    /// Number of prefix cells.
    prefix_cells: usize,
}

impl TextWrapper<'_> {
    fn begin(&mut self, prefix: &[Piece]) {
        self.break_at = None;
        for (text, style) in prefix {
            for grapheme in text.graphemes(true) {
                let (shown, columns) = cell(grapheme);
                self.used += columns;
                self.line.push((shown, *style, columns));
            }
        }
        self.prefix_cells = self.line.len();
    }

    fn push(&mut self, grapheme: &str, style: Style) {
        match grapheme {
            "\n" | "\r\n" => {
                self.end();
                let rest = self.rest;
                self.begin(rest);
            }
            "\t" => {
                for _ in 0..4 - self.used % 4 {
                    self.put(" ".to_owned(), style, 1);
                }
            }
            _ => {
                let (shown, columns) = cell(grapheme);
                self.put(shown, style, columns);
            }
        }
    }

    fn put(&mut self, shown: String, style: Style, columns: usize) {
        // A grapheme of three columns or more, such as a conjunct of Devanagari, on a line that cannot hold it.
        if columns > self.max_columns.max(2) {
            return self.put("\u{fffd}".to_owned(), style, 1);
        }
        // The cells that a break carries to the next line may leave no room for a wide one.
        while self.used + columns > self.max_columns && self.line.len() > self.prefix_cells {
            if shown == " " {
                // A space that does not fit ends the line and is dropped.
                self.break_at = Some(self.line.len());
                self.wrap_here();
                return;
            }
            self.wrap_here();
        }
        let wide = columns > 1;
        if wide && self.line.len() > self.prefix_cells {
            self.break_at = Some(self.line.len());
        }
        let space = shown == " ";
        self.used += columns;
        self.line.push((shown, style, columns));
        if (space || wide) && self.line.len() > self.prefix_cells {
            self.break_at = Some(self.line.len());
        }
    }

    /// Breaks the line at the last possible index and moves the rest to the next.
    fn wrap_here(&mut self) {
        let at = self.break_at.filter(|at| *at > self.prefix_cells).unwrap_or(self.line.len());
        let carried = self.line.split_off(at);
        self.end();
        let rest = self.rest;
        self.begin(rest);
        self.used += carried.iter().map(|(.., columns)| columns).sum::<usize>();
        self.line.extend(carried);
    }

    fn end(&mut self) {
        let mut spans: Vec<Span<'static>> = Vec::new();
        let mut last: Option<(String, Style)> = None;
        for (shown, style, _) in self.line.drain(..) {
            match &mut last {
                Some((text, same)) if *same == style => text.push_str(&shown),
                _ => {
                    spans.extend(last.take().map(|(text, style)| Span::styled(text, style)));
                    last = Some((shown, style));
                }
            }
        }
        spans.extend(last.map(|(text, style)| Span::styled(text.trim_end_matches(' ').to_owned(), style)));
        self.lines.push(Line::from(spans));
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::text::{pad, truncate, width};

    fn wrapped(text: &str, max_columns: usize) -> Vec<String> {
        let lines = wrap(&[(text.to_owned(), Style::new())], max_columns, &[], &[]);
        lines.iter().map(|line| line.spans.iter().map(|s| s.content.as_ref()).collect()).collect()
    }

    #[test]
    fn lines_break_between_words_and_inside_long_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(wrapped("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(wrapped("राष्ट्र", 5), ["राष्ट्र"]);
        assert_eq!(wrapped("राष्ट्र", 2), ["रा", "\u{fffd}"]);
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(wrapped("a\tb", 9), ["a   b"]);
        assert_eq!(wrapped(" ab漢", 3), ["", "ab", "漢"], "cells carried to the next line leave no room");
    }

    #[test]
    fn lines_fit_the_width_and_hold_no_control_characters() {
        let hostile = "\x1b[31mred\u{202e}x\x07 👩‍👩‍👧 e\u{301}\u{301} \u{200b}漢字 a\u{9b}b\r\nlast";
        for max_columns in 1..30 {
            for line in wrapped(hostile, max_columns) {
                assert!(width(&line) <= max_columns.max(2), "{line:?} in {max_columns}");
                assert!(!line.chars().any(crate::types::is_harmful), "{line:?}");
            }
            assert!(width(&truncate(hostile, max_columns)) <= max_columns);
            assert_eq!(width(&pad(hostile, max_columns)), max_columns);
        }
    }
}
