//! The SQLite backend: a store in one file.
//!
//! The file uses WAL mode with `synchronous=FULL`: a commit is one sync of the log, and readers never wait for the
//! writer. One named thread owns the writing connection and commits all queued changes in one transaction ([`writer`]).
//! Reads run on the caller's thread with a pooled connection ([`pool`]), because passing a 5 µs query to another thread
//! would cost more than the query. All SQL is in this folder, each statement in the function that runs it.

mod apply;
mod apply_documents;
mod apply_memory;
mod apply_nodes;
mod apply_plans;
mod apply_sessions;
mod apply_turns;
mod backup;
mod cache;
mod copies;
mod copy;
mod decode;
mod error;
mod foreign;
mod fts_index;
mod fts_query;
mod insert;
mod inspect;
mod migrate;
mod open;
mod path;
mod pool;
mod prepared_change;
mod purge;
mod rebuild;
mod recount;
mod row_sums;
mod scrub;
mod search_filter;
mod searched_text;
mod session_figures;
mod session_state;
mod sibling_page;
mod sidecar;
mod snapshot;
mod staged_change;
mod staged_copy;
mod staged_retag;
mod tables;
mod transaction;
mod tree_shape;
mod undo;
mod vectors;
mod verify;
mod visibility;
mod watch;
mod writer;

use std::{path::Path, sync::Arc, time::Duration};

use tokio::sync::oneshot;

pub use self::foreign::{ForeignDatabase, ForeignQuery, RowFilter};
pub use self::sidecar::{count_bytes, migration_copies, sidecar_files};
use self::{pool::ConnectionPool, transaction::SqliteTransaction, writer::WriterHandle};
use super::{Change, Inspection, Pending, RebuildReport, Result, Snapshot, Store, Transaction, VerifyReport, Watch};
use crate::{
    id::IdSource,
    session_state::{CompiledRules, ExtractionRules},
    types::Clock,
};

/// Options for opening a database. The host provides the clock and the ids.
///
/// ```
/// use std::sync::Arc;
///
/// use loomtree::{id::RandomIds, ops::Loom, store::OpenOptions, types::{FixedClock, Timestamp}};
///
/// // A test: a fixed clock and seeded ids give the same file each time.
/// let folder = tempfile::tempdir()?;
/// let clock = Arc::new(FixedClock::at(Timestamp::from_millis(0)));
/// let ids = Arc::new(RandomIds::seeded(7));
/// let store = OpenOptions::new(clock.clone(), ids.clone()).open(folder.path().join("trees.db"))?;
/// let loom = Loom::new(Arc::new(store), clock, ids);
/// assert_eq!(loom.now(), Timestamp::from_millis(0));
/// # Ok::<(), loomtree::Error>(())
/// ```
#[derive(Clone)]
pub struct OpenOptions {
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    wait: Duration,
    create: bool,
    read_only: bool,
    page_limit: Option<u32>,
    rules: Arc<CompiledRules>,
}

impl OpenOptions {
    /// Creates the default options: read and write, create a missing file, wait up to 10 s for other processes.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self {
            clock,
            ids,
            wait: Duration::from_secs(10),
            create: true,
            read_only: false,
            page_limit: None,
            rules: Arc::default(),
        }
    }

    /// Sets the time that a commit or a read waits for other processes before it fails with
    /// [`super::StoreError::Busy`].
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Sets whether a missing file is created.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Opens read-only: commits fail with [`super::StoreError::ReadOnly`]. A file of an older version is refused, since
    /// it cannot be migrated.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Limits the file to this many pages of 4,096 bytes; commits beyond fail with [`super::StoreError::Full`].
    #[must_use]
    pub fn page_limit(mut self, pages: u32) -> Self {
        self.page_limit = Some(pages);
        self
    }

    /// Sets the rules that extract session states. A state written under other rules is not compared with the archive
    /// by [`super::Store::verify`].
    #[must_use]
    pub fn register_rules(mut self, rules: ExtractionRules) -> Self {
        self.rules = Arc::new(CompiledRules::new(rules));
        self
    }

    /// Opens the file, migrates it if needed (after a backup next to it), and starts the writer thread.
    ///
    /// # Errors
    /// If the file is not a loomtree database, is newer than this build, cannot be written, or stays locked.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<SqliteStore> {
        open::open(path.as_ref(), self)
    }

    /// Returns the schema version and the result of a quick check. The file is neither written nor migrated.
    ///
    /// # Errors
    /// If the file is missing, is not a loomtree database, is newer than this build, cannot be read, or stays locked.
    pub fn inspect(&self, path: impl AsRef<Path>) -> Result<Inspection> {
        inspect::inspect(path.as_ref(), self)
    }
}

/// A store in one SQLite file. Dropping it waits until the writer thread has committed all queued changes.
#[derive(Debug)]
pub struct SqliteStore {
    // Dropped first: the connection that closes last empties the log into the file, and readers cannot write.
    pool: ConnectionPool,
    writer: WriterHandle,
}

impl Store for SqliteStore {
    fn submit(&self, change: Change) -> Pending {
        let (reply, receipt) = oneshot::channel();
        let work = self.writer.submit(change, reply);
        Pending { receipt, shared: work.map(|work| work as _) }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(snapshot::SqliteSnapshot::begin(&self.pool)?))
    }

    fn begin(&self) -> Result<Arc<dyn Transaction>> {
        Ok(Arc::new(SqliteTransaction::new(self.writer.borrow()?)))
    }

    fn watch(&self) -> Result<Box<dyn Watch>> {
        Ok(Box::new(watch::SqliteWatch::begin(&self.pool)?))
    }

    fn verify(&self, progress: &mut dyn FnMut(u64)) -> Result<VerifyReport> {
        verify::verify(&self.pool, progress)
    }

    fn rebuild(&self) -> Result<RebuildReport> {
        let rules = Arc::clone(self.pool.rules());
        self.writer.run(move |conn| rebuild::rebuild(conn, &rules))
    }

    fn backup(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        backup::backup(&self.pool, to, progress)
    }
}
