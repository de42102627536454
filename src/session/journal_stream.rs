//! A stream of committed changes, for applications that show what other agents and processes write.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::{Stream, StreamExt as _, stream};

use crate::{
    ops::{JournalFollower, Loom, Result},
    types::JournalEntry,
};

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
        let follower = JournalFollower::new(self.clone(), after);
        Changes(Box::pin(stream::unfold(Some((self.clone(), follower)), |state| async {
            let (loom, mut follower) = state?;
            loop {
                if let Some(entry) = follower.take() {
                    return Some((Ok(entry), Some((loom, follower))));
                }
                if !follower.has_more() {
                    tokio::time::sleep(JournalFollower::POLL_INTERVAL).await;
                }
                match loom.run(move |_| follower.read().map(|()| follower)).await {
                    Ok(read) => follower = read,
                    Err(error) => return Some((Err(error), None)),
                }
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
