//! Trees: made, renamed, put away.

use super::{Actor, NodeDraft, Result};
use crate::{
    id::TreeId,
    store::{Mutation, Receipt},
    types::{Mode, NewTree, Node, Op, Parent, Tree, TreePatch},
};

impl Actor {
    /// Makes a tree with its root. Without a title it goes by the root's first words.
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
        Ok((self.loom.tree(id)?, self.added(&receipt)?))
    }

    /// Changes a tree's title, description or system prompt.
    ///
    /// # Errors
    /// If the tree is not there, or the store fails.
    pub fn rename(&self, tree: TreeId, patch: TreePatch) -> Result<Receipt> {
        self.commit(Op::Rename, vec![Mutation::UpdateTree { tree, patch }])
    }

    /// Puts a tree away, out of lists; nothing in it changes.
    ///
    /// # Errors
    /// If the tree is not there, or the store fails.
    pub fn archive_tree(&self, tree: TreeId) -> Result<Receipt> {
        self.commit(Op::Archive, vec![Mutation::SetArchived { tree, archived: true }])
    }

    /// Takes a tree out again.
    ///
    /// # Errors
    /// If the tree is not there, or the store fails.
    pub fn unarchive_tree(&self, tree: TreeId) -> Result<Receipt> {
        self.commit(Op::Archive, vec![Mutation::SetArchived { tree, archived: false }])
    }
}
