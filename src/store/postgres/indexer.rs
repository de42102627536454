//! The indexer: a named thread that indexes the words of committed nodes beside the writer, with a connection of its own.

use std::{
    sync::mpsc::{self, SyncSender, TrySendError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{
    connection::PostgresConnection,
    fts_index::{count_unindexed, index_missing},
    writer::WriteConnection,
};
use crate::store::{
    Result, StoreError,
    word_postings::{MAX_UNINDEXED_BYTES, MAX_UNINDEXED_NODES},
};

/// The writer waits for the indexer when this many times as much is not indexed as makes a batch due: a search reads it.
const LONGEST_LAG: usize = 8;

/// While much is appended, the thread waits for this many due batches, so that fewer rows of words hold more nodes each, but
/// not longer than [`LONGEST_PAUSE`] after the batch before.
const GATHERED: usize = LONGEST_LAG / 2;
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// The thread that indexes, started when a batch is due for the first time.
pub(super) struct PgIndexer {
    /// The thread's connection until it starts.
    connection: Option<WriteConnection>,
    thread: Option<(SyncSender<()>, JoinHandle<()>)>,
    /// Nodes and bytes of text that this process appended since it last woke the thread; at first, those that are not
    /// indexed in the database.
    nodes: usize,
    bytes: usize,
    is_counted: bool,
}

impl PgIndexer {
    pub(super) const fn new(connection: WriteConnection) -> Self {
        Self { connection: Some(connection), thread: None, nodes: 0, bytes: 0, is_counted: false }
    }

    /// Counts committed nodes and the bytes of their texts, and lets the thread index them if there are enough. The first
    /// call with nodes also counts those that processes before this one left.
    pub(super) fn add(&mut self, conn: &PostgresConnection, nodes: usize, bytes: usize) -> Result<()> {
        if nodes > 0 && !self.is_counted {
            (self.nodes, self.bytes) = count_unindexed(conn)?;
            self.is_counted = true;
        } else {
            self.nodes += nodes;
            self.bytes += bytes;
        }
        let is_due =
            |times: usize| self.nodes >= MAX_UNINDEXED_NODES * times || self.bytes >= MAX_UNINDEXED_BYTES * times;
        if !is_due(1) {
            return Ok(());
        }
        let must_wait = is_due(LONGEST_LAG);
        let due = self.start()?;
        let is_woken = match due.try_send(()) {
            Err(TrySendError::Full(())) if must_wait => due.send(()).is_ok(),
            woken => woken.is_ok(),
        };
        if is_woken {
            (self.nodes, self.bytes) = (0, 0);
        }
        Ok(())
    }

    fn start(&mut self) -> Result<&SyncSender<()>> {
        if let Some(mut connection) = self.connection.take() {
            // One batch may be due while another one is indexed.
            let (due, is_due) = mpsc::sync_channel(1);
            let run = move || {
                let mut last: Option<Instant> = None;
                while is_due.recv().is_ok() {
                    for _ in 1..GATHERED {
                        let since = last.map_or(LONGEST_PAUSE, |last| last.elapsed());
                        if is_due.recv_timeout(LONGEST_PAUSE.saturating_sub(since)).is_err() {
                            break;
                        }
                    }
                    // Another server may be at it; a failure is left to the next time.
                    let indexed = connection.conn().and_then(|conn| index_missing(conn, " SKIP LOCKED"));
                    if let Err(error) = indexed {
                        tracing::debug!(%error, "indexing");
                    }
                    last = Some(Instant::now());
                }
            };
            let thread = thread::Builder::new().name("loomtree-indexer".to_owned()).spawn(run);
            self.thread = Some((due, thread?));
        }
        self.thread.as_ref().map(|(due, _)| due).ok_or(StoreError::Closed)
    }
}

impl Drop for PgIndexer {
    fn drop(&mut self) {
        if let Some((due, thread)) = self.thread.take() {
            drop(due);
            // The thread does not panic; if it did, no caller is left to report to.
            let _ = thread.join();
        }
    }
}
