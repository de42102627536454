//! Links: from a node to a node, a tree, or a document with a section; seen from both ends.

use serde::{Deserialize, Serialize};

use super::Timestamp;
use crate::id::{AgentId, DocumentId, LinkId, NodeId, TreeId};

/// What a link points at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkTarget {
    /// A node, of the same or another tree.
    Node(NodeId),
    /// A whole tree.
    Tree(TreeId),
    /// A document, or one section of it.
    Document {
        /// Which document.
        id: DocumentId,
        /// The heading of the section, if not the whole.
        section: Option<String>,
    },
}

/// A link, to be made or as the store gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The link's ULID, made by the caller.
    pub id: LinkId,
    /// Where it starts.
    pub source: NodeId,
    /// Where it points.
    pub target: LinkTarget,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Who made it.
    #[serde(rename = "author_id")]
    pub author: AgentId,
    /// When.
    pub created_at: Timestamp,
}
