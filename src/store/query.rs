//! Filters, cursors and results of the store's queries.

use crate::{
    id::{AgentId, LocalId, NodeId, SessionId, TreeId},
    types::{AuthorType, EdgeKind, JournalEntry, Node, Timestamp, WorkItem, setters},
};

/// A filter for trees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeFilter {
    /// Includes archived trees.
    pub archived: bool,
    /// Maximum number of results; 0: no limit.
    pub limit: u32,
}

setters!(TreeFilter {
    /// Sets whether archived trees are included.
    archived(bool);
    /// Sets the maximum number of results; 0: no limit.
    limit(u32);
});

/// A filter for a node's children, which are listed in insertion order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChildFilter {
    /// Children of this kind; `None`: of every kind.
    pub kind: Option<EdgeKind>,
    /// Includes pruned children.
    pub pruned: bool,
    /// Maximum number of results; 0: no limit.
    pub limit: u32,
}

setters!(ChildFilter {
    /// Selects children of one kind.
    kind(option EdgeKind);
    /// Sets whether pruned children are included.
    pruned(bool);
    /// Sets the maximum number of results; 0: no limit.
    limit(u32);
});

impl ChildFilter {
    /// Sorts children that were read in several parts, and keeps as many as the filter allows.
    pub(super) fn order(&self, found: &mut Vec<Node>) {
        found.sort_unstable_by_key(|node| node.seq);
        if self.limit > 0 {
            found.truncate(self.limit as usize);
        }
    }
}

/// A start and a direction for reading a node's continuations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiblingCursor {
    /// Forwards from the first continuation.
    First,
    /// Backwards from the last continuation.
    Last,
    /// Forwards from the continuation after this sequence number.
    After(u64),
    /// Backwards from the continuation before this sequence number.
    Before(u64),
}

/// A filter for sessions, which are listed by activity, newest first. All fields that are set must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionFilter {
    /// Sessions of this workspace.
    pub workspace: Option<String>,
    /// Sessions of this agent.
    pub agent: Option<AgentId>,
    /// Sessions in this tree.
    pub tree: Option<TreeId>,
    /// Excludes ended sessions.
    pub active: bool,
    /// Includes sessions that work on delegated tasks.
    pub delegated: bool,
    /// Excludes sessions that have expired at this time.
    pub unexpired: Option<Timestamp>,
    /// Sessions that have expired at this time and were not ended.
    pub expired: Option<Timestamp>,
    /// Sessions of this work item, or (`Some(None)`) of none.
    pub item: Option<Option<WorkItem>>,
    /// Excludes sessions that caused no node.
    pub spoken: bool,
    /// Maximum number of results; 0: no limit.
    pub limit: u32,
}

setters!(SessionFilter {
    /// Selects sessions of a workspace.
    workspace(some into String);
    /// Selects sessions of an agent.
    agent(option AgentId);
    /// Selects sessions in a tree.
    tree(option TreeId);
    /// Sets whether ended sessions are excluded.
    active(bool);
    /// Sets whether sessions of delegated tasks are included.
    delegated(bool);
    /// Excludes sessions that have expired at this time.
    unexpired(option Timestamp);
    /// Selects sessions that have expired at this time and were not ended.
    expired(option Timestamp);
    /// Selects sessions of a work item, or of none.
    item(some Option<WorkItem>);
    /// Sets whether sessions without a node are excluded.
    spoken(bool);
    /// Sets the maximum number of results; 0: no limit.
    limit(u32);
});

/// A filter for journal entries, which are listed newest first unless `oldest_first`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalFilter {
    /// Entries of this tree; `None`: of all trees and of none.
    pub tree: Option<TreeId>,
    /// Entries of no tree, such as those of documents and agents; `tree` is ignored.
    pub of_no_tree: bool,
    /// Entries with a lower number; 0: no bound.
    pub before: u64,
    /// Entries with a higher number; 0: all.
    pub after: u64,
    /// Lists the oldest entries first. Of all trees only final ones: no entry with a lower number will follow.
    pub oldest_first: bool,
    /// Maximum number of results; 0: no limit.
    pub limit: u32,
}

setters!(JournalFilter {
    /// Selects entries of a tree.
    tree(option TreeId);
    /// Selects entries of no tree.
    of_no_tree(bool);
    /// Selects entries with a lower number; 0: no bound.
    before(u64);
    /// Selects entries with a higher number; 0: all.
    after(u64);
    /// Sets whether the oldest entries come first.
    oldest_first(bool);
    /// Sets the maximum number of results; 0: no limit.
    limit(u32);
});

/// A filter for generated nodes. All fields that are set must match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GenerationFilter {
    /// Nodes of this tree.
    pub tree: Option<TreeId>,
    /// Nodes of this session, or of a session that works on a task delegated by it.
    pub session: Option<SessionId>,
    /// Nodes by this agent.
    pub agent: Option<AgentId>,
}

setters!(GenerationFilter {
    /// Selects nodes of a tree.
    tree(option TreeId);
    /// Selects nodes of a session and of sessions that work for it.
    session(option SessionId);
    /// Selects nodes by an agent.
    agent(option AgentId);
});

/// A generated node without its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GenerationRow<'a> {
    /// Agent that generated the node.
    pub author: AgentId,
    /// Token count stored with the node, if any.
    pub tokens: Option<u32>,
    /// True if the node has a visible continuation.
    pub continued: bool,
    /// JSON text of the provider's envelope, if any.
    pub envelope: Option<&'a str>,
}

/// A node's position in the shape of its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeRow {
    /// Sequence number of the node.
    pub seq: u64,
    /// Sequence number of its parent; `None` for the root.
    pub parent: Option<u64>,
    /// Number of nodes above it.
    pub depth: u32,
}

/// A node without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapNode {
    /// ULID of the node.
    pub id: NodeId,
    /// Author of the node.
    pub author: AgentId,
    /// Kind of the author.
    pub author_type: AuthorType,
    /// Envelope of the provider, as JSON. `None` for a node that no model generated.
    pub envelope: Option<String>,
}

/// The result of resolving a written id in a tree.
#[derive(Debug, Clone, PartialEq)]
pub enum LocalIdLookup {
    /// Exactly one match.
    One(Box<Node>),
    /// Several matches: the first ten, oldest first.
    Many(Vec<Node>),
    /// No match; at most three similar local ids by edit distance, the nearest first.
    None(Vec<LocalId>),
}

/// A group of journal entries to undo or redo.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UndoTarget {
    /// Group for [`super::Mutation::Undo`].
    pub group: u64,
    /// First entry of the operation. For a redo: the entry of the operation that the undo reverted.
    pub entry: JournalEntry,
}

/// A direction in the undo history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The newest operation that is not undone.
    Undo,
    /// The newest undo, unless a later operation invalidated it.
    Redo,
}

/// Changes that undo and redo in a tree reach besides those of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum UndoReach {
    /// Nothing.
    Tree,
    /// Changes of documents.
    Documents,
    /// Changes of documents and agents.
    #[default]
    Agents,
}
