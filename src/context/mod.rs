//! Context: what a model is shown.
//!
//! Here is the bare conversation, as an agent gets it that is not loom-aware: the system prompts and the words of the
//! path, nothing about the tree around it. It is a pure function of its arguments.

use crate::model::{AuthorType, EdgeKind, Node};

/// In whose voice a part of a conversation is given to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// What the model is told beforehand.
    System,
    /// Whom it talks with, tools included.
    User,
    /// The model itself.
    Assistant,
}

/// What is left out of every context: pruned, excluded and purged nodes, notes and thoughts.
fn spoken(node: &Node) -> bool {
    let said = !matches!(node.kind, EdgeKind::Annotation | EdgeKind::Thought);
    said && !node.state.excluded && node.purged_at.is_none() && !node.content.is_empty()
}

/// A path as a conversation: system prompts first, consecutive parts of one voice merged (many providers require
/// that voices alternate), a blank line between what was merged.
#[must_use]
pub fn conversation(prompts: &[&str], path: &[Node]) -> Vec<(Voice, String)> {
    let mut parts: Vec<(Voice, String)> = Vec::new();
    let prompts = prompts.iter().map(|prompt| (Voice::System, *prompt));
    let nodes = path.iter().filter(|node| spoken(node)).map(|node| {
        let voice = match node.author_type {
            AuthorType::System => Voice::System,
            AuthorType::Human | AuthorType::Tool => Voice::User,
            AuthorType::Model => Voice::Assistant,
        };
        (voice, node.content.as_str())
    });
    for (voice, text) in prompts.chain(nodes) {
        match parts.last_mut() {
            Some((last, merged)) if *last == voice => {
                merged.push_str("\n\n");
                merged.push_str(text);
            }
            _ => parts.push((voice, text.to_owned())),
        }
    }
    parts
}

/// A path as one text without seams, for a model that continues text: what a buffer tree is.
#[must_use]
pub fn prose(path: &[Node]) -> String {
    path.iter().filter(|node| spoken(node)).map(|node| node.content.as_str()).collect()
}
