//! Type of a line by its first characters: an arrow line, a fence, a blank line, or prose.
//!
//! Only the lead is looked at, never the whole line, so that prose goes out as soon as its first characters show that
//! it is no arrow line. A lead longer than [`LONGEST`] bytes (deep indentation, mostly) makes prose: the scanner looks
//! at a lead again with each chunk until it is decided, and this keeps that work constant.

use super::fence::Fence;
use crate::arrow::{is_verb, lex::ARROWS};

/// Bytes of blanks and list markers before an arrow; more make the line prose.
pub(super) const LONGEST: usize = 128;

/// Bytes after which a lead is decided whatever they are: blanks and markers, an arrow, blanks, a verb.
pub(super) const DECIDED: usize = 4 * LONGEST;

/// The word after the arrow on a line that ends a turn.
const DONE: &str = "done";

/// The arrows back, alone on a line, that end a scratchpad.
const BACK: [&str; 4] = ["←", "⟵", "⇐", "<-"];

/// First bytes of a line that needs a look at its lead.
const MAY_LEAD: [bool; 256] = {
    let mut table = [false; 256];
    // Blanks, list markers and digits, fences and backticks, `<-`; the first bytes of arrows, bullets and blanks.
    let bytes = b"\t\n\x0b\x0c\r -*+0123456789`~<\xc2\xe1\xe2\xe3\xef";
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
};

/// True if a line that starts with these bytes needs a look at its lead; nearly no line of prose does. What is false
/// here, [`lead`] takes for prose too, from these bytes alone.
pub(super) fn may_lead(bytes: &[u8]) -> bool {
    match bytes {
        // Dashes, quotes and the like, without the bullet; kana and brackets, without the wide space.
        [0xe2, 0x80, last, ..] => !matches!(last, 0x90..=0xa1 | 0xa3..=0xa7),
        [0xe3, 0x80, 0x80, ..] | [0xe3] | [0xe3, 0x80] => true,
        [0xe3, ..] => false,
        [first, ..] => MAY_LEAD[usize::from(*first)],
        [] => true,
    }
}

/// Type of a line by its start. Offsets are bytes from the line's start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LineStart {
    /// More text must come.
    Undecided,
    /// A line of blanks; `end` is past its line end.
    Blank { end: usize },
    /// Anything else; its words start at `words`.
    Prose { words: usize },
    /// An arrow line: the arrow stands at `begin`, in `ticks` backticks, and the words start at `words`.
    Arrow { begin: usize, words: usize, ticks: usize },
    /// Three backticks or tildes, up to `end`.
    Fence { fence: Fence, end: usize },
    /// An arrow back, alone; `end` is past its line end. Only where one is looked for.
    Back { end: usize },
}

/// An answer that may have to wait for more text.
enum Lookahead {
    Wait,
    No,
    Yes(usize),
}

/// True if a character is passed over: white space and invisible characters such as a byte-order mark.
pub(super) fn blank(c: char) -> bool {
    let unseen = matches!(
        c,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{fe0e}' | '\u{fe0f}' | '\u{feff}'
    );
    c != '\n' && (unseen || c.is_whitespace())
}

/// Reads the lead of a line. `last` says that no text comes after `text`; `back` that an arrow back would end something.
pub(super) fn lead(text: &str, last: bool, back: bool) -> LineStart {
    let (mut at, mut column, mut marked) = (0, 0, false);
    while at <= LONGEST {
        let rest = &text[at..];
        match rest.chars().next() {
            None if !last => return LineStart::Undecided,
            // An empty list item is no blank line.
            None | Some('\n') if marked => return LineStart::Prose { words: at },
            None => return LineStart::Blank { end: at },
            Some('\n') => return LineStart::Blank { end: at + 1 },
            Some(c) if blank(c) => {
                column = if c == '\t' { column / 4 * 4 + 4 } else { column + 1 };
                at += c.len_utf8();
            }
            Some('`' | '~') => return classify_backticked_line(text, at, column, last, back),
            Some(_) => match marker(rest, last) {
                Lookahead::Wait => return LineStart::Undecided,
                Lookahead::Yes(length) => (at, column, marked) = (at + length, column + length, true),
                Lookahead::No => return word(text, at, 0, last, back),
            },
        }
    }
    LineStart::Prose { words: at }
}

/// A fence, or a line in one or two backticks. Three are no surrounding backticks: they are a fence's.
fn classify_backticked_line(text: &str, at: usize, indent: usize, last: bool, back: bool) -> LineStart {
    let marker = text.as_bytes()[at];
    let run = match Fence::open(&text.as_bytes()[at..], indent) {
        Ok((fence, length)) => return LineStart::Fence { fence, end: at + length },
        Err(run) => run,
    };
    if at + run == text.len() && !last {
        return LineStart::Undecided;
    }
    if marker == b'~' { LineStart::Prose { words: at } } else { word(text, at + run, run, last, back) }
}

/// Rest of the line start once blanks, list markers and backticks are passed.
fn word(text: &str, mut at: usize, ticks: usize, last: bool, back: bool) -> LineStart {
    let begin = at;
    at += blanks(&text[at..]);
    if at > LONGEST {
        return LineStart::Prose { words: begin };
    }
    match arrow(&text[at..], last) {
        Lookahead::Wait => return LineStart::Undecided,
        Lookahead::Yes(length) => return LineStart::Arrow { begin: at, words: at + length, ticks },
        Lookahead::No => {}
    }
    if back {
        match alone_ahead(&text[at..], last) {
            Lookahead::Wait => return LineStart::Undecided,
            Lookahead::Yes(length) => return LineStart::Back { end: at + length },
            Lookahead::No => {}
        }
    }
    LineStart::Prose { words: begin }
}

/// Blanks at the text's beginning, in bytes, as far as a lead goes.
fn blanks(text: &str) -> usize {
    text.char_indices().find(|(at, c)| !blank(*c) || *at > LONGEST).map_or(text.len(), |(at, _)| at)
}

/// A list marker (`-`, `*`, `+`, `•`, `1.`, `1)`) with a blank after it, which is not counted.
fn marker(text: &str, last: bool) -> Lookahead {
    let digits = text.bytes().take(10).take_while(u8::is_ascii_digit).count();
    let length = match (text.chars().next(), text.as_bytes().get(digits)) {
        (Some(c @ ('-' | '*' | '+' | '•')), _) => c.len_utf8(),
        _ if digits == 0 || digits > 9 => return Lookahead::No,
        (_, Some(b'.' | b')')) => digits + 1,
        (_, None) if !last => return Lookahead::Wait,
        _ => return Lookahead::No,
    };
    match text[length..].chars().next() {
        Some(c) if blank(c) => Lookahead::Yes(length),
        None if !last => Lookahead::Wait,
        _ => Lookahead::No,
    }
}

/// An arrow, in bytes.
fn arrow(text: &str, last: bool) -> Lookahead {
    if let Some(arrow) = text.chars().next().filter(|first| ARROWS.contains(first)) {
        return Lookahead::Yes(arrow.len_utf8());
    }
    let Some(after) = text.strip_prefix("->") else {
        return if !last && (text.is_empty() || text == "-") { Lookahead::Wait } else { Lookahead::No };
    };
    let after = &after[blanks(after)..];
    let verb = &after[..after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len())];
    match after[verb.len()..].chars().next() {
        _ if verb.len() > 24 => Lookahead::No,
        None if !last => Lookahead::Wait,
        Some('-' | '_' | '\'' | '’') => Lookahead::No,
        Some(c) if c.is_alphanumeric() => Lookahead::No,
        _ if is_verb(verb) || verb.eq_ignore_ascii_case(DONE) => Lookahead::Yes(2),
        _ => Lookahead::No,
    }
}

/// An arrow back with nothing else on its line, in bytes with the line end.
fn alone_ahead(text: &str, last: bool) -> Lookahead {
    let Some(back) = BACK.iter().find(|back| text.starts_with(**back)) else {
        return if !last && (text.is_empty() || text == "<") { Lookahead::Wait } else { Lookahead::No };
    };
    let rest = &text[back.len()..];
    let end = rest.char_indices().find(|(at, c)| !(blank(*c) || *c == '`') || *at > LONGEST);
    match end {
        Some((at, '\n')) => Lookahead::Yes(back.len() + at + 1),
        Some(_) => Lookahead::No,
        None if last => Lookahead::Yes(text.len()),
        None => Lookahead::Wait,
    }
}

/// True if an arrow line is `→ done`, which ends a turn and is no command: its reply is the last one if its commands
/// succeed and their answers only confirm it.
///
/// ```
/// assert!(loomtree::arrow::ends_turn("→ done"));
/// assert!(!loomtree::arrow::ends_turn("→ done 2 \"reworded\""));
/// ```
#[must_use]
pub fn ends_turn(line: &str) -> bool {
    let LineStart::Arrow { words, .. } = lead(line, true, false) else { return false };
    line[words..].trim_matches(|c| blank(c) || matches!(c, '\n' | '`' | '.')).eq_ignore_ascii_case(DONE)
}

/// True if a whole line is an arrow back.
pub(super) fn is_back(line: &str) -> bool {
    BACK.contains(&line.trim_matches(|c| blank(c) || matches!(c, '\n' | '`')))
}
