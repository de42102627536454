//! The tree: one conversation with all its branches.

use serde::{Deserialize, Serialize};

use super::{Session, Timestamp, WorkItem, coded};
use crate::id::{NodeId, TreeId};

coded! {
    /// How a tree is edited and read; fixed at creation.
    Mode {
        /// Turns of a conversation: an edit is a branch beside the original.
        Dialogue = "dialogue", 0;
        /// One text: an edit is a version, and what follows the original follows it too.
        Buffer = "buffer", 1;
    }
}

/// Counts of what is visible (not pruned) in a tree, kept with every change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeCounts {
    /// Nodes of every kind.
    pub nodes: u64,
    /// Ends of the conversation: roots and continuations that nothing continues. This is the number of branches.
    pub leaves: u64,
    /// Nodes that several continuations follow.
    pub branch_points: u64,
    /// The depth of the deepest node.
    pub max_depth: u32,
}

/// A tree as the store gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tree {
    /// The tree's ULID.
    pub id: TreeId,
    /// Given, or the first words of the root.
    pub title: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Dialogue or buffer.
    pub mode: Mode,
    /// A system prompt that every generation in this tree gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_context: Option<String>,
    /// A sentence or two about it, made lazily.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was put away, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
    /// The first node; `None` only until it is written.
    #[serde(rename = "root_id")]
    pub root: Option<NodeId>,
    /// What it holds.
    #[serde(flatten)]
    pub counts: TreeCounts,
    /// Whether somebody chose the title, rather than the root's first words.
    #[serde(skip)]
    pub titled: bool,
    /// The work item that it belongs to: sessions of others do not see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<WorkItem>,
}

impl Tree {
    /// Whether a session may see what is said here: what belongs to a work item is seen by sessions of that item only.
    #[must_use]
    pub fn is_seen_by(&self, session: &Session) -> bool {
        self.item.is_none() || self.item == session.item
    }
}

/// A tree to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTree {
    /// The tree's ULID, made by the caller.
    pub id: TreeId,
    /// `None`: the first words of the root.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Dialogue or buffer.
    pub mode: Mode,
    /// A system prompt for every generation.
    pub system_context: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Changes to a tree's words; a field that is `None` stays as it is, an inner `None` empties it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreePatch {
    /// A new title; an inner `None` goes back to the root's first words.
    #[serde(default, deserialize_with = "super::emptied", skip_serializing_if = "Option::is_none")]
    pub title: Option<Option<String>>,
    /// A new description.
    #[serde(default, deserialize_with = "super::emptied", skip_serializing_if = "Option::is_none")]
    pub description: Option<Option<String>>,
    /// A new system prompt.
    #[serde(default, deserialize_with = "super::emptied", skip_serializing_if = "Option::is_none")]
    pub system_context: Option<Option<String>>,
}
