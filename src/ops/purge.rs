//! Purge: content removed for good. The only operation that cannot be undone.

use super::{Actor, Result};
use crate::{
    store::{Mutation, PurgeTarget, Receipt},
    types::Op,
};

impl Actor {
    /// Removes the content of a node, a session's nodes, or a tree, and every trace of it in the file. Tombstones keep
    /// their place and hash. Copies made elsewhere (backups, exports, copied branches) are not touched.
    ///
    /// # Errors
    /// If there is nothing to purge, or readers kept the file from being written anew.
    pub fn purge(&self, target: PurgeTarget) -> Result<Receipt> {
        self.commit(Op::Purge, vec![Mutation::Purge(target)])
    }
}
