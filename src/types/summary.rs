//! Summaries of nodes, documents and trees, written by a model.

use serde::{Deserialize, Serialize};

use super::Timestamp;
use crate::id::{DocumentId, NodeId, TreeId};

/// Subject of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SummarySubject {
    /// A node; its summary has one sentence.
    Node(NodeId),
    /// A document; its summary has one sentence.
    Document(DocumentId),
    /// A tree; its summary has two sentences.
    Tree(TreeId),
}

/// A summary of a node, document or tree. It can be regenerated, and a purge of its subject deletes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Text on one line.
    pub content: String,
    /// Version of the subject that was summarized: a document's version, a tree's number of nodes, 0 for a node.
    pub made_of: u64,
    /// Reference of the model that wrote it.
    pub model: String,
    /// Creation time by the host's clock.
    #[serde(rename = "made_at")]
    pub at: Timestamp,
}
