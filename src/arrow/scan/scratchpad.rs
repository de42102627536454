//! Thoughts: which arrow lines open one, and which of their text is the thought.
//!
//! `→ think` with nothing after it opens a scratchpad, up to an arrow back alone on its line or to the output's end.
//! With words after it (`→ think: is it needed?`) the line itself is the thought, for a reply whose scratchpad is never
//! closed would be lost as a whole; but if an arrow back comes before the next batch is complete, those words were a
//! scratchpad's first, and nothing up to the arrow back is run (see `output`). Only a line whose first word is the
//! verb is looked at here; `→ let me think about it` is a call like others.

use super::line_kind::{LineStart, blank, is_back, lead};
use crate::tools::Tool;

/// Type of a line that opens a scratchpad.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ThoughtOpening {
    /// Nothing but the verb: what follows is the thought.
    Scratchpad,
    /// With words, which may be all of it.
    Words,
    /// With words and the arrow back on the same line: that is all of it.
    Closed,
}

/// The thought that the words of an arrow line open.
pub(super) fn opening(words: &str) -> Option<ThoughtOpening> {
    let rest = after_verb(words)?.trim_end_matches(edge);
    let bare =
        rest.is_empty() || ["#", "//"].iter().any(|mark| rest.strip_prefix(mark).is_some_and(|r| r.starts_with(blank)));
    Some(match rest.rsplit(blank).next() {
        _ if bare => ThoughtOpening::Scratchpad,
        Some(end) if is_back(end) => ThoughtOpening::Closed,
        _ => ThoughtOpening::Words,
    })
}

/// Text after the verb and its punctuation, if the verb is `think`.
fn after_verb(words: &str) -> Option<&str> {
    let words = words.trim_start_matches(blank);
    let (verb, rest) = words.split_at(words.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(words.len()));
    let spec = Tool::Think.spec();
    let is = |name: &str| name.eq_ignore_ascii_case(verb);
    if !(is(spec.name) || spec.synonyms.iter().any(|synonym| is(synonym))) {
        return None;
    }
    let ended = rest.chars().next().is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '\'' | '’')));
    ended.then(|| rest.trim_start_matches(|c| blank(c) || matches!(c, ':' | '.' | '…' | ',')))
}

/// Characters that may end a line after its words.
fn edge(c: char) -> bool {
    blank(c) || matches!(c, '\n' | '`')
}

fn trim(text: &str) -> &str {
    text.trim_matches(|c| blank(c) || c == '\n')
}

/// The thought in the text from its arrow line to its end.
pub(super) fn words(text: &str) -> &str {
    let begin = match lead(text, true, false) {
        LineStart::Arrow { words, .. } | LineStart::Prose { words } => words,
        _ => 0,
    };
    let thought = trim(after_verb(&text[begin..]).unwrap_or(""));
    if !thought.contains('\n') {
        return in_one_line(thought);
    }
    if let Some((first, content)) = text[begin..].split_once('\n')
        && first.trim_end_matches(edge).ends_with("<<<")
    {
        return trim(content.trim_end_matches(edge).trim_end_matches(">>>"));
    }
    let last = thought.rfind('\n').unwrap_or(0);
    if is_back(&thought[last..]) { trim(&thought[..last]) } else { thought }
}

/// A thought in one line without what may be around it: an arrow back, parentheses and quotes, backticks.
fn in_one_line(thought: &str) -> &str {
    let thought = thought.trim_end_matches(edge);
    let last = thought.char_indices().rfind(|(_, c)| blank(*c)).map_or(0, |(at, c)| at + c.len_utf8());
    let thought = if is_back(&thought[last..]) { trim(&thought[..last]) } else { thought };
    let inner = thought.strip_prefix('(').and_then(|t| t.strip_suffix(')')).unwrap_or(thought);
    let quoted = [('"', '"'), ('“', '”')].iter().find_map(|(open, close)| {
        inner.strip_prefix(*open)?.strip_suffix(*close).filter(|text| !text.contains([*open, *close]))
    });
    quoted.unwrap_or(thought)
}
