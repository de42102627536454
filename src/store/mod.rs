//! The storage layer: the traits of a store, the types that they exchange, and the backends.
//!
//! A [`Store`] accepts every write through [`Store::submit`] and opens [`Snapshot`]s. A snapshot answers named queries
//! about one moment. Both traits are object-safe; the layers above do not know which backend they use. [`SqliteStore`] is
//! the default: one file, one writer thread and a small pool of read connections. The feature `postgres` adds a backend
//! for a database of a server, which [`OpenOptions::connect`] opens by its URL.
//!
//! The store enforces rules about a row and its neighbors: immutability, one root, no cycles, counts. Rules about the
//! meaning of an operation are in [`crate::ops`].

mod agents;
mod choose_local_id;
mod database_location;
mod envelope_compression;
mod error;
mod lease_permission;
mod mutation;
mod mutation_rules;
mod mutation_targets;
mod new_node;
mod open_options;
mod pending_commit;
#[cfg(feature = "postgres")]
mod postgres;
mod query;
mod reader;
mod receipt;
mod reports;
mod resolve_local_id;
mod search_records;
mod searched_text;
mod session_state_rules;
mod sqlite;
mod transaction_rules;
mod undo_rules;
mod vector_similarity;
mod word_postings;

use std::{path::Path, sync::Arc};

pub(crate) use agents::{default_agents, is_default_agent};
pub use database_location::Location;
pub(crate) use database_location::sidecar_path;
pub use error::{Result, StoreError};
pub use mutation::{Change, ChangeKind, Mutation};
pub use mutation_targets::{PriorPlacement, PurgeTarget};
pub(crate) use new_node::copy_of;
pub use open_options::OpenOptions;
use pending_commit::MAX_RECEIPT_POLLS;
pub use pending_commit::PendingCommit;
pub(crate) use pending_commit::QueuedChange;
#[cfg(feature = "postgres")]
use pending_commit::block_on;
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use query::{
    ChildFilter, Direction, GenerationFilter, GenerationRow, JournalFilter, LocalIdLookup, MapNode, SessionFilter,
    ShapeRow, SiblingCursor, TreeFilter, UndoReach, UndoTarget,
};
pub use reader::{JournalReader, NodeReader, SearchReader, SessionReader, ShapeReader, Snapshot};
pub use receipt::{AppendedNode, Receipt};
pub use reports::{CopyReport, Inspection, RebuildReport, VerifyReport};
#[doc(hidden)] // for the ranking
pub use search_records::{EmbeddingBatch, Neighbors, PassageHit, PassageInfo, Postings, TermPostings, WordFilter};
#[doc(hidden)] // for the program
pub use sqlite::count_bytes;
pub use sqlite::{ForeignDatabase, ForeignQuery, RowFilter, SqliteStore, migration_copies, sidecar_files};
#[cfg(feature = "postgres")]
use sqlite::{HALVING_TOKENS, MAX_RATIO};

/// Maximum length in characters of a title that is derived from the root, or from the first message after an empty root.
const MAX_TITLE_CHARS: usize = 60;

/// A database of trees. Share it in an `Arc`; every method may be called from any thread.
pub trait Store: Send + Sync {
    /// Queues a change for the writer thread and returns at once. The change is on disk when the returned [`PendingCommit`]
    /// yields its receipt. Queued changes share one sync; a change that fails does not fail the others.
    fn submit(&self, change: Change) -> PendingCommit;

    /// Submits changes whose caller waits for them next. Small changes may be committed on this thread, in one transaction,
    /// which saves two switches of threads; then each returned [`PendingCommit`] is ready. On a disk the call takes as long as a
    /// sync.
    fn submit_here(&self, changes: Vec<Change>) -> Vec<PendingCommit> {
        changes.into_iter().map(|change| self.submit(change)).collect()
    }

    /// Opens a view of the current moment, unaffected by later commits. Drop it soon: an open snapshot prevents
    /// emptying the write-ahead log.
    ///
    /// # Errors
    /// If the file cannot be read.
    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>>;

    /// Begins a transaction of several changes, each of which sees those before it. It waits for queued changes, and
    /// delays the writes of all other callers until it ends.
    ///
    /// # Errors
    /// If the file is read-only or locked, or this thread has an open transaction.
    fn begin(&self) -> Result<Arc<dyn Transaction>>;

    /// Returns the id of a server's database, the same under every URL; `None` for a file, which its path names.
    ///
    /// # Errors
    /// If the database cannot be read.
    fn database_id(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// Starts watching for commits of any process.
    ///
    /// # Errors
    /// If the file cannot be read.
    fn watch(&self) -> Result<Box<dyn Watch>>;

    /// Recomputes every hash and count and checks the file's structure. `progress` receives the number of nodes checked
    /// so far.
    ///
    /// # Errors
    /// If the file cannot be read at all. Problems inside a readable file are in the report.
    fn verify(&self, progress: &mut dyn FnMut(u64)) -> Result<VerifyReport>;

    /// Recomputes all derived data: counts of nodes and trees, the search index, session states.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn rebuild(&self) -> Result<RebuildReport>;

    /// Copies the store to a new file while other threads and processes keep writing. `progress` receives the pages
    /// copied and the total number of pages.
    ///
    /// # Errors
    /// If `to` exists or cannot be written.
    fn backup(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()>;

    /// Submits a change and blocks this thread until its receipt arrives.
    ///
    /// # Errors
    /// If the change is refused or cannot be written. [`StoreError`] names the two errors after which it may be written.
    fn commit(&self, change: Change) -> Result<Receipt> {
        self.submit_here(vec![change]).pop().map_or(Err(StoreError::Closed), PendingCommit::wait)
    }
}

/// A store inside an open transaction. A change is applied at once; a snapshot shows the changes so far, and no change is
/// accepted while it is open. All changes are one group of the journal, so they belong to one agent; purges and undos are
/// refused. If a change fails, everything is rolled back.
pub trait Transaction: Store {
    /// Ends the transaction: commits all its changes, or none. It has no effect after the end.
    ///
    /// # Errors
    /// If the changes cannot be committed. Nothing was changed then, unless a lost database server did not confirm the commit.
    fn end(&self, commit: bool) -> Result<()>;
}

/// A detector of commits. A check takes microseconds, whatever the size of the file, and reads no page of it.
pub trait Watch: Send {
    /// Returns whether anything was committed since the previous call, or since the watch began. Commits without a
    /// journal entry, such as a lease, count too.
    ///
    /// # Errors
    /// If the file cannot be read.
    fn has_changed(&mut self) -> Result<bool>;
}
