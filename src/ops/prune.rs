//! Prune and restore: hide a branch, and show it again unchanged.

use super::{Actor, Result};
use crate::{
    id::NodeId,
    store::{Mutation, Receipt},
    types::Op,
};

impl Actor {
    /// Hides a node and its descendants. The receipt has their number.
    ///
    /// # Errors
    /// If the node is a root or already pruned, or the store fails.
    pub fn prune(&self, node: NodeId) -> Result<Receipt> {
        self.commit(Op::Prune, vec![Mutation::Prune { node }])
    }

    /// Shows the nodes that pruning this node hid. A branch inside it that was pruned before remains pruned.
    ///
    /// # Errors
    /// If the node is not pruned, or is hidden by a pruned ancestor, or the store fails.
    pub fn restore(&self, node: NodeId) -> Result<Receipt> {
        self.commit(Op::Restore, vec![Mutation::Restore { node }])
    }
}
