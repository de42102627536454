//! The conversations of a tree that are exported: all, the bookmarked ones, or one.

use super::tree_export::TreeExport;
use crate::{id::NodeId, interchange::InterchangeError, ops::selected_version, types::EdgeKind};

/// Conversations of a tree to export, each given by its last node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeafChoice {
    /// Every leaf.
    #[default]
    All,
    /// Every bookmarked node. One that another's path contains is left out.
    Bookmarked,
    /// This node.
    One(NodeId),
}

impl TreeExport<'_> {
    /// Returns the last node of each conversation to export.
    pub(super) fn leaves(&mut self) -> Result<Vec<NodeId>, InterchangeError> {
        Ok(match self.options.leaves {
            LeafChoice::One(node) => vec![node],
            LeafChoice::Bookmarked => self.bookmarked()?,
            LeafChoice::All => {
                let hidden = self.snapshot.pruned(self.tree.id)?.len() as u64;
                if !self.options.pruned {
                    self.report.leave_out("pruned branches", hidden);
                }
                let is_pruned_included = self.options.pruned;
                let snapshot = self.snapshot;
                let mut leaves = Vec::new();
                self.each_node(&mut |_, node| {
                    let is_leaf = node.kind == EdgeKind::Continuation && node.state.continuations == 0;
                    if is_leaf && (node.state.hidden_by.is_none() || is_pruned_included) {
                        leaves.push(selected_version(snapshot, &node, &[])?.id);
                    }
                    Ok(())
                })?;
                leaves
            }
        })
    }

    /// Returns the bookmarked nodes that no path of another one contains.
    fn bookmarked(&mut self) -> Result<Vec<NodeId>, InterchangeError> {
        let marked = self.snapshot.bookmarks(self.tree.id)?;
        let mut contained = std::collections::BTreeSet::new();
        for node in &marked {
            let path = self.snapshot.path_back(node.id, &[], 0)?;
            contained.extend(path.iter().filter(|other| other.id != node.id).map(|other| other.id));
        }
        let (inside, outer): (Vec<NodeId>, Vec<NodeId>) =
            marked.iter().map(|node| node.id).partition(|id| contained.contains(id));
        self.report.leave_out("bookmarks on the path of another one", inside.len() as u64);
        Ok(outer)
    }
}
