//! An arrow line's words, read only as far as the scanner must: where the logical line ends.
//!
//! A double quote that is open at a line's end carries it on to the closing quote, and a line that ends in `<<<` to a
//! line with `>>>` alone. Neither is bounded by a blank line or by another arrow line: the text between may have both,
//! and what stands in content is never run. If the output ends first, the call is given as not closed, with all that
//! it took; nothing of that is run.

use super::line_kind::blank;

/// End state of a physical line of an arrow line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LineEnd {
    /// The logical line is complete.
    Complete,
    /// A quote is open.
    Quote,
    /// Block content follows.
    Block,
    /// It was no arrow line: a code span with words after it, as in "`→ undo` takes it back".
    Prose,
}

/// State of an arrow line between its physical lines.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Words {
    /// The backticks before the arrow.
    ticks: usize,
    /// True if as many closed them.
    span_closed: bool,
    /// The quote that is open.
    quote: Option<char>,
}

impl Words {
    pub(super) fn new(ticks: usize) -> Self {
        Self { ticks, ..Self::default() }
    }

    /// True if the line is in backticks.
    pub(super) fn is_in_backticks(self) -> bool {
        self.ticks > 0
    }

    /// Reads a physical line (the first one: from after its arrow).
    pub(super) fn line(&mut self, text: &str) -> LineEnd {
        let mut before = ' ';
        let mut chars = text.char_indices().peekable();
        let mut end = text.len();
        while let Some((at, c)) = chars.next() {
            if let Some(quote) = self.quote {
                if c == '\\' {
                    chars.next();
                } else if closes(quote, c) {
                    self.quote = None;
                }
                before = c;
                continue;
            }
            if self.span_closed && !blank(c) && c != '\n' {
                return LineEnd::Prose;
            }
            match c {
                '"' | '“' | '„' if opens(c, before, chars.peek().map(|(_, next)| *next)) => self.quote = Some(c),
                '`' if self.ticks > 0 => {
                    let mut run = 1;
                    while chars.next_if(|(_, next)| *next == '`').is_some() {
                        run += 1;
                    }
                    self.span_closed = run == self.ticks;
                }
                '#' | '/' if blank(before) && comment(&text[at..]) => {
                    end = at;
                    break;
                }
                _ => {}
            }
            before = c;
        }
        let body = text[..end].trim_end_matches(|c| blank(c) || c == '\n' || c == '`' && self.ticks > 0);
        match self.quote {
            Some(_) => LineEnd::Quote,
            None if body.ends_with("<<<") => LineEnd::Block,
            None => LineEnd::Complete,
        }
    }
}

/// True if a quote opens a string. A straight one that stands behind a letter or digit and before neither does not: it
/// is an inch, or closes what nothing opened, and must not take the rest of the reply.
fn opens(quote: char, before: char, next: Option<char>) -> bool {
    quote != '"' || !before.is_alphanumeric() || next.is_some_and(char::is_alphanumeric)
}

/// True if a character closes the string that `quote` opened.
fn closes(quote: char, c: char) -> bool {
    if quote == '"' { c == '"' } else { matches!(c, '”' | '“') }
}

/// True if a comment starts here: `#` or `//`, and a blank, as in the grammar.
fn comment(text: &str) -> bool {
    let after = text.strip_prefix('#').or_else(|| text.strip_prefix("//"));
    after.is_some_and(|rest| rest.chars().next().is_some_and(blank))
}
