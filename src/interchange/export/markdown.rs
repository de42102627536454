//! Export of a path as Markdown: one heading per node, and its content.

use std::borrow::Cow;

use crate::{
    interchange::markdown_chat,
    types::{Agent, EdgeKind, Mode, Node},
};

/// Formats a path as Markdown. Content usually is Markdown and stays as it is, but a line that looks like the heading of a
/// node gets a backslash.
#[must_use]
pub fn path(nodes: &[Node], agents: &[Agent]) -> String {
    let mut out = String::new();
    for node in nodes {
        let name = agents.iter().find(|a| a.id() == node.author).map_or("unknown", Agent::name);
        // An edit belongs to the role of the original.
        let name = match node.role {
            Some(role) => format!("{role}, edited by {name}"),
            None => name.to_owned(),
        };
        let kind = if node.kind == EdgeKind::Continuation { String::new() } else { format!(" · {}", node.kind) };
        let cut = if node.interrupted { " · interrupted" } else { "" };
        out.push_str(&format!("### {name} · {}{kind}{cut}\n\n", node.local));
        let purged = node.purged_at.is_some();
        out.push_str(&if purged { Cow::Borrowed("*purged*") } else { escape_headings(node.content.trim_end()) });
        out.push_str("\n\n");
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Puts a backslash before each line that could begin a node.
fn escape_headings(content: &str) -> Cow<'_, str> {
    if !content.lines().any(markdown_chat::is_ambiguous) {
        return Cow::Borrowed(content);
    }
    let mut escaped = String::with_capacity(content.len() + 16);
    for line in content.split_inclusive('\n') {
        escaped.push_str(if markdown_chat::is_ambiguous(line) { "\\" } else { "" });
        escaped.push_str(line);
    }
    Cow::Owned(escaped)
}

/// Returns the text of a path without headings. A buffer is one text; messages of a dialogue are separated by a blank
/// line. Notes, thoughts, tool results and purged nodes are omitted.
/// The text ends in one line feed.
#[must_use]
pub fn prose(nodes: &[Node], mode: Mode) -> String {
    let mut out = text(nodes, mode);
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Returns the text of a path as [`prose`] does, with its own end.
pub(crate) fn text(nodes: &[Node], mode: Mode) -> String {
    let mut out = String::new();
    let mut before: Option<&Node> = None;
    for node in nodes {
        let is_text = matches!(node.kind, EdgeKind::Continuation | EdgeKind::Version);
        if !is_text || node.purged_at.is_some() || node.content.trim().is_empty() {
            continue;
        }
        if mode == Mode::Dialogue && before.is_some_and(|before| !node.is_second_half_of(before)) {
            out.truncate(out.trim_end().len());
            out.push_str("\n\n");
        }
        out.push_str(&node.content);
        before = Some(node);
    }
    out
}
