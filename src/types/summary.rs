//! Summaries: sentences of a model that stand for something longer.

use serde::{Deserialize, Serialize};

use super::Timestamp;
use crate::id::{DocumentId, NodeId, TreeId};

/// What a summary is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummarySubject {
    /// A node: one sentence.
    Node(NodeId),
    /// A document: one sentence.
    Document(DocumentId),
    /// A tree: two sentences.
    Tree(TreeId),
}

/// What a model said that something is about. It never stands for the thing itself: it can be made again, and a purge of
/// what it is of takes it away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The words, on one line.
    pub content: String,
    /// What it was made of: a document's version, how many nodes a tree had; 0 of a node, which never changes.
    pub made_of: u64,
    /// The model that wrote it.
    pub model: String,
    /// When.
    #[serde(rename = "made_at")]
    pub at: Timestamp,
}
