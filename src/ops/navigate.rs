//! Reads of neighbouring nodes, on the path through the selected versions.

use super::{Loom, OpsError, Result, split_parts::parts_after};
use crate::{
    id::NodeId,
    store::{ChildFilter, Snapshot, StoreError},
    types::{EdgeKind, Node},
};

/// Checks that a node is not pruned: what is added to a pruned branch is hidden too.
///
/// # Errors
/// If the node is pruned.
pub fn require_visible(node: &Node) -> Result<()> {
    match node.state.hidden_by {
        None => Ok(()),
        Some(_) => Err(OpsError::Invalid(format!("[{}] is pruned; restore it first", node.local))),
    }
}

/// Checks that a node of a kind can be added under a node. A continuation needs a visible message: under a note or another
/// attached node it would be on no path.
///
/// # Errors
/// If the parent is pruned, or is no message and `kind` continues it.
pub fn require_parent(parent: &Node, kind: EdgeKind) -> Result<()> {
    require_visible(parent)?;
    match parent.kind {
        EdgeKind::Annotation | EdgeKind::Thought | EdgeKind::Tool if kind == EdgeKind::Continuation => Err(
            OpsError::Invalid(format!("[{}] is {}; write at the node that it belongs to", parent.local, parent.kind)),
        ),
        _ => Ok(()),
    }
}

/// Returns the version of an original node that a path through the selected versions has: the selected one, else the newest.
///
/// # Errors
/// If the store cannot be read.
pub fn selected_version(snapshot: &dyn Snapshot, place: &Node, selected: &[NodeId]) -> Result<Node, StoreError> {
    if place.state.versions == 0 {
        return Ok(place.clone());
    }
    let mut versions = snapshot.versions(place.id)?;
    let chosen = selected.iter().find_map(|id| versions.iter().position(|node| node.id == *id));
    let Some(at) = chosen.or(versions.len().checked_sub(1)) else { return Ok(place.clone()) };
    let mut chosen = versions.swap_remove(at);
    chosen.state.versions = place.state.versions;
    chosen.state.continuations = place.state.continuations;
    Ok(chosen)
}

impl Loom {
    /// Returns the node before `at` on the path through the selected versions; `None` for the root.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn parent_on_path(&self, at: &Node, versions: &[NodeId]) -> Result<Option<Node>> {
        let path = self.snapshot()?.path_back(at.id, versions, 2)?;
        Ok(path.into_iter().next().filter(|node| node.id != at.id))
    }

    /// Returns the version of a node that a path through the selected versions has: the node itself if it is a version.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn version_on_path(&self, node: &Node, versions: &[NodeId]) -> Result<Node> {
        match node.kind {
            EdgeKind::Continuation => Ok(selected_version(&*self.snapshot()?, node, versions)?),
            _ => Ok(node.clone()),
        }
    }

    /// Returns the root of a tree in the version that a path through the selected versions has.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn root_on_path(&self, root: NodeId, versions: &[NodeId]) -> Result<Node> {
        let snapshot = self.snapshot()?;
        let selected = selected_version(&*snapshot, &self.node(root)?, versions)?;
        // Earlier parts are before the selected one.
        let path = snapshot.path_back(selected.id, versions, 0)?;
        Ok(path.into_iter().next().unwrap_or(selected))
    }

    /// Returns the node that all versions of `node` share as their base: `node` itself if it is no version.
    pub(super) fn version_base(&self, node: &Node) -> Result<NodeId> {
        let mut place = (node.id, node.version_of);
        while let (_, Some(of)) = place {
            place = (of, self.node(of)?.version_of);
        }
        Ok(place.0)
    }

    /// Returns the next or previous continuation of the same parent, cyclically; `None` if there is no other.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn sibling(&self, at: &Node, next: bool) -> Result<Option<Node>> {
        let snapshot = self.snapshot()?;
        let place = snapshot.original(at)?;
        let Some(parent) = place.parent else { return Ok(None) };
        let siblings = snapshot.children(parent, &visible_continuations(0))?;
        let Some(index) = siblings.iter().position(|node| node.id == place.id) else { return Ok(None) };
        let step = if next { 1 } else { siblings.len() - 1 };
        Ok(siblings.get((index + step) % siblings.len()).filter(|node| node.id != place.id).cloned())
    }

    /// True if the node has more than one continuation.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn has_branches(&self, node: &Node) -> Result<bool> {
        Ok(self.snapshot()?.children(node.id, &visible_continuations(2))?.len() > 1)
    }

    /// Returns the leaf that the newest continuations lead to, in the version that a path through the selected versions
    /// has. It is `at` if nothing follows.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn leaf(&self, at: &Node, versions: &[NodeId]) -> Result<Node> {
        let (leaf, last_part) = {
            let snapshot = self.snapshot()?;
            let place = snapshot.original(at)?;
            let leaf = snapshot.leaf(place.id)?.filter(|leaf| leaf.id != place.id);
            (leaf, parts_after(&*snapshot, at, versions)?.pop())
        };
        match (leaf, last_part) {
            (Some(leaf), _) => self.version_on_path(&leaf, versions),
            (None, Some(part)) => Ok(part),
            (None, None) => self.version_on_path(at, versions),
        }
    }
}

fn visible_continuations(limit: u32) -> ChildFilter {
    ChildFilter { kind: Some(EdgeKind::Continuation), pruned: false, limit }
}
