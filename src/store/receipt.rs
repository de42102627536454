//! The result of a commit: the journal entries and nodes that it added.

use serde::Serialize;

use crate::id::{LocalId, NodeId};

/// The result of a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Receipt {
    /// The sequence number of the change's first journal entry, by which an undo refers to it. 0 if nothing changed.
    pub group: u64,
    /// The sequence number of its last journal entry.
    pub seq: u64,
    /// The appended nodes, in order.
    pub nodes: Vec<AppendedNode>,
    /// Number of messages that were hidden or shown, at least 1, or of nodes that were copied or purged.
    pub affected: u64,
}

/// A node appended by a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct AppendedNode {
    /// ULID of the node.
    pub id: NodeId,
    /// Local id assigned by the store.
    #[serde(rename = "local_id")]
    #[cfg_attr(feature = "serve", schema(value_type = String))]
    pub local: LocalId,
    /// Insertion sequence number.
    pub seq: u64,
    /// Turn number in the session that caused it; `None` without a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
}
