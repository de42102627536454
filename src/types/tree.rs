//! Trees: a conversation with all its branches.

use serde::{Deserialize, Serialize};

use super::{Session, Timestamp, WorkItem, coded, setters};
use crate::id::{NodeId, TreeId};

coded! {
    /// Mode of editing and reading a tree, fixed at creation.
    Mode {
        /// Turns of a conversation. An edit creates a branch beside the original.
        Dialogue = "dialogue", 0;
        /// One continuous text. An edit creates a version, which shares the continuations of the original.
        Buffer = "buffer", 1;
    }
}

/// Counts of the visible (not pruned) nodes of a tree, updated by every change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct TreeCounts {
    /// Nodes of every kind.
    pub nodes: u64,
    /// Roots and continuations: the nodes without tool results, thoughts and notes.
    pub messages: u64,
    /// Leaves: roots and continuations without a continuation. This is the number of branches.
    pub leaves: u64,
    /// Nodes with several continuations.
    pub branch_points: u64,
    /// Depth of the deepest node of any kind.
    pub max_depth: u32,
}

/// A tree as read from the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Tree {
    /// ULID of the tree.
    pub id: TreeId,
    /// Title; by default the first words of the root.
    pub title: String,
    /// Description of the tree's purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Mode: dialogue or buffer.
    pub mode: Mode,
    /// System prompt of every generation in this tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_context: Option<String>,
    /// Summary of two sentences, generated on demand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Creation time by the host's clock.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Time of archiving, if the tree is archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
    /// Root node; `None` until it is appended.
    #[serde(rename = "root_id")]
    pub root: Option<NodeId>,
    /// Counts of the visible nodes.
    #[serde(flatten)]
    pub counts: TreeCounts,
    /// True if a user or agent set the title; false if it was derived from the root.
    #[serde(skip)]
    pub titled: bool,
    /// Work item of the tree. Sessions of other items cannot see the tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<WorkItem>,
}

impl Tree {
    /// True if a session can see the tree. A tree of a work item is visible only to sessions of that item.
    #[must_use]
    pub fn is_visible_to(&self, session: &Session) -> bool {
        self.item.is_none() || self.item == session.item
    }
}

/// A tree to be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NewTree {
    /// ULID, created by the caller.
    pub id: TreeId,
    /// Title; `None`: the first words of the root.
    pub title: Option<String>,
    /// Description of the tree's purpose.
    pub description: Option<String>,
    /// Mode: dialogue or buffer.
    pub mode: Mode,
    /// System prompt of every generation in this tree.
    pub system_context: Option<String>,
    /// Creation time by the host's clock.
    pub created_at: Timestamp,
}

/// Changes to a tree. A field that is `None` leaves its value unchanged; an inner `None` clears it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct TreePatch {
    /// New title; an inner `None` restores the first words of the root.
    #[serde(default, deserialize_with = "super::deserialize_present", skip_serializing_if = "Option::is_none")]
    pub title: Option<Option<String>>,
    /// New description; an inner `None` removes it.
    #[serde(default, deserialize_with = "super::deserialize_present", skip_serializing_if = "Option::is_none")]
    pub description: Option<Option<String>>,
    /// New system prompt; an inner `None` removes it.
    #[serde(default, deserialize_with = "super::deserialize_present", skip_serializing_if = "Option::is_none")]
    pub system_context: Option<Option<String>>,
}

setters!(TreePatch {
    /// Sets the title; `None`: the first words of the root.
    title(some Option<String>);
    /// Sets or removes the description.
    description(some Option<String>);
    /// Sets or removes the system prompt.
    system_context(some Option<String>);
});
