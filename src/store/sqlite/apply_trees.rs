//! Application of mutations of trees.

use super::{
    apply::{Applied, AppliedMutation, ChangeApplier, unsupported},
    tables::trees,
};
use crate::store::{ChangeKind, Mutation, Result};

impl ChangeApplier<'_> {
    pub(super) fn apply_tree(&mut self, mutation: &Mutation) -> Result<Applied> {
        let at = self.change.at;
        Ok(match mutation {
            Mutation::CreateTree(tree) => {
                let row = trees::insert(self.conn, tree)?;
                self.cache.trees.insert(tree.id, row);
                let undo = Mutation::SetArchived { tree: tree.id, archived: true };
                (ChangeKind::CreateTree, Some(AppliedMutation::new(Some(row), None, Some(undo))))
            }
            Mutation::UpdateTree { tree, patch } => {
                let row = self.tree_row(*tree)?;
                let before = trees::update(self.conn, row, patch)?;
                let changed = before != *patch;
                let undo = Mutation::UpdateTree { tree: *tree, patch: before };
                (ChangeKind::UpdateTree, changed.then(|| AppliedMutation::new(Some(row), None, Some(undo))))
            }
            Mutation::SetArchived { tree, archived } => {
                let row = self.tree_row(*tree)?;
                let changed = trees::set_archived(self.conn, row, *archived, at)?;
                let undo = Mutation::SetArchived { tree: *tree, archived: !archived };
                (ChangeKind::SetArchived, changed.then(|| AppliedMutation::new(Some(row), None, Some(undo))))
            }
            _ => return Err(unsupported()),
        })
    }
}
