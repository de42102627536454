//! Marks: bookmarks, and nodes that are kept out of contexts.

use super::{Actor, Result};
use crate::{
    id::NodeId,
    store::{Mutation, Receipt},
    types::Op,
};

impl Actor {
    /// Bookmarks a node, or changes its bookmark's label.
    ///
    /// # Errors
    /// If the node is not there, or the store fails.
    pub fn bookmark(&self, node: NodeId, label: &str) -> Result<Receipt> {
        self.commit(Op::Bookmark, vec![Mutation::SetBookmark { node, label: Some(label.to_owned()) }])
    }

    /// Takes a bookmark away; without one nothing happens.
    ///
    /// # Errors
    /// If the node is not there, or the store fails.
    pub fn unbookmark(&self, node: NodeId) -> Result<Receipt> {
        self.commit(Op::Bookmark, vec![Mutation::SetBookmark { node, label: None }])
    }

    /// Keeps a node out of contexts; it stays visible.
    ///
    /// # Errors
    /// If the node is not there, or the store fails.
    pub fn exclude(&self, node: NodeId) -> Result<Receipt> {
        self.commit(Op::Exclude, vec![Mutation::SetExcluded { node, excluded: true }])
    }

    /// Lets a node back into contexts.
    ///
    /// # Errors
    /// If the node is not there, or the store fails.
    pub fn include(&self, node: NodeId) -> Result<Receipt> {
        self.commit(Op::Include, vec![Mutation::SetExcluded { node, excluded: false }])
    }
}
