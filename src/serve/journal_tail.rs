//! End of the journal: a thread looks for commits and reads their entries once, for all event streams.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    store::{JournalFilter, Store, StoreError},
    types::JournalEntry,
};

/// Interval at which the thread looks for commits of any process. A look costs microseconds and reads no page.
const COMMIT_POLL: Duration = Duration::from_millis(20);

/// Pause after an error, such as a lost connection.
const ERROR_PAUSE: Duration = Duration::from_secs(1);

/// Entries in memory at most. Streams read more from the store.
const MAX_ENTRIES: u64 = 1_024;

/// The newest entries of the journal.
#[derive(Clone, Default)]
pub(super) struct JournalTail {
    /// Sequence number of the last entry.
    pub(super) seq: u64,
    /// Sequence number before the first of `entries`.
    before: u64,
    /// Entries after `before`, oldest first, each with its JSON.
    entries: Arc<[(JournalEntry, String)]>,
}

impl JournalTail {
    /// Returns the entries after a sequence number; `None` if the tail does not reach back to it.
    pub(super) fn after(&self, seq: u64) -> Option<impl Iterator<Item = &(JournalEntry, String)>> {
        (seq >= self.before && !self.entries.is_empty())
            .then(|| self.entries.iter().filter(move |(entry, _)| entry.seq > seq))
    }

    /// Reads the tail after the entry `before`, without entries if there is no reader.
    fn read(store: &dyn Store, before: u64, has_readers: bool) -> Result<Self, StoreError> {
        let snapshot = store.snapshot()?;
        let seq = snapshot.last_seq()?;
        // After a burst, streams read the store page by page.
        let none = || Self { seq, before: seq, entries: Arc::default() };
        if !has_readers || seq <= before {
            return Ok(none());
        }
        let limit = u32::try_from(MAX_ENTRIES + 1).unwrap_or(u32::MAX);
        let filter =
            JournalFilter { before: seq + 1, after: before, oldest_first: true, limit, ..JournalFilter::default() };
        let entries = snapshot.journal(filter)?;
        if entries.len() as u64 > MAX_ENTRIES {
            return Ok(none());
        }
        let with_json = entries.into_iter().map(|entry| {
            let json = serde_json::to_string(&entry).unwrap_or_default();
            (entry, json)
        });
        Ok(Self { seq, before, entries: with_json.collect() })
    }
}

/// Spawns the thread, and returns the tail as it changes.
pub(super) fn watch_journal(
    store: Arc<dyn Store>,
    shutdown: CancellationToken,
) -> Result<watch::Receiver<JournalTail>, StoreError> {
    let mut commits = store.watch()?;
    let seq = store.snapshot()?.last_seq()?;
    let (sender, receiver) = watch::channel(JournalTail { seq, before: seq, ..JournalTail::default() });
    tokio::task::spawn_blocking(move || {
        // A change that could not be read is read at the next look.
        let mut is_unread = false;
        while !shutdown.is_cancelled() {
            std::thread::sleep(COMMIT_POLL);
            let last = sender.borrow().seq;
            // The server itself holds one receiver.
            let has_readers = sender.receiver_count() > 1;
            let read = || {
                is_unread |= commits.has_changed()?;
                let tail = is_unread.then(|| JournalTail::read(&*store, last, has_readers)).transpose()?;
                is_unread = false;
                Ok::<_, StoreError>(tail)
            };
            match { read }() {
                // Another number means new entries, or a file that was restored from a backup.
                Ok(Some(tail)) if tail.seq != last => _ = sender.send_replace(tail),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "the journal cannot be read");
                    std::thread::sleep(ERROR_PAUSE);
                }
            }
        }
    });
    Ok(receiver)
}
