//! Reader of the journal in order, for streams of what all processes commit.

use std::{time::Duration, vec};

use super::{Loom, Result};
use crate::{
    store::{JournalFilter, Watch},
    types::JournalEntry,
};

/// Maximum number of entries in one query.
const PAGE_ENTRIES: u32 = 256;

/// The journal's entries after a position, oldest first. No entry is lost or repeated.
pub struct JournalFollower {
    loom: Loom,
    /// `None` before the first read and after an error.
    watch: Option<Box<dyn Watch>>,
    after: u64,
    page: vec::IntoIter<JournalEntry>,
    /// True if there may be entries that no commit announces: at the start, and after a full page.
    has_more: bool,
}

impl JournalFollower {
    /// Interval of the reads of a caller that waits for an entry. A read without a commit takes microseconds and reads no
    /// page of the file.
    pub const POLL_INTERVAL: Duration = Duration::from_millis(20);

    /// Follows the journal after a position: 0 for all, or the `seq` of an entry or a receipt.
    #[must_use]
    pub fn new(loom: Loom, after: u64) -> Self {
        Self { loom, watch: None, after, page: Vec::new().into_iter(), has_more: true }
    }

    /// Takes the next entry of those that were read; `None` after the last.
    pub fn take(&mut self) -> Option<JournalEntry> {
        let entry = self.page.next()?;
        self.after = entry.seq;
        Some(entry)
    }

    /// Returns whether there may be entries that no commit announces, so that a read need not wait.
    #[must_use]
    pub const fn has_more(&self) -> bool {
        self.has_more
    }

    /// Reads the next entries, at most 256, if anything was committed since the last read. Call it when [`take`](Self::take)
    /// returned `None`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn read(&mut self) -> Result<()> {
        let mut watch = match self.watch.take() {
            Some(watch) => watch,
            None => {
                // A new watch reports no earlier commit.
                self.has_more = true;
                self.loom.store.watch()?
            }
        };
        // The check comes before the read, so that a commit between both is not missed.
        if watch.has_changed()? || self.has_more {
            let filter = JournalFilter::default().after(self.after).oldest_first(true).limit(PAGE_ENTRIES);
            let page = self.loom.snapshot()?.journal(filter)?;
            self.has_more = page.len() == PAGE_ENTRIES as usize;
            self.page = page.into_iter();
        }
        self.watch = Some(watch);
        Ok(())
    }
}
