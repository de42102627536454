//! Events of the scanner, with the spans of text they cover.

use std::ops::Range;

use super::{
    line_kind::{LineStart, blank, lead},
    scratchpad,
};

/// Something found in a model's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// Text to be shown and kept; part of a line, or many lines. Blank lines between calls are prose too.
    Prose(&'a str),
    /// An arrow line.
    Call(Call<'a>),
    /// A thought: no part of a batch, and nothing in it is run.
    Thought(Thought<'a>),
    /// The calls since the last one of these are a batch, and complete. Where prose follows this comes before it.
    BatchEnd,
}

/// An arrow line, with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call<'a> {
    /// Text to parse: the line from its arrow on, with the further lines of a quoted string or of block
    /// content up to its `>>>`; without the list markers and backticks around it, and blanks at its end.
    pub text: &'a str,
    /// Its range in the whole output, in bytes, with the blanks before it and its line end.
    pub span: Range<usize>,
    /// False if the output ended inside a quoted string or block content. It must not be run then.
    pub closed: bool,
}

/// Text of the thought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thought<'a> {
    /// The words, without the line that opens the scratchpad and the arrow back.
    pub text: &'a str,
    /// Span in the whole output, in bytes.
    pub span: Range<usize>,
    /// False if the output ended inside the scratchpad.
    pub closed: bool,
}

/// Type of a piece of output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Prose,
    Call { closed: bool },
    Thought { closed: bool },
}

impl Kind {
    /// The event of a piece of text that stands at `span`.
    pub(super) fn event(self, text: &str, span: Range<usize>) -> Event<'_> {
        match self {
            Self::Prose => Event::Prose(text),
            Self::Call { closed } => Event::Call(Call { text: call(text), span, closed }),
            Self::Thought { closed } => Event::Thought(Thought { text: scratchpad::words(text), span, closed }),
        }
    }
}

/// Text of an arrow line to parse.
fn call(text: &str) -> &str {
    let (begin, ticks) = match lead(text, true, false) {
        LineStart::Arrow { begin, ticks, .. } => (begin, ticks),
        LineStart::Prose { words } => (words, 0), // where every line is a command
        _ => (0, 0),
    };
    let text = text[begin..].trim_end_matches(|c| blank(c) || c == '\n');
    let closing = text.len() - text.trim_end_matches('`').len();
    if ticks > 0 && closing == ticks { text[..text.len() - ticks].trim_end_matches(blank) } else { text }
}
