//! Operational memory of an agent in a tree: pins, stashes and recent actions.

use serde::{Deserialize, Serialize};

use super::{Timestamp, coded};
use crate::id::{DocumentId, NodeId};

/// Target of a pin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PinTarget {
    /// A node, by its id.
    Node(NodeId),
    /// A document, or one of its sections.
    Document {
        /// ULID of the document.
        id: DocumentId,
        /// ULID of the document.
        section: Option<String>,
    },
}

/// A node or document that remains in the agent's context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pin {
    /// Pinned node or document.
    #[serde(flatten)]
    pub target: PinTarget,
    /// Time at which the agent pinned it.
    pub at: Timestamp,
}

coded! {
    /// Kind of a stash.
    StashKind {
        /// Text given by the agent.
        Words = "words", 0;
        /// Content of a node, read from the node on each access.
        Node = "node", 1;
        /// Summary of several nodes.
        Summary = "summary", 2;
        /// Command result that was too long for the reply.
        Result = "result", 3;
    }
}

/// Content of a stash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StashContent {
    /// Text given by the agent.
    Words(String),
    /// Content of a node. The stash holds the id, so that a purge of the node leaves no copy.
    Node(NodeId),
    /// Summary of several nodes. A purge in the tree removes it.
    Summary(String),
    /// Command result that was too long for the reply. A purge in the tree removes it.
    Result(String),
}

impl StashContent {
    /// Kind of the content.
    #[must_use]
    pub const fn kind(&self) -> StashKind {
        match self {
            Self::Words(_) => StashKind::Words,
            Self::Node(_) => StashKind::Node,
            Self::Summary(_) => StashKind::Summary,
            Self::Result(_) => StashKind::Result,
        }
    }
}

/// A stash as listed, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stash {
    /// Label, unique per agent and tree.
    pub label: String,
    /// Kind of the content.
    pub kind: StashKind,
    /// Estimated length in tokens.
    pub tokens: u32,
    /// Time at which the agent stashed it.
    pub at: Timestamp,
}

/// An action of an agent that the journal of the tree does not contain: a read, or a change of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentAction {
    /// Name of the tool.
    pub tool: String,
    /// Local id of a node, or name of a document.
    pub about: Option<String>,
    /// Sequence number of the newest journal entry at that time. It orders actions among the entries.
    pub after: u64,
}

/// Operational memory of an agent in a tree. Each list has the oldest item first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Pinned nodes and documents.
    pub pins: Vec<Pin>,
    /// Stashes, without the results that the engine stashed.
    pub stashes: Vec<Stash>,
    /// Most recent actions that the journal does not contain.
    pub actions: Vec<AgentAction>,
}
