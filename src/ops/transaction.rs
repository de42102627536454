//! Transactions: several operations of an agent that are committed together and undone together.

use std::sync::Arc;

use super::{Actor, Loom, Result};
use crate::store::Transaction;

impl Actor {
    /// Runs several operations as one: all are committed or none, and one [`Actor::undo`] reverts them.
    ///
    /// `work` receives an actor of the transaction. Its operations and reads see the operations before them. If `work` or a
    /// change fails, nothing is changed. A purge, an undo and operations of another agent are refused. Other writers wait
    /// until `work` returns, so it must neither wait for a model nor use other actors of the same file to write.
    ///
    /// ```
    /// use loomtree::prelude::*;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let loom = session::open(folder.path().join("trees.db"))?;
    /// let owner = loom.actor(&loom.agent("owner")?);
    /// let (tree, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
    /// let scene = owner.transaction(|owner| {
    ///     let scene = owner.append(root.id, "At the harbour.")?.nodes[0].id;
    ///     owner.annotate(scene, "the dry voice")?;
    ///     owner.bookmark(scene, "opening")?;
    ///     Ok(scene)
    /// })?;
    /// assert_eq!(loom.node(scene)?.state.annotations, 1);
    /// owner.undo(Some(tree.id))?; // the node, the note and the bookmark
    /// assert!(loom.node(scene)?.state.hidden_by.is_some());
    /// # Ok::<(), loomtree::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error of `work`; or if the store is read-only, locked or already in a transaction of this thread, if a change
    /// failed although `work` ignored that, or if the commit fails.
    pub fn transaction<T>(&self, work: impl FnOnce(&Actor) -> Result<T>) -> Result<T> {
        let transaction = EndOnDrop(self.loom.store.begin()?);
        let store = Arc::clone(&transaction.0);
        let done = work(&Actor { loom: Loom { store, ..self.loom.clone() }, ..self.clone() })?;
        transaction.0.end(true)?;
        Ok(done)
    }
}

/// Rolls back unless the transaction has ended, also if `work` panics and a copy of its actor remains.
struct EndOnDrop(Arc<dyn Transaction>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        // A rollback returns no error.
        let _ = self.0.end(false);
    }
}
