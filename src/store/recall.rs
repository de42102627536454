//! What a search by words asks of the store, and what it is told. How hits are ranked is decided above, in
//! [`crate::recall`].

use std::collections::HashSet;

use crate::{
    id::{AgentId, SessionId, TreeId},
    types::{AuthorType, EdgeKind, Timestamp, WorkItem},
};

/// Which nodes are searched: those that fit all that is said. With nothing said, all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WordFilter {
    /// Only what this session caused.
    pub session: Option<SessionId>,
    /// Only what sessions of this workspace caused.
    pub workspace: Option<String>,
    /// Only of this tree.
    pub tree: Option<TreeId>,
    /// Only by this author.
    pub author: Option<AgentId>,
    /// Only what was said as this.
    pub role: Option<AuthorType>,
    /// Only of this kind.
    pub kind: Option<EdgeKind>,
    /// Only what was said then or later.
    pub from: Option<Timestamp>,
    /// Only what was said then or earlier.
    pub to: Option<Timestamp>,
    /// Only what a session of this work item may see, or (`Some(None)`) one of none: no tree of another item.
    pub seen_by: Option<Option<WorkItem>>,
    /// Only nodes with a lower sequence number.
    pub before: Option<u64>,
    /// Only these, by their sequence numbers.
    pub among: Option<HashSet<u64>>,
}

/// A passage that words stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassageHit {
    /// The node's sequence number.
    pub node: u64,
    /// Which of the node's passages, from 0.
    pub part: u32,
    /// What else is known of it. Where that is not said here, it has to be asked for, and the filter with it.
    pub place: Option<PassageInfo>,
}

/// What ranking wants to know of a passage beside its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassageInfo {
    /// The first node of what was said on end before it.
    pub sitting: u64,
    /// How many words it has.
    pub words: u32,
}

/// Where a word stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TermPostings {
    /// In which passages (by their place in [`Postings::passages`]), and how often.
    pub hits: Vec<(usize, u32)>,
    /// Whether these are all. Of a word that stands in too many passages, the newest are read, and those where it stands
    /// beside the others.
    pub complete: bool,
    /// In how many passages it stands, where they were not all read by how far it was read.
    pub about: u64,
}

/// Where words stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Postings {
    /// Of each word that was asked for.
    pub words: Vec<TermPostings>,
    /// The passages that any of them stands in.
    pub passages: Vec<PassageHit>,
    /// How many passages there are in the whole store.
    pub all: u64,
    /// How many words these have.
    pub length: u64,
}

/// What a node stands beside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Neighbors {
    /// What it hangs on.
    pub before: Option<u64>,
    /// What continues it, at most ten.
    pub after: Vec<u64>,
}
