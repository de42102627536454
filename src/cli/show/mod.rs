//! Formatting for terminals: trees as outlines, paths as transcripts, nodes with their marks.

mod label;
mod outline;
mod outline_line;
mod stream;
mod transcript;

use loomtree::{
    id::TreeId,
    types::{Node, Tree},
};
use serde::Serialize;

pub(crate) use label::{author, marks, text_or_calls};
pub(crate) use outline::{Outline, OutlineOptions};
pub(crate) use stream::StreamPrinter;
pub(crate) use transcript::turn;

use super::{
    output::{BOLD, DIM, ID, count, paint},
    sanitize::cut,
};

/// Returns the last characters of a tree id. The first ones are a timestamp.
pub(crate) fn short_tree_id(tree: TreeId) -> String {
    let mut text = tree.to_string().to_lowercase();
    text.split_off(20)
}

/// The JSON form of a node, with its author's name.
#[derive(Debug, Serialize)]
pub(crate) struct NodeJson<'a> {
    #[serde(flatten)]
    pub(crate) node: &'a Node,
    /// The author's name.
    pub(crate) author: &'a str,
    /// True if the session's position is this node.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) position: bool,
}

/// Returns a tree as one line: title, id, counts and state.
pub(crate) fn tree_line(tree: &Tree, width: usize) -> String {
    let counts = &tree.counts;
    let mut facts = vec![count(counts.messages, "node")];
    if counts.leaves > 1 {
        facts.push(count(counts.leaves, "branch"));
    }
    if tree.mode == loomtree::types::Mode::Buffer {
        facts.push("buffer".to_owned());
    }
    if tree.archived_at.is_some() {
        facts.push("archived".to_owned());
    }
    let facts = facts.join(", ");
    let room = width.saturating_sub(facts.len() + 10).max(16);
    let id = short_tree_id(tree.id);
    format!("{}  {}  {}", paint(BOLD, cut(&tree.title, room)), paint(ID, id), paint(DIM, facts))
}
