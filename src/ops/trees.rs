//! Operations on trees: create, rename, archive.

use super::{Actor, NodeDraft, Result};
use crate::{
    id::TreeId,
    store::{Mutation, Receipt},
    types::{Mode, NewTree, Node, Op, Parent, Tree, TreePatch},
};

impl Actor {
    /// Creates a tree with its root. Without a title it uses the first words of the root.
    ///
    /// # Errors
    /// If the store fails.
    pub fn create_tree(
        &self,
        title: Option<String>,
        mode: Mode,
        system_context: Option<String>,
        root: NodeDraft,
    ) -> Result<(Tree, Node)> {
        let tree = NewTree {
            id: self.loom.tree_id(),
            title,
            description: None,
            mode,
            system_context,
            created_at: self.loom.now(),
        };
        let id = tree.id;
        let root = self.draft(Parent::Root(id), root);
        let receipt =
            self.commit(Op::CreateTree, vec![Mutation::CreateTree(tree), Mutation::Append(Box::new(root))])?;
        Ok((self.loom.tree(id)?, self.first_node(&receipt)?))
    }

    /// Changes a tree's title, description or system prompt.
    ///
    /// # Errors
    /// If the tree does not exist, or the store fails.
    pub fn rename(&self, tree: TreeId, patch: TreePatch) -> Result<Receipt> {
        self.commit(Op::Rename, vec![Mutation::UpdateTree { tree, patch }])
    }

    /// Archives a tree: lists omit it. Its content does not change.
    ///
    /// # Errors
    /// If the tree does not exist, or the store fails.
    pub fn archive_tree(&self, tree: TreeId) -> Result<Receipt> {
        self.commit(Op::Archive, vec![Mutation::SetArchived { tree, archived: true }])
    }

    /// Unarchives a tree: lists include it again.
    ///
    /// # Errors
    /// If the tree does not exist, or the store fails.
    pub fn unarchive_tree(&self, tree: TreeId) -> Result<Receipt> {
        self.commit(Op::Archive, vec![Mutation::SetArchived { tree, archived: false }])
    }
}
