//! A stream of committed changes, for applications that show what other agents and processes write.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
    vec,
};

use futures_util::{Stream, StreamExt as _, stream};

use crate::{
    ops::{Loom, Result},
    store::{JournalFilter, Watch},
    types::JournalEntry,
};

/// Interval of the checks for commits. A check takes microseconds and reads no page of the file.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum number of entries in one query.
const PAGE_ENTRIES: u64 = 256;

/// The journal's entries after a position, oldest first, as a [`Stream`] that waits for further commits of any process. It
/// ends after an error; [`Loom::changes`] continues after the last entry.
pub struct Changes(Pin<Box<dyn Stream<Item = Result<JournalEntry>> + Send>>);

impl Loom {
    /// Returns the changes after a position in the journal: 0 for all, or the `seq` of an entry or a receipt.
    ///
    /// No change is lost or repeated, and a new change arrives within about 20 ms. Changes without a journal entry, such as
    /// leases, are not part of the stream.
    ///
    /// ```
    /// use loomtree::prelude::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> loomtree::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let loom = session::open(folder.path().join("trees.db"))?;
    /// let owner = loom.actor(&loom.agent("owner")?);
    /// let (_, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
    /// let mut changes = loom.changes(loom.snapshot()?.last_seq()?);
    /// let receipt = owner.append(root.id, "At the harbour.")?;
    /// let change = changes.next().await.transpose()?;
    /// assert_eq!(change.and_then(|change| change.node), Some(receipt.nodes[0].id));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn changes(&self, after: u64) -> Changes {
        let follower = Follower { loom: self.clone(), watch: None, after, page: Vec::new().into_iter(), full: true };
        Changes(Box::pin(stream::unfold(Some(follower), |follower| async {
            let mut follower = follower?;
            match follower.next().await {
                Ok(entry) => Some((Ok(entry), Some(follower))),
                Err(error) => Some((Err(error), None)),
            }
        })))
    }
}

impl Changes {
    /// Waits for the next change; `None` after an error. Dropping the future loses no change.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn next(&mut self) -> Option<Result<JournalEntry>> {
        self.0.next().await
    }
}

impl Stream for Changes {
    type Item = Result<JournalEntry>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context)
    }
}

struct Follower {
    loom: Loom,
    /// `None` before the first read.
    watch: Option<Box<dyn Watch>>,
    after: u64,
    page: vec::IntoIter<JournalEntry>,
    /// True if there may be entries that no commit announces: at the start, and after a full page.
    full: bool,
}

impl Follower {
    async fn next(&mut self) -> Result<JournalEntry> {
        loop {
            if let Some(entry) = self.page.next() {
                self.after = entry.seq;
                return Ok(entry);
            }
            if !self.full {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            let (watch, after, full) = (self.watch.take(), self.after, self.full);
            let (watch, page) = self.loom.run(move |loom| read_page(loom, watch, after, full)).await?;
            self.full = page.len() as u64 == PAGE_ENTRIES;
            (self.watch, self.page) = (Some(watch), page.into_iter());
        }
    }
}

/// Reads the entries after a position if anything was committed since the last call. The watch begins before the read, so
/// that a commit between both is not missed.
fn read_page(
    loom: &Loom,
    watch: Option<Box<dyn Watch>>,
    after: u64,
    full: bool,
) -> Result<(Box<dyn Watch>, Vec<JournalEntry>)> {
    let mut watch = watch.map_or_else(|| loom.store().watch(), Ok)?;
    if !watch.has_changed()? && !full {
        return Ok((watch, Vec::new()));
    }
    let limit = u32::try_from(PAGE_ENTRIES).unwrap_or(u32::MAX);
    let filter = JournalFilter { after, limit, oldest_first: true, ..JournalFilter::default() };
    Ok((watch, loom.snapshot()?.journal(filter)?))
}
