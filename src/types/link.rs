//! Links from a node to a node, a tree, or a section of a document. Both ends list the link.

use serde::{Deserialize, Serialize};

use super::Timestamp;
use crate::id::{AgentId, DocumentId, LinkId, NodeId, TreeId};

/// Target of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub enum LinkTarget {
    /// A node of the same or of another tree.
    Node(NodeId),
    /// A tree as a whole.
    Tree(TreeId),
    /// A document, or one of its sections.
    Document {
        /// ULID of the document.
        id: DocumentId,
        /// Heading of the section; `None`: the whole document.
        section: Option<String>,
    },
}

/// A link between a node and a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Link {
    /// ULID, created by the caller.
    pub id: LinkId,
    /// Node that the link starts at.
    pub source: NodeId,
    /// Target of the link.
    pub target: LinkTarget,
    /// Note on the reason for the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Author of the link.
    #[serde(rename = "author_id")]
    pub author: AgentId,
    /// Creation time by the host's clock.
    pub created_at: Timestamp,
}
