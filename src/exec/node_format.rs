//! Formatting of nodes in text for models: ids, headers, counts and marks, excerpts.

use std::borrow::Cow;

use super::{
    counts::count,
    escape::{escape, quoted},
};
use crate::{
    recall,
    types::{Node, Timestamp, excerpt, is_invisible},
};

/// Characters of an excerpt in a list.
const MAX_GIST_CHARS: usize = 120;

/// Returns an excerpt of a node in quotes, for lists.
#[must_use]
pub fn gist(node: &Node) -> String {
    gist_within(node, MAX_GIST_CHARS)
}

/// Returns an excerpt of a node in quotes, at most `most` characters long.
#[must_use]
pub(crate) fn gist_within(node: &Node, most: usize) -> String {
    wordless(node, most).unwrap_or_else(|| format!("\"{}\"", excerpt(&node.content, most)))
}

/// Returns what is shown of a node without words: that it is purged, the commands of a reply, or that it has none. `None`
/// for a node with words.
pub(super) fn wordless(node: &Node, most: usize) -> Option<String> {
    if node.purged_at.is_some() {
        return Some("(purged)".to_owned());
    }
    if node.content.chars().any(|c| !c.is_whitespace() && !is_invisible(c)) {
        return None;
    }
    let calls = recall::calls(node);
    let shown = if calls.is_empty() { "no words".to_owned() } else { format!("ran {}", calls.join("; ")) };
    Some(format!("({})", excerpt(&shown, most)))
}

/// Returns a node's escaped content without trailing line feeds.
#[must_use]
pub fn content(node: &Node) -> Cow<'_, str> {
    if node.purged_at.is_some() { Cow::Borrowed("(purged)") } else { escape(node.content.trim_end_matches('\n')) }
}

/// Formats a node's id: `[a7x2kq]`.
#[must_use]
pub fn id(node: &Node) -> String {
    format!("[{}]", node.local)
}

/// Formats a node's id for a command: in brackets only if it has no digit and could be read as a word.
#[must_use]
pub fn mention(node: &Node) -> String {
    if node.local.bytes().any(|byte| byte.is_ascii_digit()) { node.local.to_string() } else { id(node) }
}

/// Formats a node's header line: `[a7x2kq] human owner · 3m ago`. An age of a day and more is a date and a time.
#[must_use]
pub fn header(node: &Node, author: &str, now: Timestamp) -> String {
    format!("[{}] {author} · {}", node.local, node.created_at.age_or_date(now))
}

/// Formats a node's counts and marks in a fixed order, without zeroes; empty if there are none.
#[must_use]
pub fn facts(node: &Node) -> String {
    let (marks, cut) = (marks(node), if node.interrupted { "interrupted" } else { "" });
    [marks.as_str(), cut].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// Formats what belongs to a node, as [`facts`] does: its counts and marks, which change.
pub(crate) fn marks(node: &Node) -> String {
    let state = &node.state;
    let counted = |number: u32, noun| (number > 0).then(|| count(number, noun));
    let marked = |set: bool, word: &str| set.then(|| word.to_owned());
    let bookmarked = state.bookmark.as_ref().map(|label| match label.as_str() {
        "" => "bookmarked".to_owned(),
        label => format!("bookmarked {}", quoted(label)),
    });
    let said = [
        counted(state.continuations, "continuation"),
        counted(state.annotations, "annotation"),
        bookmarked,
        counted(state.links, "link"),
        counted(state.versions, "other version"),
        marked(state.excluded, "excluded"),
        marked(state.hidden_by.is_some(), "pruned"),
    ];
    said.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}
