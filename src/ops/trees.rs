//! Operations on trees: create, rename, archive.

use super::{Actor, NodeDraft, Result};
use crate::{
    id::TreeId,
    store::{Mutation, Receipt},
    types::{AuthorType, Mode, NewTree, Node, Op, Parent, Timestamp, Tree, TreePatch},
};

/// Root and properties of a tree to be created.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TreeDraft {
    /// First node of the tree.
    pub root: NodeDraft,
    /// Kind of the tree; a dialogue by default.
    pub mode: Mode,
    /// Title; `None`: the first words of the root, or of the first message after an empty root.
    pub title: Option<String>,
    /// Description for readers.
    pub description: Option<String>,
    /// System prompt that every model receives first.
    pub system_context: Option<String>,
}

impl TreeDraft {
    /// Creates a draft of a dialogue that begins with this node.
    #[must_use]
    pub fn new(root: impl Into<NodeDraft>) -> Self {
        Self { root: root.into(), mode: Mode::Dialogue, title: None, description: None, system_context: None }
    }

    /// Creates a draft of a tree with the kind, title, description and system prompt of another, which begins with this
    /// system message.
    pub(super) fn successor_of(tree: Tree, system: String) -> Self {
        Self {
            root: NodeDraft { author_type: Some(AuthorType::System), ..NodeDraft::text(system) },
            mode: tree.mode,
            title: tree.titled.then_some(tree.title),
            description: tree.description,
            system_context: tree.system_context,
        }
    }

    /// Returns the tree to be created, and the draft of its root.
    #[must_use]
    pub(crate) fn into_parts(self, id: TreeId, created_at: Timestamp) -> (NewTree, NodeDraft) {
        let Self { root, mode, title, description, system_context } = self;
        (NewTree { id, title, description, mode, system_context, created_at }, root)
    }

    /// Sets the kind of the tree.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the title.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system_context(mut self, prompt: impl Into<String>) -> Self {
        self.system_context = Some(prompt.into());
        self
    }
}

impl Actor {
    /// Creates a tree and returns it with its root.
    ///
    /// # Errors
    /// If the store fails.
    pub fn create_tree(&self, draft: TreeDraft) -> Result<(Tree, Node)> {
        let id = self.loom.tree_id();
        let (tree, root) = draft.into_parts(id, self.loom.now());
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
