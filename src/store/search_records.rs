//! Input and output of full-text queries. Ranking is in [`crate::recall`].

use std::collections::HashSet;

use crate::{
    id::{AgentId, SessionId, TreeId},
    types::{AuthorType, EdgeKind, Timestamp, WorkItem},
};

/// Conditions on the nodes to search. A node must match all that are set; the default matches every node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WordFilter {
    /// Nodes caused by this session.
    pub session: Option<SessionId>,
    /// Nodes caused by sessions of this workspace.
    pub workspace: Option<String>,
    /// Nodes of this tree.
    pub tree: Option<TreeId>,
    /// Nodes by this author.
    pub author: Option<AgentId>,
    /// Nodes with this role.
    pub role: Option<AuthorType>,
    /// Nodes of this kind.
    pub kind: Option<EdgeKind>,
    /// Nodes created at this time or later.
    pub from: Option<Timestamp>,
    /// Nodes created at this time or earlier.
    pub to: Option<Timestamp>,
    /// Visibility for sessions of this work item, or (`Some(None)`) of none: excludes the trees of other work items.
    pub seen_by: Option<Option<WorkItem>>,
    /// Agent that reads: thoughts of others are excluded. Only queries of turns must apply it, and others may leave it to
    /// [`crate::recall`].
    pub reader: Option<AgentId>,
    /// Nodes with a lower sequence number.
    pub before: Option<u64>,
    /// Nodes with these sequence numbers.
    pub among: Option<HashSet<u64>>,
}

/// A passage that contains at least one search term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassageHit {
    /// The node's sequence number.
    pub node: u64,
    /// Index of the passage within the node, from 0.
    pub part: u32,
    /// Ranking data. `None`: the caller must load it with [`super::SearchReader::places`], which also applies the
    /// filter.
    pub place: Option<PassageInfo>,
}

/// Ranking data of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassageInfo {
    /// Sequence number of the first node of its burst: messages without a gap of two hours between them.
    pub burst: u64,
    /// Length in words.
    pub length: u32,
}

/// The passages that contain a search term.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TermPostings {
    /// Index into [`Postings::passages`], and occurrences in that passage.
    pub hits: Vec<(usize, u32)>,
    /// True if `hits` is complete. For a frequent term the newest passages are read, and those that contain it together
    /// with other terms.
    pub complete: bool,
    /// Number of passages that contain the term, estimated if `hits` is incomplete.
    pub estimated_passages: u64,
}

/// The postings of a list of search terms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Postings {
    /// One entry for each search term, in order.
    pub words: Vec<TermPostings>,
    /// The passages that contain any of the terms.
    pub passages: Vec<PassageHit>,
    /// Number of passages in the whole store.
    pub passage_count: u64,
    /// Number of words in these passages.
    pub word_count: u64,
}

/// The nodes directly before and after a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Neighbors {
    /// Sequence number of its parent.
    pub before: Option<u64>,
    /// Sequence numbers of its continuations, at most ten.
    pub after: Vec<u64>,
}

/// Nodes for a model of embeddings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmbeddingBatch {
    /// First and last sequence number that the batch covers, also of nodes without text.
    pub range: (u64, u64),
    /// Sequence number and text of each node with text. A name that starts with a capital precedes the text.
    pub texts: Vec<(u64, String)>,
}
