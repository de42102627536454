//! Prune and restore: hide a branch, and show it again unchanged.

use super::{Actor, OpsError, Result};
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
        let pruned = self.loom.node(node)?;
        let parent = pruned.parent.map(|parent| self.loom.node(parent)).transpose()?;
        if let Some(outer) = parent.and_then(|parent| parent.state.hidden_by).filter(|outer| *outer != node) {
            let (inner, outer) = (pruned.local, self.loom.node(outer)?.local);
            return Err(OpsError::Invalid(format!(
                "[{inner}] is inside [{outer}], which is pruned; restore that first"
            )));
        }
        self.commit(Op::Restore, vec![Mutation::Restore { node }])
    }
}
