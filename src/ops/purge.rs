//! Purge: permanent removal of content. It is the only operation that cannot be undone.

use super::{Actor, Result};
use crate::{
    store::{Mutation, PurgeTarget, Receipt},
    types::Op,
};

impl Actor {
    /// Removes the content of a node, of a session's nodes, or of a tree, with all traces of it in the file.
    ///
    /// Tombstones remain, with their hashes. Copies (backups, exports, copied branches) are not changed.
    ///
    /// # Errors
    /// If the target does not exist, a node is purged already, or open readers prevent the rewrite of the file.
    pub fn purge(&self, target: PurgeTarget) -> Result<Receipt> {
        self.commit(Op::Purge, vec![Mutation::Purge(target)])
    }
}
