//! Soft wrapping of an edited text: rows are byte ranges, shared by cursor, colors and mouse. Only rows around the
//! cursor are laid out, so a text of a megabyte costs no more than its visible part.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::text;
use crate::types::floor_char_boundary;

/// Bytes of a segment: longer lines are laid out in parts.
const MAX_SEGMENT_BYTES: usize = 4_096;

/// Rows around a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VisualRows {
    /// Byte range of each row. A space or line feed at its end may be left out.
    pub(crate) rows: Vec<Range<usize>>,
    /// Row and column of the cursor.
    pub(crate) cursor: (usize, usize),
    /// True if the text begins with the first row, and ends with the last.
    pub(crate) top: bool,
    pub(crate) bottom: bool,
}

/// Part of a text that is laid out separately: a line, or part of a long one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RowSegment {
    bytes: Range<usize>,
    /// True if a line ends with it.
    ends: bool,
}

/// Displayed form of a grapheme, and its columns.
pub(crate) fn displayed(grapheme: &str) -> (String, usize) {
    if grapheme == "\t" { ("    ".to_owned(), 4) } else { text::cell(grapheme) }
}

/// Wraps a text at `max_columns` columns (0: never). Returns at most `above` rows above the cursor's and `below` rows
/// below it.
pub(crate) fn rows_around(text: &str, at: usize, max_columns: usize, above: usize, below: usize) -> VisualRows {
    let max_columns = if max_columns == 0 { usize::MAX } else { max_columns.max(2) };
    let mut segment = segment_at(text, at);
    let mut rows = wrap(text, &segment, max_columns);
    let mut row = rows.iter().rposition(|row| row.start <= at).unwrap_or(0);
    let mut column = columns(&text[rows[row].start..at]);
    // After a full last row, the cursor is in a new empty row.
    if column >= max_columns && row + 1 == rows.len() && segment.ends && at == segment.bytes.end {
        rows.push(at..at);
        (row, column) = (row + 1, 0);
    }
    let mut last = segment.clone();
    while row < above && segment.bytes.start > 0 {
        let before = text[..segment.bytes.start].char_indices().next_back().map_or(0, |(at, _)| at);
        segment = segment_at(text, before);
        let mut before = wrap(text, &segment, max_columns);
        row += before.len();
        before.append(&mut rows);
        rows = before;
    }
    while rows.len() <= row + below
        && let Some(next) = next_segment(text, &last)
    {
        last = next;
        rows.extend(wrap(text, &last, max_columns));
    }
    let (top, bottom) = (segment.bytes.start == 0 && row <= above, next_segment(text, &last).is_none());
    let bottom = bottom && rows.len() <= row + below + 1;
    rows.truncate(row + below + 1);
    let first = row.saturating_sub(above);
    rows.drain(..first);
    VisualRows { rows, cursor: (row - first, column.min(max_columns)), top, bottom }
}

/// Returns the byte position in a row that is nearest to a column.
pub(crate) fn byte_at_column(text: &str, row: &Range<usize>, column: usize) -> usize {
    let mut used = 0;
    // A position after the trailing space would be in the next row.
    let words = text[row.clone()].trim_end_matches(' ');
    for (at, grapheme) in words.grapheme_indices(true) {
        let wide = displayed(grapheme).1;
        if used + wide > column {
            return row.start + at;
        }
        used += wide;
    }
    let end = row.start + words.len();
    let breaks = end == row.end && text[row.end..].chars().next().is_some_and(|next| next != '\n');
    match words.grapheme_indices(true).next_back() {
        // So would the end of a row that breaks a word.
        Some((last, _)) if breaks => row.start + last,
        _ => end,
    }
}

/// Returns the columns of a text.
fn columns(text: &str) -> usize {
    text.graphemes(true).map(|grapheme| displayed(grapheme).1).sum()
}

/// Returns the segment that contains a byte position.
fn segment_at(text: &str, at: usize) -> RowSegment {
    let mut start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    let end = text[at..].find('\n').map_or(text.len(), |found| at + found);
    loop {
        let cut = segment_end(text, start, end);
        if at < cut || cut == end {
            return RowSegment { bytes: start..cut, ends: cut == end };
        }
        start = cut;
    }
}

fn next_segment(text: &str, segment: &RowSegment) -> Option<RowSegment> {
    let next = segment.bytes.end + usize::from(segment.ends);
    (next <= text.len()).then(|| segment_at(text, next))
}

/// Returns the end of a segment: the line's end, or after a space within the limit.
fn segment_end(text: &str, start: usize, end: usize) -> usize {
    if end - start <= MAX_SEGMENT_BYTES {
        return end;
    }
    let most = floor_char_boundary(text, start + MAX_SEGMENT_BYTES);
    let space = text[start..most].rfind(' ').map(|at| start + at + 1);
    space.filter(|space| *space > start).unwrap_or(most)
}

/// Wraps a segment: after spaces, beside wide characters, or within words that are too long. Trailing spaces exceed the
/// width.
fn wrap(text: &str, segment: &RowSegment, max_columns: usize) -> Vec<Range<usize>> {
    let (mut rows, mut from, mut used) = (Vec::new(), segment.bytes.start, 0);
    // Last position to break at, and the columns before it.
    let mut break_at: Option<(usize, usize)> = None;
    for (at, grapheme) in text[segment.bytes.clone()].grapheme_indices(true) {
        let at = segment.bytes.start + at;
        let (_, wide) = displayed(grapheme);
        if grapheme == " " {
            used += wide;
            break_at = Some((at + 1, used));
            continue;
        }
        if wide > 1 && at > from {
            break_at = Some((at, used));
        }
        if used + wide > max_columns && at > from {
            let (cut, before) = break_at.take().filter(|(cut, _)| *cut > from).unwrap_or((at, used));
            rows.push(from..cut);
            (from, used) = (cut, used - before);
        }
        used += wide;
        if wide > 1 {
            break_at = Some((at + grapheme.len(), used));
        }
    }
    rows.push(from..segment.bytes.end);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, max_columns: usize) -> Vec<&str> {
        rows_around(text, 0, max_columns, 0, 1_000).rows.into_iter().map(|row| &text[row]).collect()
    }

    #[test]
    fn rows_break_between_words_and_inside_long_words() {
        assert_eq!(all("one two three", 7), ["one two ", "three"]);
        assert_eq!(all("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(all("a\n\nb\n", 4), ["a", "", "b", ""]);
        assert_eq!(all("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(all("ab 漢字", 4), ["ab ", "漢字"]);
        assert_eq!(all("", 5), [""]);
        assert_eq!(all("a   b", 3), ["a   ", "b"]);
    }

    #[test]
    fn a_window_is_part_of_the_whole_layout() {
        let text =
            format!("{}\n\nlast 漢字 line of it\n{}", "some words here and there ".repeat(400), "漢".repeat(9_000));
        let whole = rows_around(&text, 0, 31, 0, 10_000);
        assert!(whole.top && whole.bottom);
        for at in (0..text.len()).step_by(37).filter(|at| text.is_char_boundary(*at)) {
            let seen = rows_around(&text, at, 31, 5, 4);
            let (row, _) = seen.cursor;
            let here = whole.rows.iter().position(|row| *row == seen.rows[row_of(&seen)]).unwrap();
            assert_eq!(seen.rows, whole.rows[here - row..here - row + seen.rows.len()]);
            assert!(row == 5 || seen.top);
            assert!(seen.rows.len() == row + 5 || seen.bottom);
            assert!(seen.rows[row].contains(&at) || seen.rows[row].end == at, "{at}: {:?}", seen.rows[row]);
        }
    }

    fn row_of(rows: &VisualRows) -> usize {
        rows.cursor.0
    }

    #[test]
    fn a_column_maps_to_a_byte_of_its_row() {
        let text = "one two three 漢字";
        let rows = rows_around(text, 0, 8, 0, 9).rows;
        assert_eq!(byte_at_column(text, &rows[0], 3), 3);
        assert_eq!(byte_at_column(text, &rows[0], 99), 7, "before the space that the row ends with");
        assert_eq!(byte_at_column(text, &rows[1], 7), 14, "not within a character");
        assert_eq!(
            byte_at_column("abcdef", &(0..3), 9),
            2,
            "where the word goes on, its row ends before its last letter"
        );
    }
}
