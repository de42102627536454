//! The queries of a snapshot, in one trait for each subject.
//!
//! Every method fails only if the file cannot be read or a row does not decode ([`StoreError`](super::StoreError)). A
//! missing item is `None` or an empty list. The traits are object-safe; [`Snapshot`] combines them for trait objects.
#![allow(clippy::missing_errors_doc)] // documented once, above

use std::ops::RangeInclusive;

use super::{
    ChildFilter, Direction, EmbeddingBatch, GenerationFilter, GenerationRow, JournalFilter, LocalIdLookup, MapNode,
    Neighbors, PassageInfo, Postings, PurgeTarget, Result, SessionFilter, ShapeRow, SiblingCursor, TreeFilter,
    UndoReach, UndoTarget, WordFilter,
};
use crate::{
    id::{AgentId, DocumentId, LinkId, NodeId, SessionId, TreeId},
    session_state::{SessionRecord, SessionState},
    tokens::TokenCalibration,
    types::{
        Agent, Document, DocumentVersion, EdgeKind, JournalEntry, Json, Lease, Link, Memory, Node, Session,
        SessionCounts, StashContent, Summary, SummarySubject, Timestamp, Todo, Tree,
    },
};

/// A consistent view of one moment: all queries of the store. It may be sent to another thread.
///
/// ```
/// use loomtree::prelude::*;
///
/// # let folder = tempfile::tempdir()?;
/// # let loom = session::open(folder.path().join("trees.db"))?;
/// # let owner = loom.actor(&loom.agent("owner")?);
/// # let (tree, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
/// # let reply = owner.append(root.id, "At the harbour.")?.nodes[0].id;
/// let snapshot = loom.snapshot()?;
/// assert_eq!(snapshot.path_back(reply, &[], 0)?.len(), 2);
/// assert_eq!(snapshot.children(root.id, &ChildFilter::default().limit(10))?[0].id, reply);
/// assert_eq!(snapshot.journal(JournalFilter::default().tree(tree.id).limit(1))?[0].node, Some(reply));
/// # Ok::<(), loomtree::Error>(())
/// ```
pub trait Snapshot: NodeReader + SessionReader + SearchReader + JournalReader + ShapeReader + Send {}

impl<T: NodeReader + SessionReader + SearchReader + JournalReader + ShapeReader + Send + ?Sized> Snapshot for T {}

/// Queries of trees and nodes, and of documents and data attached to nodes. Nodes include their counts and flags.
pub trait NodeReader {
    /// The tree with this id.
    fn tree(&self, id: TreeId) -> Result<Option<Tree>>;
    /// Trees, the most recently changed first.
    fn trees(&self, filter: TreeFilter) -> Result<Vec<Tree>>;
    /// The node with this id.
    fn node(&self, id: NodeId) -> Result<Option<Node>>;
    /// The node that `text` names in a tree: a local id in any accepted form, or the ULID of a node of any tree.
    fn resolve(&self, tree: TreeId, text: &str) -> Result<LocalIdLookup>;
    /// The path that ends at `to`, oldest node first, limited to the last `limit` nodes (0: no limit). Where a place
    /// has several versions, the path contains the one listed in `versions`, else the newest visible one.
    fn path_back(&self, to: NodeId, versions: &[NodeId], limit: u32) -> Result<Vec<Node>>;
    /// The metadata of the nodes of a path ([`NodeReader::path_back`]), oldest node first, as JSON texts that may be left
    /// unchecked for the caller's parser.
    fn path_metadata(&self, to: NodeId, versions: &[NodeId], limit: u32) -> Result<Vec<Option<String>>> {
        let path = self.path_back(to, versions, limit)?;
        Ok(path.into_iter().map(|node| node.metadata.map(|json| json.as_str().to_owned())).collect())
    }
    /// The children of a node, in insertion order. All versions of a place share their continuations.
    fn children(&self, of: NodeId, filter: &ChildFilter) -> Result<Vec<Node>>;
    /// The node reached from `of` by following the newest visible continuation at each step. Returns `of` itself if it
    /// has no continuation, `None` if the node does not exist.
    fn leaf(&self, of: NodeId) -> Result<Option<Node>>;
    /// The node itself if it is visible, else its nearest visible ancestor; above a version is its original. `None` if the
    /// node does not exist.
    fn nearest_visible(&self, node: NodeId) -> Result<Option<Node>>;
    /// The nodes outside of `target` that share its text: copies, edits and parts, in either direction.
    /// Purged nodes are excluded. Reads every node once.
    fn copies(&self, target: PurgeTarget) -> Result<Vec<Node>>;
    /// At most `most` visible continuations of a node, read from a cursor in the cursor's direction. Does not read the
    /// other siblings.
    fn continuations(&self, of: NodeId, from: SiblingCursor, most: u32) -> Result<Vec<Node>>;
    /// All versions of a node's place, the original first.
    fn versions(&self, of: NodeId) -> Result<Vec<Node>>;
    /// The node that a version, or a part of one, stands for; a node that is no version itself.
    fn original(&self, node: &Node) -> Result<Node> {
        let mut original = node.clone();
        while original.kind == EdgeKind::Version
            // A first half is above the second, which records the original.
            && let Some(of) = original.version_of.or(original.edited_from)
            && let Some(before) = self.node(of)?
        {
            original = before;
        }
        Ok(original)
    }
    /// The second half of a split, for the first one; `None` for other nodes.
    fn second_half(&self, node: &Node) -> Result<Option<Node>> {
        if node.kind != EdgeKind::Version || node.edited_from.is_none() {
            return Ok(None);
        }
        let filter = ChildFilter { kind: Some(EdgeKind::Version), pruned: true, limit: 0 };
        let halves = self.children(node.id, &filter)?;
        Ok(halves.into_iter().find(|half| half.edited_from == node.edited_from))
    }
    /// At most `limit` nodes of a tree with a higher sequence number than `after`, in insertion order.
    fn nodes_after(&self, tree: TreeId, after: u64, limit: u32) -> Result<Vec<Node>>;
    /// A tree's visible bookmarked nodes, in insertion order.
    fn bookmarks(&self, tree: TreeId) -> Result<Vec<Node>>;
    /// The roots of pruned branches of a tree.
    fn pruned(&self, tree: TreeId) -> Result<Vec<Node>>;
    /// The links from and to a node.
    fn links(&self, node: NodeId) -> Result<Vec<Link>>;
    /// A link and whether it was removed.
    fn link(&self, id: LinkId) -> Result<Option<(Link, bool)>>;
    /// The provider's envelope of a generated node.
    fn provenance(&self, node: NodeId) -> Result<Option<Json>>;
    /// Calls `each` with every generated node, pruned ones included, in no particular order. Reads every envelope: some
    /// microseconds each, ten more for a compressed one.
    fn generations(&self, filter: &GenerationFilter, each: &mut dyn FnMut(GenerationRow<'_>)) -> Result<()>;
    /// The node that was imported from a source.
    fn source(&self, source: &str) -> Result<Option<NodeId>>;
    /// The sources of an imported node.
    fn sources_of(&self, node: NodeId) -> Result<Vec<String>>;
    /// The stored summary of a node, tree or document. It may be older than the subject's last change.
    fn summary(&self, of: SummarySubject) -> Result<Option<Summary>>;
    /// All documents, ordered by name.
    fn documents(&self) -> Result<Vec<Document>>;
    /// A version of a document; 0 selects the newest.
    fn document_version(&self, id: DocumentId, version: u64) -> Result<Option<DocumentVersion>>;
}

/// Queries of agents, their sessions, and data that belongs to them.
pub trait SessionReader {
    /// All agents, in the order of their creation.
    fn agents(&self) -> Result<Vec<Agent>>;
    /// The session with this id.
    fn session(&self, id: SessionId) -> Result<Option<Session>>;
    /// The state of a session, with the newest message of a human.
    fn session_state(&self, id: SessionId) -> Result<SessionState>;
    /// The system prompt that the session's model was sent last.
    fn system_prompt(&self, id: SessionId) -> Result<Option<String>>;
    /// The decisions and constraints recorded in a session, in order.
    fn records(&self, id: SessionId) -> Result<Vec<SessionRecord>>;
    /// The turns that a session received from other sessions, in order, or (`Some`) only that of one node.
    fn received_turns(&self, id: SessionId, node: Option<NodeId>) -> Result<Vec<(u64, NodeId)>>;
    /// Sessions, the most recently active first.
    fn sessions(&self, filter: &SessionFilter) -> Result<Vec<Session>>;
    /// Numbers of sessions by what became of them at this time.
    fn session_counts(&self, now: Timestamp) -> Result<SessionCounts>;
    /// The leases in a tree, expired ones included: see [`Lease::holds`].
    fn leases(&self, tree: TreeId) -> Result<Vec<Lease>>;
    /// An agent's pins, stashes and last actions in a tree.
    fn memory(&self, agent: AgentId, tree: TreeId) -> Result<Memory>;
    /// The content that an agent stashed under a label. `result` selects the labels of truncated results instead of the
    /// agent's own.
    fn stashed(&self, agent: AgentId, tree: TreeId, label: &str, result: bool) -> Result<Option<StashContent>>;
    /// The todos of a session, of all turns or of one, ordered by turn and place.
    fn todos(&self, session: SessionId, turn: Option<u64>) -> Result<Vec<Todo>>;
    /// The events of the delegation with this head node, in order. Empty if the node heads no delegation.
    fn delegation(&self, head: NodeId) -> Result<Vec<Json>>;
    /// The head node of every delegation with its last event, newest delegation first.
    fn delegations(&self) -> Result<Vec<(NodeId, Json)>>;
    /// The ratio between a model's own token counts and the estimates; `None` if too few were recorded. `model` is the
    /// reference under which they were recorded.
    fn correction(&self, model: &str) -> Result<Option<TokenCalibration>>;
}

/// Queries of the full-text index and of embeddings. Sequence numbers identify nodes.
pub trait SearchReader {
    /// The postings of search terms, as the tokenizer of the index produces them. Reads about `most` rows of the
    /// index, and all nodes that are not indexed yet. Passages from the index are not checked against the whole filter;
    /// [`places`](Self::places) does that.
    fn postings(&self, words: &[String], filter: &WordFilter, most: usize) -> Result<Postings>;
    /// The ranking data of indexed passages, each given as node and part. `None` for a passage that does not match the
    /// filter.
    fn places(&self, passages: &[(u64, u32)], filter: &WordFilter) -> Result<Vec<Option<PassageInfo>>>;
    /// The previous and the following nodes of each node, all by sequence number.
    fn neighbors(&self, nodes: &[u64]) -> Result<Vec<Neighbors>>;
    /// Nodes by sequence number, in the given order. Missing nodes are skipped.
    fn nodes_at(&self, nodes: &[u64]) -> Result<Vec<Node>>;
    /// Calls `each` with the sequence number and text of matching nodes, newest first, until it returns `false`. It reads at
    /// most `limit` nodes, or all if the filter names a part of the archive.
    fn newest_first(&self, filter: &WordFilter, limit: u32, each: &mut dyn FnMut(u64, &str) -> bool) -> Result<()>;
    /// The next nodes for a model of embeddings, at most `limit`, the newest first; `None` if it has seen all.
    fn unembedded(&self, model: &str, limit: u32) -> Result<Option<EmbeddingBatch>>;
    /// The similarity of each node's vector and `query`, from -1 to 1; `None` for a node without a vector of the model.
    fn similarities(&self, model: &str, query: &[f32], nodes: &[u64]) -> Result<Vec<Option<f64>>>;
    /// At most `limit` matching nodes, the most similar to `query` first. Of many nodes it compares the sign bits first,
    /// so it may miss one.
    fn nearest(&self, model: &str, query: &[f32], filter: &WordFilter, limit: usize) -> Result<Vec<u64>>;
    /// At most `limit` matching nodes of a session's turns, in order. A received node has the session and the turn as
    /// which it was received.
    fn turns(
        &self,
        session: SessionId,
        turns: RangeInclusive<u64>,
        filter: &WordFilter,
        limit: u32,
    ) -> Result<Vec<Node>>;
    /// At most `limit` results of a tool, newest first.
    fn tool_results(&self, filter: &WordFilter, tool: &str, limit: u32) -> Result<Vec<Node>>;
    /// At most `limit` names of tools that have results, sorted.
    fn tool_names(&self, filter: &WordFilter, limit: u32) -> Result<Vec<String>>;
}

/// Queries of the journal.
pub trait JournalReader {
    /// The number of the journal's last final entry: no entry with a lower number will follow. Numbers grow with time and may
    /// have gaps.
    fn last_seq(&self) -> Result<u64>;
    /// A number that differs between two snapshots if their journals do.
    fn journal_version(&self) -> Result<u64> {
        self.last_seq()
    }
    /// Journal entries, newest first unless the filter asks for the oldest first.
    fn journal(&self, filter: JournalFilter) -> Result<Vec<JournalEntry>>;
    /// The group that an agent's next undo or redo in a tree applies to. Operations on documents and agents belong to
    /// every tree, as far as `reach` includes them.
    fn undo_target(
        &self,
        tree: Option<TreeId>,
        reach: UndoReach,
        agent: AgentId,
        direction: Direction,
    ) -> Result<Option<UndoTarget>>;
}

/// Queries of the shape of a whole tree, for maps.
pub trait ShapeReader {
    /// Calls `each` with the root and every visible continuation of a tree, level by level, siblings in insertion order.
    /// It reads the index of children and no node: about 0.2 s for a million.
    fn shape(&self, tree: TreeId, each: &mut dyn FnMut(ShapeRow)) -> Result<()>;
    /// Depth of the deepest node that [`Self::shape`] yields: tool results, thoughts and notes below it do not count. It is
    /// 0 for a tree without a root.
    fn message_depth(&self, tree: TreeId) -> Result<u32>;
    /// Nodes by their sequence numbers, without their text.
    fn map_nodes(&self, nodes: &[u64]) -> Result<Vec<Option<MapNode>>>;
}
