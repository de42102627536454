//! A node as a turn of a transcript.

use std::fmt::Write as _;

use loomtree::types::{AuthorType, Node, Timestamp};

use super::{author, marks, text_or_calls};
use crate::cli::{
    output::{BOLD, DIM, ID, count, paint},
    sanitize::{cut, sanitize},
    wrap::wrap,
};

/// Returns the header of a turn: author, id, age, number of continuations, marks.
fn header(node: &Node, name: &str, now: Timestamp) -> String {
    let (name, style) = author(name, node.author_type);
    let name = if node.role.is_some() { format!("{}, edited by {name}", node.role()) } else { name };
    let mut text = format!("{}  {}  {}", paint(style.bold(), name), paint(ID, &node.local), node.created_at.age(now));
    if node.author_type == AuthorType::Tool
        && let Some(tool) = &node.tool.name
    {
        let _ = write!(text, "  {}", paint(DIM, cut(tool, 30)));
    }
    if node.state.continuations > 1 {
        let _ = write!(text, "  {}", paint(DIM, count(node.state.continuations, "continuation")));
    }
    for (mark, style) in marks(node) {
        let _ = write!(text, "  {}", paint(style, mark));
    }
    text
}

/// Returns a turn: its header and its content, wrapped at `width` columns if given.
pub(crate) fn turn(node: &Node, name: &str, now: Timestamp, is_current: bool, width: Option<usize>) -> String {
    let marker = if is_current { paint(BOLD, "* ") } else { String::new() };
    let content = text_or_calls(node);
    let content = sanitize(content.trim_end_matches('\n'));
    let content = width.map_or_else(|| content.to_string(), |width| wrap(&content, width));
    let content = if node.purged_at.is_some() { paint(DIM, "(purged)") } else { content };
    format!("{marker}{}\n{content}\n", header(node, name, now))
}
