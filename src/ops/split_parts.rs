//! Parts of a node that was split, in their order on a path. A part that was split again is replaced by its own parts.

use super::selected_version;
use crate::{
    id::NodeId,
    store::{Snapshot, StoreError},
    types::{EdgeKind, Node},
};

/// Parts of one split that are read at most.
const MAX_SPLIT_PARTS: u32 = 64;

/// Returns the parts of a split that follow one of them on a path through the selected versions; empty for other nodes and
/// for the last part. An edit of a part stands for it.
///
/// # Errors
/// If the store cannot be read.
pub fn parts_after(snapshot: &dyn Snapshot, part: &Node, selected: &[NodeId]) -> Result<Vec<Node>, StoreError> {
    if part.kind != EdgeKind::Version {
        return Ok(Vec::new());
    }
    let original = snapshot.original(part)?;
    let chosen = selected_version(snapshot, &original, selected)?;
    let selected: Vec<NodeId> = std::iter::once(part.id).chain(selected.iter().copied()).collect();
    let versions = snapshot.versions(original.id)?;
    // A last part is below another part: neither beside the original nor, as an edit of a root, below it.
    let is_below = |last: &&Node| last.parent != original.parent && last.parent != Some(original.id);
    for last in std::iter::once(&chosen).chain(versions.iter().rev()).filter(is_below) {
        let path = snapshot.path_back(last.id, &selected, MAX_SPLIT_PARTS)?;
        if let Some(at) = path.iter().position(|node| node.id == part.id).filter(|at| at + 1 < path.len()) {
            return Ok(path.into_iter().skip(at + 1).collect());
        }
    }
    Ok(Vec::new())
}

/// Returns the part that follows a node on a path through the selected versions: the next node of that path. `None` for the
/// last part, which the continuations of the original follow, and for other nodes.
///
/// # Errors
/// If the store cannot be read.
pub fn next_part(snapshot: &dyn Snapshot, part: &Node, selected: &[NodeId]) -> Result<Option<Node>, StoreError> {
    Ok(parts_after(snapshot, part, selected)?.into_iter().next())
}

/// Returns the parts of a split on a path through the selected versions, up to `part`; of other nodes the node alone.
///
/// # Errors
/// If the store cannot be read.
pub fn parts_to(snapshot: &dyn Snapshot, part: &Node, selected: &[NodeId]) -> Result<Vec<Node>, StoreError> {
    let original = snapshot.original(part)?.id;
    let mut path = snapshot.path_back(part.id, selected, MAX_SPLIT_PARTS)?;
    let mut begin = path.len().saturating_sub(1);
    while begin > 0 && path[begin - 1].kind == EdgeKind::Version && snapshot.original(&path[begin - 1])?.id == original
    {
        begin -= 1;
    }
    path.drain(..begin);
    Ok(path)
}
