//! Asynchronous calls of the synchronous library.

use std::{future, panic};

use tokio::task;

use crate::ops::{Actor, Loom};

impl Loom {
    /// Runs reads on a thread for blocking work of the current tokio runtime. Dropping the future does not stop `read`.
    ///
    /// ```
    /// use loomtree::prelude::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> loomtree::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let loom = session::open(folder.path().join("trees.db"))?;
    /// let titles = loom.run(|loom| -> loomtree::Result<Vec<String>> {
    ///     let trees = loom.snapshot()?.trees(TreeFilter::default())?;
    ///     Ok(trees.into_iter().map(|tree| tree.title).collect())
    /// });
    /// assert!(titles.await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// Outside of a tokio runtime, or if `read` panics.
    pub async fn run<T: Send + 'static>(&self, read: impl FnOnce(&Loom) -> T + Send + 'static) -> T {
        let loom = self.clone();
        run_blocking(move || read(&loom)).await
    }
}

impl Actor {
    /// Runs operations on a thread for blocking work of the current tokio runtime: the asynchronous form of every
    /// operation. Dropping the future does not stop `work`.
    ///
    /// ```
    /// use loomtree::prelude::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> loomtree::Result<()> {
    /// # let folder = tempfile::tempdir()?;
    /// # let loom = session::open(folder.path().join("trees.db"))?;
    /// let owner = loom.actor(&loom.agent("owner")?);
    /// let (_, root) = owner.run(|owner| owner.create_tree(TreeDraft::new("Where could it begin?"))).await?;
    /// let receipt = owner.run(move |owner| owner.append(root.id, "At the harbour.")).await?;
    /// assert_eq!(receipt.nodes.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// Outside of a tokio runtime, or if `work` panics.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce(&Actor) -> T + Send + 'static) -> T {
        let actor = self.clone();
        run_blocking(move || work(&actor)).await
    }
}

async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => panic::resume_unwind(panic),
            // The runtime shuts down and drops this future.
            Err(_) => future::pending().await,
        },
    }
}
