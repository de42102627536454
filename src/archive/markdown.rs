//! A path as Markdown: a heading a node, its words as they are.

use crate::types::{Agent, EdgeKind, Mode, Node};

/// The path as Markdown, for people. Content is not escaped: it usually is Markdown itself.
#[must_use]
pub fn path(nodes: &[Node], agents: &[Agent]) -> String {
    let mut out = String::new();
    for node in nodes {
        let name = agents.iter().find(|a| a.id() == node.author).map_or("unknown", Agent::name);
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

/// The words of a path alone, without headings: of a buffer one text, of a dialogue with a blank line between nodes.
/// Notes, thoughts, results of tools and purged nodes are left out.
#[must_use]
pub fn prose(nodes: &[Node], mode: Mode) -> String {
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
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}
