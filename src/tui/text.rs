//! Text in columns: width and truncation. Untrusted text is sanitised here, grapheme by grapheme; its control
//! characters never reach the terminal.

use ratatui::text::Line;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::types::strip_control;

/// Bytes of the longest displayed grapheme: a letter with hundreds of accents is shown without them.
const MAX_GRAPHEME_BYTES: usize = 48;

/// Returns the columns of a text.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Displayed form of a grapheme, and its columns.
pub(crate) fn cell(grapheme: &str) -> (String, usize) {
    // A trailing joiner would join the next character sent to the terminal.
    let shown: String = grapheme.trim_end_matches('\u{200d}').chars().map(strip_control).collect();
    let shown = if shown.len() > MAX_GRAPHEME_BYTES { shown.chars().take(1).collect() } else { shown };
    match shown.width() {
        // A grapheme without width cannot be displayed alone.
        0 => (String::from("\u{fffd}"), 1),
        columns => (shown, columns),
    }
}

/// Returns the beginning of a text on one line of at most `max_columns` columns, with `…` if it is truncated.
/// White space becomes single spaces.
pub(crate) fn truncate(text: &str, max_columns: usize) -> String {
    let (mut line, mut used, mut gap) = (String::new(), 0, false);
    // Iterates lazily, so a long text is only read up to the cut.
    let mut ends: Vec<(usize, usize)> = vec![(0, 0)];
    for grapheme in text.graphemes(true) {
        if grapheme.chars().all(char::is_whitespace) {
            gap = !line.is_empty();
            continue;
        }
        let (shown, columns) = cell(grapheme);
        if used + usize::from(gap) + columns > max_columns {
            while let Some((length, at)) = ends.pop() {
                if at < max_columns {
                    line.truncate(length);
                    line.push('…');
                    break;
                }
            }
            return if max_columns == 0 { String::new() } else { line };
        }
        if std::mem::take(&mut gap) {
            line.push(' ');
            used += 1;
        }
        line.push_str(&shown);
        used += columns;
        ends.push((line.len(), used));
    }
    line
}

/// Returns a sanitised text on one line, padded or truncated to exactly `columns`.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let mut line = truncate(text, columns);
    line.extend(std::iter::repeat_n(' ', columns.saturating_sub(line.width())));
    line
}

/// Returns the columns of a styled line.
pub(crate) fn line_width(line: &Line<'_>) -> usize {
    line.spans.iter().map(|span| span.content.width()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_truncated_to_columns() {
        assert_eq!(truncate("one  two\nthree", 40), "one two three");
        assert_eq!(truncate("one two three", 7), "one tw…");
        assert_eq!(truncate("漢字漢字", 5), "漢字…");
        assert_eq!(truncate("long", 1), "…");
        assert_eq!(truncate("long", 0), "");
    }
}
