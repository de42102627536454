//! Typographic apostrophes in the words of a line: `don’t`, `it’s`. The tables of the language have straight ones.

use super::decoration::closing_at;
use crate::arrow::lex::Span;

/// A line with straight apostrophes.
pub(super) struct StraightLine {
    pub(super) text: String,
    /// Offsets behind the apostrophes that were curly.
    replaced: Vec<usize>,
}

impl StraightLine {
    /// The span of the line as it was written.
    pub(super) fn original(&self, span: Span) -> Span {
        let longer = '’'.len_utf8() - 1;
        let shifted = |offset| offset + longer * self.replaced.iter().filter(|at| **at <= offset).count();
        Span { start: shifted(span.start), end: shifted(span.end) }
    }
}

/// The line with straight apostrophes between letters. Texts keep theirs, also those without quotes behind a colon. `None` if nothing
/// changes.
pub(super) fn straighten(line: &str) -> Option<StraightLine> {
    if !line.contains('’') || line.contains('‘') {
        return None;
    }
    let end = ["\n", "<<<", ": "].iter().filter_map(|mark| line.find(mark)).min().unwrap_or(line.len());
    let mut straight = StraightLine { text: String::with_capacity(line.len()), replaced: Vec::new() };
    let (mut at, mut is_letter) = (0, false);
    while let Some(c) = line[at..end].chars().next() {
        let closing = match c {
            '"' => Some('"'),
            '“' => Some('”'),
            '«' => Some('»'),
            '`' => Some('`'),
            _ => None,
        };
        let behind = at + c.len_utf8();
        let joins = is_letter && line[behind..].starts_with(char::is_alphabetic);
        let next = match closing {
            Some(closing) => {
                // A text without an end is one to the end of the line.
                let Some(length) = closing_at(&line[behind..], closing) else { break };
                behind + length + closing.len_utf8()
            }
            None => behind,
        };
        if c == '’' && joins {
            straight.text.push('\'');
            straight.replaced.push(straight.text.len());
        } else {
            straight.text.push_str(&line[at..next]);
        }
        is_letter = c.is_alphanumeric();
        at = next;
        if at > end {
            break;
        }
    }
    straight.text.push_str(&line[at..]);
    (!straight.replaced.is_empty()).then_some(straight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apostrophes_of_words_are_straight_and_those_of_texts_are_kept() {
        let straight = |line| straighten(line).map(|straight| straight.text);
        assert_eq!(straight("don’t prune “it’s” a7x2’s").as_deref(), Some("don't prune “it’s” a7x2's"));
        assert_eq!(straight("let’s decide: it’s over").as_deref(), Some("let's decide: it’s over"));
        assert_eq!(straight("note a7x2 \"it’s over"), None);
        assert_eq!(straight("note a7x2 ‘it’s over’"), None);
    }

    #[test]
    fn spans_are_those_of_the_written_line() {
        let line = "let’s hide a7x2’s notes";
        let straight = straighten(line).unwrap();
        let start = straight.text.find("notes").unwrap();
        assert_eq!(straight.original(Span { start, end: start + 5 }).of(line), "notes");
        assert_eq!(straight.original(Span { start: 0, end: 5 }).of(line), "let’s");
    }
}
