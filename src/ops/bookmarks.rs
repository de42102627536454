//! Bookmarks, and the exclusion of nodes from contexts.

use super::{Actor, Result};
use crate::{
    id::NodeId,
    store::{Mutation, Receipt},
    types::Op,
};

impl Actor {
    /// Bookmarks a node, or changes the label of its bookmark.
    ///
    /// # Errors
    /// If the node does not exist, or the store fails.
    pub fn bookmark(&self, node: NodeId, label: &str) -> Result<Receipt> {
        self.commit(Op::Bookmark, vec![Mutation::SetBookmark { node, label: Some(label.to_owned()) }])
    }

    /// Removes the bookmark of a node, if there is one.
    ///
    /// # Errors
    /// If the node does not exist, or the store fails.
    pub fn unbookmark(&self, node: NodeId) -> Result<Receipt> {
        self.commit(Op::Bookmark, vec![Mutation::SetBookmark { node, label: None }])
    }

    /// Excludes a node from contexts. It remains visible.
    ///
    /// # Errors
    /// If the node does not exist, or the store fails.
    pub fn exclude(&self, node: NodeId) -> Result<Receipt> {
        self.commit(Op::Exclude, vec![Mutation::SetExcluded { node, excluded: true }])
    }

    /// Includes an excluded node in contexts.
    ///
    /// # Errors
    /// If the node does not exist, or the store fails.
    pub fn include(&self, node: NodeId) -> Result<Receipt> {
        self.commit(Op::Include, vec![Mutation::SetExcluded { node, excluded: false }])
    }
}
