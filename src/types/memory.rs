//! Operational memory: what an agent keeps at hand in a tree.

use serde::{Deserialize, Serialize};

use super::{Timestamp, coded};
use crate::id::{DocumentId, NodeId};

/// What can be pinned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PinTarget {
    /// A node.
    Node(NodeId),
    /// A document, or one section of it.
    Document {
        /// Which document.
        id: DocumentId,
        /// The heading of the section, if not the whole.
        section: Option<String>,
    },
}

/// Something that stays in an agent's context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pin {
    /// What.
    #[serde(flatten)]
    pub target: PinTarget,
    /// Since when.
    pub at: Timestamp,
}

coded! {
    /// What is stashed.
    StashKind {
        /// Words.
        Words = "words", 0;
        /// A node's words, read from the node when they are asked for.
        Node = "node", 1;
        /// A summary of several nodes.
        Summary = "summary", 2;
        /// A result that was too long to be shown at once.
        Result = "result", 3;
    }
}

/// What is put aside under a label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StashContent {
    /// Words that the agent gave.
    Words(String),
    /// A node's words. The node is named, not copied, so that a purge of it leaves nothing here.
    Node(NodeId),
    /// A summary of several nodes. A purge in the tree takes it away.
    Summary(String),
    /// A result that was too long to be shown at once. A purge in the tree takes it away.
    Result(String),
}

impl StashContent {
    /// What it is.
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

/// A stash as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stash {
    /// Unique for an agent in a tree.
    pub label: String,
    /// What is under it.
    pub kind: StashKind,
    /// About how long it is.
    pub tokens: u32,
    /// Since when.
    pub at: Timestamp,
}

/// Something that an agent did and the tree's journal does not tell: it looked, or wrote in a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentAction {
    /// The tool's name.
    pub tool: String,
    /// A node's short id or a document's name.
    pub about: Option<String>,
    /// The journal's last entry at that time: what came before it and what after.
    pub after: u64,
}

/// What an agent keeps at hand in a tree, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// What stays in its context.
    pub pins: Vec<Pin>,
    /// What it put aside; results that were cut are not among them.
    pub stashes: Vec<Stash>,
    /// The last things it did that the journal does not tell.
    pub actions: Vec<AgentAction>,
}
