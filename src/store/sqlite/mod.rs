//! The SQLite backend: a store in one file.
//!
//! The file uses WAL mode with `synchronous=FULL`: a commit is one sync of the log, and readers never wait for the
//! writer. One named thread owns the writing connection and commits all queued changes in one transaction ([`writer`]).
//! Reads run on the caller's thread with a pooled connection ([`pool`]), because passing a 5 µs query to another thread
//! would cost more than the query. All SQL is in this folder, each statement in the function that runs it.

mod apply;
mod apply_documents;
mod apply_leases;
mod apply_memory;
mod apply_nodes;
mod apply_sessions;
mod apply_todos;
mod apply_trees;
mod apply_unjournaled;
mod backup;
mod caller_thread_commit;
mod copy_branch;
mod decode;
mod error;
mod foreign_database;
mod fts_index;
mod fts_query;
mod insert;
mod job_queue;
mod local_ids;
mod migrate;
mod open;
mod path;
mod pool;
mod prepared_change;
mod private_file;
mod purge;
mod purge_rewrite;
mod quick_check;
mod rebuild;
mod recount;
mod resolve_local_id;
mod row_checksums;
mod search_filter;
mod search_reader;
mod searched_text;
mod session_figures;
mod session_state;
mod shared_text;
mod sibling_page;
mod sidecar_files;
mod snapshot;
mod staged_change;
mod staged_copy;
mod staged_visibility;
mod tables;
mod transaction;
#[cfg(feature = "postgres")]
mod transfer_target;
mod tree_shape;
mod ulid_cache;
mod undo;
mod vectors;
mod verify;
mod visibility;
mod visible_position;
mod watch;
mod write_lock;
mod writer;
mod writer_cache;

use std::{path::Path, sync::Arc};

use tokio::sync::oneshot;

pub use self::foreign_database::{ForeignDatabase, ForeignQuery, RowFilter};
pub use self::sidecar_files::{count_bytes, migration_copies, sidecar_files};
use self::{pool::ConnectionPool, transaction::SqliteTransaction, writer::WriterHandle};
#[cfg(feature = "postgres")]
pub(super) use self::{
    row_checksums::summed_columns,
    tables::token_calibration::{HALVING_TOKENS, MAX_RATIO},
    transfer_target::{finish_copy, open_copy},
};
use super::{
    Change, Inspection, MAX_RECEIPT_POLLS, OpenOptions, PendingCommit, RebuildReport, Result, Snapshot, Store,
    Transaction, VerifyReport, Watch,
};

pub(super) fn open(path: &Path, options: &OpenOptions) -> Result<SqliteStore> {
    open::open(path, options)
}

pub(super) fn inspect(path: &Path, options: &OpenOptions) -> Result<Inspection> {
    quick_check::inspect(path, options)
}

/// A store in one SQLite file. Dropping it waits until the writer thread has committed all queued changes.
#[derive(Debug)]
pub struct SqliteStore {
    // Dropped first: the connection that closes last empties the log into the file, and readers cannot write.
    pool: ConnectionPool,
    writer: WriterHandle,
}

impl Store for SqliteStore {
    fn submit(&self, change: Change) -> PendingCommit {
        let (reply, receipt) = oneshot::channel();
        let work = self.writer.submit(change, reply);
        PendingCommit { receipt, shared: work.map(|work| work as _), polls: MAX_RECEIPT_POLLS }
    }

    fn submit_here(&self, changes: Vec<Change>) -> Vec<PendingCommit> {
        match self.writer.commit_here(changes) {
            Ok(results) => results.into_iter().map(PendingCommit::ready).collect(),
            Err(changes) => changes.into_iter().map(|change| self.submit(change)).collect(),
        }
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
