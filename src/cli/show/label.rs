//! Labels of a node: its author and its marks.

use std::borrow::Cow;

use anstyle::{AnsiColor, Style};
use loomtree::{
    recall,
    types::{AuthorType, EdgeKind, Node},
};

use crate::cli::{
    output::{DIM, MARK, count},
    sanitize::cut,
};

/// Width of a bookmark's label.
const LABEL_COLUMNS: usize = 24;
/// Width of an author's name.
const NAME_COLUMNS: usize = 20;

/// Returns an author's sanitized name and its style.
pub(crate) fn author(name: &str, kind: AuthorType) -> (String, Style) {
    let style = match kind {
        AuthorType::Human => AnsiColor::Green.on_default(),
        AuthorType::Model => AnsiColor::Magenta.on_default(),
        AuthorType::Tool => AnsiColor::Blue.on_default(),
        AuthorType::System => DIM,
    };
    (cut(name, NAME_COLUMNS), style)
}

/// Returns a node's text, or its tool calls if it has no text.
pub(crate) fn text_or_calls(node: &Node) -> Cow<'_, str> {
    if !node.content.trim().is_empty() {
        return Cow::Borrowed(&node.content);
    }
    Cow::Owned(recall::calls(node).iter().map(|call| format!("calls {call}")).collect::<Vec<_>>().join("\n"))
}

/// Returns a node's marks with their styles: bookmark, kind, notes, links, versions, and states such as pruned.
pub(crate) fn marks(node: &Node) -> Vec<(String, Style)> {
    let state = &node.state;
    let mut marks = Vec::new();
    if let Some(label) = &state.bookmark {
        marks.push((format!("★ {}", cut(label, LABEL_COLUMNS)).trim_end().to_owned(), MARK));
    }
    if node.kind != EdgeKind::Continuation && state.versions == 0 {
        marks.push((node.kind.to_string(), MARK));
    }
    if state.annotations > 0 {
        marks.push((count(state.annotations, "note"), MARK));
    }
    if state.links > 0 {
        marks.push((count(state.links, "link"), MARK));
    }
    if state.versions > 0 {
        marks.push((count(state.versions + 1, "version"), MARK));
    }
    let flags = [
        (node.edited_from.is_some() && node.kind != EdgeKind::Version, "edited"),
        (state.excluded, "excluded"),
        (state.hidden_by.is_some(), "pruned"),
        (node.interrupted, "interrupted"),
        (node.purged_at.is_some(), "purged"),
    ];
    marks.extend(flags.into_iter().filter(|(set, _)| *set).map(|(_, word)| (word.to_owned(), DIM)));
    marks
}
