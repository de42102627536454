//! What the store can be asked.

use crate::{
    id::{AgentId, LocalId, SessionId, TreeId},
    types::{EdgeKind, JournalEntry, Node, Timestamp, WorkItem},
};

/// Which trees to list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeFilter {
    /// Also those that were put away.
    pub archived: bool,
    /// At most this many; 0: all.
    pub limit: u32,
}

/// Which children to list, in the order in which they were added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChildFilter {
    /// Only this kind.
    pub kind: Option<EdgeKind>,
    /// Also pruned ones.
    pub pruned: bool,
    /// At most this many; 0: all.
    pub limit: u32,
}

/// Where to begin in what continues a node, and which way to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiblingCursor {
    /// From the first one on.
    First,
    /// From the last one backwards.
    Last,
    /// From the one after this sequence number on.
    After(u64),
    /// From the one before this sequence number backwards.
    Before(u64),
}

/// Which sessions to list, the last active first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Only of this workspace.
    pub workspace: Option<String>,
    /// Only of this agent.
    pub agent: Option<AgentId>,
    /// Only in this tree.
    pub tree: Option<TreeId>,
    /// Only those that can be continued: that were not ended.
    pub active: bool,
    /// Also those in which delegated work is done.
    pub delegated: bool,
    /// Only those that have not run out then.
    pub unexpired: Option<Timestamp>,
    /// Only those of this work item, or (`Some(None)`) of none.
    pub item: Option<Option<WorkItem>>,
    /// Only those that caused a node.
    pub spoken: bool,
    /// At most this many; 0: all.
    pub limit: u32,
}

/// Which journal entries to list, the newest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalFilter {
    /// Only of this tree.
    pub tree: Option<TreeId>,
    /// Only entries before this number; 0: from the newest.
    pub before: u64,
    /// At most this many; 0: all.
    pub limit: u32,
}

/// Which generations to go through: those that fit all that is said. With nothing said, all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GenerationFilter {
    /// Only of this tree.
    pub tree: Option<TreeId>,
    /// Only made in this session, or in one that does what was delegated in it.
    pub session: Option<SessionId>,
    /// Only written by this agent.
    pub agent: Option<AgentId>,
}

/// What a model wrote, without the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GenerationRow<'a> {
    /// Who wrote it.
    pub author: AgentId,
    /// Its number of tokens, where that is kept with the node.
    pub tokens: Option<u32>,
    /// Whether something that is not pruned continues it.
    pub continued: bool,
    /// The provider's envelope, if it has one.
    pub envelope: Option<&'a str>,
}

/// What a written id means in a tree.
#[derive(Debug, Clone, PartialEq)]
pub enum LocalIdLookup {
    /// Exactly one node.
    One(Box<Node>),
    /// Several: the first ten of them, oldest first.
    Many(Vec<Node>),
    /// None; the local ids nearest to it by edit distance, the nearest first, at most three.
    None(Vec<LocalId>),
}

/// A group of entries that can be undone or redone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoTarget {
    /// The group to apply [`super::Mutation::Undo`] to.
    pub group: u64,
    /// What it did: the first entry of the operation. For a redo: of what the undo had taken back.
    pub entry: JournalEntry,
}

/// Which way through the undo history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The newest operation that stands.
    Undo,
    /// The newest undo that nothing followed.
    Redo,
}

/// What [`super::Store::verify`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct VerifyReport {
    /// Nodes whose hash was computed again.
    pub nodes: u64,
    /// Trees whose counts were counted again.
    pub trees: u64,
    /// Journal entries read.
    pub entries: u64,
    /// What is wrong, one sentence each, naming the node or tree. Empty: all is well.
    pub problems: Vec<String>,
}

/// The result of [`super::OpenOptions::inspect`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// The file's schema version; 0 for an empty file.
    pub schema: u32,
    /// The schema version that this build writes.
    pub supported: u32,
    /// Journal entries.
    pub entries: u64,
    /// The problems of the file's structure and its journal, one sentence each.
    pub problems: Vec<String>,
}

/// What [`super::Store::rebuild`] did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct RebuildReport {
    /// Nodes whose counts were wrong and were set right.
    pub nodes: u64,
    /// Trees whose counts were wrong and were set right.
    pub trees: u64,
    /// Nodes whose words were indexed anew: all of them.
    pub indexed: u64,
    /// Sessions whose state register was another one than the archive says, or damaged, and was made again.
    pub registers: u64,
}
