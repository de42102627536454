//! The store: the only place that keeps anything, and the only one that knows how.
//!
//! It is two traits. A [`Store`] takes changes through one door, [`Store::submit`], and gives out [`Snapshot`]s; a
//! snapshot answers named queries about one moment. Both are narrow and object-safe on purpose, because a second
//! backend is to come; nothing above this floor knows which one it talks to. [`SqliteStore`] is the backend there
//! is: one file, one writer thread, a small pool of readers.
//!
//! The store applies rules that hold for a row and its neighbours (immutability, one root, no cycles, counts).
//! Rules that say what an operation *means* live in [`crate::ops`].

mod agents;
mod error;
mod mutation;
mod query;
mod recall;
mod sqlite;

use std::{any::Any, future::Future, ops::RangeInclusive, path::Path, pin::Pin, sync::Arc, task, thread};

use tokio::sync::oneshot;

pub use agents::default_agents;
pub use error::{Result, StoreError};
pub use mutation::{AppendedNode, Change, ChangeKind, Mutation, PriorPlacement, PurgeTarget, Receipt};
pub use query::{
    ChildFilter, Direction, GenerationFilter, GenerationRow, Inspection, JournalFilter, LocalIdLookup, RebuildReport,
    SessionFilter, SiblingCursor, TreeFilter, UndoTarget, VerifyReport,
};
pub use recall::{Neighbors, PassageHit, PassageInfo, Postings, TermPostings, WordFilter};
pub use sqlite::{OpenOptions, SqliteStore, count_bytes, migration_copies, sidecar_files};

use crate::{
    id::{AgentId, DocumentId, LinkId, NodeId, SessionId, TreeId},
    session_state::{SessionRecord, SessionState},
    tokens::TokenCalibration,
    types::{
        Agent, Document, DocumentVersion, JournalEntry, Json, Lease, Link, Memory, Node, Session, StashContent,
        Summary, SummarySubject, Todo, Tree,
    },
};

/// Keeps trees. Cheap to share behind an `Arc`; every method may be called from any thread.
pub trait Store: Send + Sync {
    /// Hands a change to the writer and returns at once. When the returned [`Pending`] gives its receipt, the change
    /// is on disk. Changes that wait together are synced together; one that fails does not fail its neighbours.
    fn submit(&self, change: Change) -> Pending;

    /// A view of this moment, unaffected by later commits. Short-lived: while it is held, the write-ahead log cannot
    /// be emptied.
    ///
    /// # Errors
    /// If the file cannot be read.
    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>>;

    /// Begins to watch for changes, by whichever process.
    ///
    /// # Errors
    /// If the file cannot be read.
    fn watch(&self) -> Result<Box<dyn Watch>>;

    /// Computes every hash and count again and checks the file's structure. `progress` is called now and then with
    /// the number of nodes done.
    ///
    /// # Errors
    /// If the file cannot be read at all; what is wrong inside it is in the report.
    fn verify(&self, progress: &mut dyn FnMut(u64)) -> Result<VerifyReport>;

    /// Computes everything that is derived (counts of nodes and trees, the index of words) anew.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn rebuild(&self) -> Result<RebuildReport>;

    /// Copies the whole store to a new file while others go on writing. `progress` is called with pages done and
    /// pages in all.
    ///
    /// # Errors
    /// If `to` exists or cannot be written.
    fn backup(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()>;

    /// [`Store::submit`], waiting for the receipt on this thread.
    ///
    /// # Errors
    /// Whatever kept the change from being made; then nothing was changed.
    fn commit(&self, change: Change) -> Result<Receipt> {
        self.submit(change).wait()
    }
}

/// Sees whether something was changed. Asking costs some microseconds, whatever the file's size, and reads nothing of it.
pub trait Watch: Send {
    /// Whether anything was committed since this was asked last, or since the watch began: also what leaves no entry in
    /// the journal, such as a lease.
    ///
    /// # Errors
    /// If the file cannot be read.
    fn has_changed(&mut self) -> Result<bool>;
}

/// Answers about one moment. Nodes come with their counts and marks; "not there" is `None` or an empty list.
///
/// Every method fails only if the file cannot be read or a row does not decode ([`StoreError`]).
#[allow(clippy::missing_errors_doc)] // said once, above
pub trait Snapshot {
    /// The number of the journal's last entry: it grows with every commit of every process.
    fn last_seq(&self) -> Result<u64>;

    /// A tree.
    fn tree(&self, id: TreeId) -> Result<Option<Tree>>;
    /// Trees, the last changed first.
    fn trees(&self, filter: TreeFilter) -> Result<Vec<Tree>>;

    /// A node.
    fn node(&self, id: NodeId) -> Result<Option<Node>>;
    /// The node that `text` names in a tree: any form of a local id, or a ULID of any tree.
    fn resolve(&self, tree: TreeId, text: &str) -> Result<LocalIdLookup>;
    /// The path that ends at `to`, the newest node last, at most `limit` nodes (0: all). Where a place on the way has
    /// several versions, the one in `versions` is taken, else the newest visible one.
    fn path_back(&self, to: NodeId, versions: &[NodeId], limit: u32) -> Result<Vec<Node>>;
    /// What hangs on a node, in the order in which it was added. Versions have their continuations in common.
    fn children(&self, of: NodeId, filter: &ChildFilter) -> Result<Vec<Node>>;
    /// The node that is reached from `of` by always taking the newest visible continuation; `of` itself if nothing
    /// continues it, nothing if it is not there.
    fn leaf(&self, of: NodeId) -> Result<Option<Node>>;
    /// The nodes outside of `target` that hold its words: copies, edits and halves of splits, made from it or it from
    /// them. Purged nodes are left out. Reads every node once.
    fn copies(&self, target: PurgeTarget) -> Result<Vec<Node>>;
    /// The visible continuations of a node from a place among them, at most `most`, in the order in which they are met:
    /// what is beside one of a thousand is found without reading the thousand.
    fn continuations(&self, of: NodeId, from: SiblingCursor, most: u32) -> Result<Vec<Node>>;
    /// Every wording of a node's place, the original first.
    fn versions(&self, of: NodeId) -> Result<Vec<Node>>;
    /// A tree's nodes in the order in which they were added, after that sequence number.
    fn nodes_after(&self, tree: TreeId, after: u64, limit: u32) -> Result<Vec<Node>>;
    /// A tree's bookmarked nodes, in the order in which they were added.
    fn bookmarks(&self, tree: TreeId) -> Result<Vec<Node>>;
    /// The roots of pruned branches of a tree.
    fn pruned(&self, tree: TreeId) -> Result<Vec<Node>>;
    /// Where words stand, as [`crate::text_index::WordTokenizer`] gives them: in the index, of which at most about `most` rows
    /// are read, and in what was said since. What is read from the index need not fit the filter yet:
    /// [`places`](Self::places) says whether it does.
    fn words_said(&self, words: &[String], filter: &WordFilter, most: usize) -> Result<Postings>;
    /// What ranking wants to know of passages of the index, each a node and a part; nothing for one that does not fit.
    fn places(&self, passages: &[(u64, u32)], filter: &WordFilter) -> Result<Vec<Option<PassageInfo>>>;
    /// What each of these nodes stands beside, by sequence numbers.
    fn beside(&self, nodes: &[u64]) -> Result<Vec<Neighbors>>;
    /// Nodes by their sequence numbers, in this order; those that are not there are left out.
    fn nodes_at(&self, nodes: &[u64]) -> Result<Vec<Node>>;
    /// Goes through what fits, the newest first, at most `limit` nodes, as long as `each` wants more.
    fn newest_first(&self, filter: &WordFilter, limit: u32, each: &mut dyn FnMut(u64, &str) -> bool) -> Result<()>;
    /// Goes through a model's vectors of what fits.
    fn vectors(&self, model: &str, filter: &WordFilter, each: &mut dyn FnMut(u64, &[f32])) -> Result<()>;
    /// Turns of a session that fit, in order, at most `limit`.
    fn turns(
        &self,
        session: SessionId,
        turns: RangeInclusive<u64>,
        filter: &WordFilter,
        limit: u32,
    ) -> Result<Vec<Node>>;
    /// Results of a tool, the newest first, at most `limit`.
    fn tool_results(&self, filter: &WordFilter, tool: &str, limit: u32) -> Result<Vec<Node>>;
    /// The names of tools that there are results of, at most `limit`.
    fn tool_names(&self, filter: &WordFilter, limit: u32) -> Result<Vec<String>>;
    /// Links from and to a node.
    fn links(&self, node: NodeId) -> Result<Vec<Link>>;
    /// One link, also if it was taken away (then the flag is true).
    fn link(&self, id: LinkId) -> Result<Option<(Link, bool)>>;
    /// The provider's envelope of a generated node.
    fn provenance(&self, node: NodeId) -> Result<Option<Json>>;
    /// Goes through what models wrote, in no order that means anything; pruned nodes too. Every envelope is read: some
    /// microseconds each, and ten more for one that is so long that it is compressed.
    fn generations(&self, filter: &GenerationFilter, each: &mut dyn FnMut(GenerationRow<'_>)) -> Result<()>;
    /// The node that was imported from this source.
    fn source(&self, source: &str) -> Result<Option<NodeId>>;
    /// The sources that a node was imported from.
    fn sources_of(&self, node: NodeId) -> Result<Vec<String>>;

    /// Agents, in the order in which they were made.
    fn agents(&self) -> Result<Vec<Agent>>;
    /// A session.
    fn session(&self, id: SessionId) -> Result<Option<Session>>;
    /// A session's state register, with the newest message of a person.
    fn register(&self, id: SessionId) -> Result<SessionState>;
    /// What was recorded in a session on purpose, in order.
    fn records(&self, id: SessionId) -> Result<Vec<SessionRecord>>;
    /// Sessions, the last active first.
    fn sessions(&self, filter: &SessionFilter) -> Result<Vec<Session>>;

    /// Who generates where in a tree. Also such leases as have run out since: see [`Lease::holds`].
    fn leases(&self, tree: TreeId) -> Result<Vec<Lease>>;
    /// What an agent keeps at hand in a tree.
    fn memory(&self, agent: AgentId, tree: TreeId) -> Result<Memory>;
    /// What an agent put aside under a label. Results that were cut have labels of their own;
    /// `result` asks for one of those.
    fn stashed(&self, agent: AgentId, tree: TreeId, label: &str, result: bool) -> Result<Option<StashContent>>;

    /// The items of plans of a session, plan by plan, each in its order; of one turn, if that is said.
    fn todos(&self, session: SessionId, turn: Option<u64>) -> Result<Vec<Todo>>;

    /// What happened in a delegation, by its head, in order; nothing if the node is none.
    fn delegation(&self, head: NodeId) -> Result<Vec<Json>>;
    /// The heads of delegations, each with what happened last, the newest first.
    fn delegations(&self) -> Result<Vec<(NodeId, Json)>>;

    /// What a model said that something is about; perhaps before it changed.
    fn summary(&self, of: SummarySubject) -> Result<Option<Summary>>;

    /// How a model's own count of tokens compares with the estimate; `None` as long as too little is known. A model is
    /// named as it was when that was kept.
    fn correction(&self, model: &str) -> Result<Option<TokenCalibration>>;

    /// Documents, by name.
    fn documents(&self) -> Result<Vec<Document>>;
    /// A version of a document, the newest for 0.
    fn document_version(&self, id: DocumentId, version: u64) -> Result<Option<DocumentVersion>>;

    /// Journal entries, the newest first.
    fn journal(&self, filter: JournalFilter) -> Result<Vec<JournalEntry>>;
    /// What an agent's next undo or redo in a tree would take back; operations on documents and agents belong to
    /// every tree.
    fn undo_target(&self, tree: Option<TreeId>, agent: AgentId, direction: Direction) -> Result<Option<UndoTarget>>;
}

/// A change on its way to the disk: wait for it, or await it. Dropping it does not take the change back.
#[derive(Debug)]
pub struct Pending {
    receipt: oneshot::Receiver<Result<Receipt>>,
    /// What was handed over, so that whoever waits frees its memory: the writer's time is everybody's.
    _handed_over: Option<Arc<dyn Any + Send + Sync>>,
}

impl Pending {
    /// Waits on this thread.
    ///
    /// # Errors
    /// Whatever kept the change from being made; then nothing was changed.
    pub fn wait(mut self) -> Result<Receipt> {
        // On fast storage the receipt is there sooner than a sleeping thread would wake.
        for _ in 0..LOOKS {
            if let Ok(receipt) = self.receipt.try_recv() {
                return receipt;
            }
            std::hint::spin_loop();
        }
        let waker = task::Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = task::Context::from_waker(&waker);
        // Within a task of a runtime a channel seems empty once the task's budget is used up, until the task yields: a
        // thread that waits here would wait for ever.
        let mut pending = std::pin::pin!(tokio::task::coop::unconstrained(self));
        loop {
            match pending.as_mut().poll(&mut context) {
                task::Poll::Ready(receipt) => return receipt,
                task::Poll::Pending => thread::park(),
            }
        }
    }
}

/// How often [`Pending::wait`] looks before it sleeps: a few times what an append takes in memory. A caller that slept
/// would be woken by the writer, which costs both of them about as much as the append.
const LOOKS: u32 = 4_096;

/// Wakes a thread that waits for its receipt: one system call, and no lock as a condition variable has.
struct Unpark(thread::Thread);

impl task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Future for Pending {
    type Output = Result<Receipt>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> task::Poll<Self::Output> {
        Pin::new(&mut self.receipt).poll(cx).map(|sent| sent.unwrap_or(Err(StoreError::Closed)))
    }
}
