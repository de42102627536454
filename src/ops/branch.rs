//! Copy and move of a branch to another node, in the same or another tree. A move is a copy and a prune, so the
//! original branch can be restored.

use super::{Actor, OpsError, Result};
use crate::{
    id::NodeId,
    store::{Mutation, Receipt},
    types::Op,
};

impl Actor {
    /// Copies a node and its visible descendants under `to`. The first node of the receipt is the copy.
    ///
    /// # Errors
    /// If a node does not exist, or the store fails.
    pub fn copy_branch(&self, from: NodeId, to: NodeId) -> Result<Receipt> {
        self.commit(Op::Copy, vec![Mutation::CopyBranch { from, to, id: self.loom.node_id() }])
    }

    /// Moves a node and its visible descendants under `to`: copies them, and prunes the original.
    ///
    /// # Errors
    /// If `to` is inside the branch, `from` is a root or already a child of `to`, or the store fails.
    pub fn move_branch(&self, from: NodeId, to: NodeId) -> Result<Receipt> {
        let node = self.loom.node(from)?;
        if node.parent == Some(to) {
            return Err(OpsError::Invalid(format!("[{}] is already a child of that node", node.local)));
        }
        // A version stands for its original on the path.
        let place = self.loom.version_base(&node)?;
        let path = self.loom.snapshot()?.path_back(to, &[], 0)?;
        let inside = path.iter().any(|n| n.id == from || n.id == place || n.version_of == Some(place));
        if inside {
            return Err(OpsError::Invalid(format!("[{}] cannot be moved into its own branch", node.local)));
        }
        // Of an edited passage all versions go.
        let id = self.loom.node_id();
        self.commit(Op::Move, vec![Mutation::CopyBranch { from, to, id }, Mutation::Prune { node: place }])
    }
}
