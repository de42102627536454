//! Copy and move: a branch under another node, in the same or another tree. A move is a copy and a prune, so the
//! branch stays findable where it was.

use super::{Actor, OpsError, Result};
use crate::{
    id::NodeId,
    store::{Mutation, Receipt},
    types::Op,
};

impl Actor {
    /// Copies a node and what is visible below it under `to`. The receipt's first node is the copy.
    ///
    /// # Errors
    /// If one of them is not there, or the store fails.
    pub fn copy_branch(&self, from: NodeId, to: NodeId) -> Result<Receipt> {
        self.commit(Op::Copy, vec![Mutation::CopyBranch { from, to, id: self.loom.node_id() }])
    }

    /// Moves a node and what is visible below it under `to`: copies it there, and prunes it here.
    ///
    /// # Errors
    /// If `to` is inside the branch, `from` is the root or hangs on `to` already, or the store fails.
    pub fn move_branch(&self, from: NodeId, to: NodeId) -> Result<Receipt> {
        let node = self.loom.node(from)?;
        if node.parent == Some(to) {
            return Err(OpsError::Invalid(format!("[{}] is there already", node.local)));
        }
        let inside = self.loom.snapshot()?.path_back(to, &[], 0)?.iter().any(|n| n.id == from);
        if inside {
            return Err(OpsError::Invalid(format!("[{}] cannot be moved into its own branch", node.local)));
        }
        let id = self.loom.node_id();
        self.commit(Op::Move, vec![Mutation::CopyBranch { from, to, id }, Mutation::Prune { node: from }])
    }
}
