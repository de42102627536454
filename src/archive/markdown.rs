//! Export of a path as Markdown: one heading per node, content unchanged.

use crate::types::{Agent, EdgeKind, Mode, Node};

/// Formats a path as Markdown. Content is not escaped, because it usually is Markdown.
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
        let body = if node.purged_at.is_some() { "*purged*" } else { node.content.trim_end() };
        out.push_str(body);
        out.push_str("\n\n");
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
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
