//! Prune and restore: a branch is hidden, and shown again exactly as it was.

use super::{Actor, Result};
use crate::{
    id::NodeId,
    store::{Mutation, Receipt},
    types::Op,
};

impl Actor {
    /// Hides a node and what hangs on it. The receipt says how many nodes that were.
    ///
    /// # Errors
    /// If it is the root or pruned already, or the store fails.
    pub fn prune(&self, node: NodeId) -> Result<Receipt> {
        self.commit(Op::Prune, vec![Mutation::Prune { node }])
    }

    /// Shows what pruning this node hid; a branch that was pruned earlier inside it stays pruned.
    ///
    /// # Errors
    /// If it is not pruned, or was pruned with a node above it, or the store fails.
    pub fn restore(&self, node: NodeId) -> Result<Receipt> {
        self.commit(Op::Restore, vec![Mutation::Restore { node }])
    }
}
