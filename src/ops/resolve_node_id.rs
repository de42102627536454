//! Resolution of a node id that a user or model wrote: a local id, a prefix of one, or a ULID.

use super::{Loom, OpsError, Result};
use crate::{
    id::TreeId,
    store::{LocalIdLookup, TreeFilter},
    types::{Node, Tree},
};

/// Minimum characters of a local id that is looked for in other trees.
const MIN_FOREIGN_ID_CHARS: usize = 5;
/// Maximum number of trees in which a missing id is looked for.
const MAX_SEARCHED_TREES: u32 = 500;

impl Loom {
    /// Finds a node of a tree by its local id, a prefix of it, or its ULID.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] with the nearest local ids, or [`OpsError::Ambiguous`] with the candidates.
    pub fn find_node(&self, tree: TreeId, text: &str) -> Result<Node> {
        match self.snapshot()?.resolve(tree, text)? {
            LocalIdLookup::One(node) => Ok(*node),
            LocalIdLookup::Many(candidates) => Err(OpsError::Ambiguous { text: text.to_owned(), candidates }),
            LocalIdLookup::None(nearest) => Err(OpsError::NotFound {
                what: "node",
                text: text.to_owned(),
                similar: nearest.into_iter().map(String::from).collect(),
                known: Vec::new(),
            }),
        }
    }

    /// Finds a local id, or a prefix of one, that `tree` does not have: the node if exactly one of the most recently changed
    /// other trees has it. `is_visible` and `is_readable` limit the trees and nodes.
    pub(crate) fn find_elsewhere(
        &self,
        tree: TreeId,
        text: &str,
        is_visible: impl Fn(&Tree) -> bool,
        is_readable: impl Fn(&Node) -> bool,
    ) -> Result<Option<Node>> {
        if text.len() < MIN_FOREIGN_ID_CHARS {
            return Ok(None);
        }
        let snapshot = self.snapshot()?;
        let trees = snapshot.trees(TreeFilter { archived: true, limit: MAX_SEARCHED_TREES })?;
        let mut found = None;
        for other in trees.iter().filter(|other| other.id != tree && is_visible(other)) {
            // A ULID is found from every tree.
            if let LocalIdLookup::One(node) = snapshot.resolve(other.id, text)?
                && node.tree == other.id
                && is_readable(&node)
                && found.replace(*node).is_some()
            {
                return Ok(None);
            }
        }
        Ok(found)
    }
}
