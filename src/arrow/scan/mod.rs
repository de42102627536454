//! The stream scanner: finds the arrow lines in a model's text while it comes.
//!
//! [`Scanner::push`] takes the text in any chunks, cut anywhere (inside a character, an arrow, a fence), and gives
//! [`Event`]s as they complete; joined, they are the same for every way of cutting. They cover the text in order without
//! a gap: each character of the output is in one event's text or span. [`scan()`] does it for a text that is all there.
//!
//! **Prose** goes out at once, borrowed from the chunk; only a line's first characters are held back, while they could
//! be the lead of an arrow line. So prose costs a search for its line ends and one look at each line's first byte.
//!
//! **A call** is an arrow line: its first character after blanks (of any depth, for models indent under lists), list
//! markers and one or two backticks is an arrow, or `->` with a verb after it. It is complete at its line end; an open
//! quote or block content carries it on (`logical_line`). Backticks must surround the line: "`→ undo` takes it back" is prose.
//!
//! **The end of a turn** is the line `→ done` ([`ends_turn`]). It is a call here; the reader of a reply takes it out.
//!
//! **Never calls** are lines in fenced code (`fence`), lines that start with `>` or anything else, block content,
//! quoted text, and what is in a scratchpad (`scratchpad`). In doubt nothing is run: a quote, a block or a scratchpad
//! that the output ends in has taken everything to the end, and its event says that it was not closed.
//!
//! **A batch** ends ([`Event::BatchEnd`]) where a line of prose after calls shows that it is one, or with the output.
//! Blank lines do not end it, nor do thoughts, which are no part of it.
//!
//! Text that is not UTF-8 is read as [`String::from_utf8_lossy`] would; positions are those of the text so read.

mod event;
mod fence;
mod line_kind;
mod logical_line;
mod output;
mod scanner;
mod scratchpad;
mod utf8;
mod whole_text;

#[cfg(test)]
mod tests;

pub use event::{Call, Event, Thought};
pub use line_kind::ends_turn;
pub use scanner::Scanner;
pub use whole_text::{is_command, scan, scan_commands};
