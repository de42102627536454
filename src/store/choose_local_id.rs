//! The choice of the local id of a new node, on every backend.
//!
//! A new node gets the shortest local id. If it is taken in the tree, the id grows by a character until it is free.

use super::{Result, StoreError};
use crate::{id::LocalId, types::NewNode};

/// Length of a derived local id that is free in its tree.
pub(super) const SHORTEST_LOCAL_ID: usize = 6;
/// Maximum length of a derived local id.
pub(super) const LONGEST_LOCAL_ID: usize = 16;

/// The local id that a new node gets if it is free in the tree.
pub(super) fn wanted_local_id(node: &NewNode) -> LocalId {
    node.local.clone().unwrap_or_else(|| LocalId::derive(node.id, SHORTEST_LOCAL_ID))
}

/// The next local id of a new node whose last one is taken. A given id is replaced by the derived one; if it is the derived
/// one already, it becomes longer.
pub(super) fn longer_local_id(node: &NewNode, taken: &LocalId) -> Result<LocalId> {
    let is_given = node.local.as_ref() == Some(taken) && *taken != LocalId::derive(node.id, SHORTEST_LOCAL_ID);
    let longer = if is_given { SHORTEST_LOCAL_ID } else { taken.len().max(SHORTEST_LOCAL_ID) + 1 };
    if longer > LONGEST_LOCAL_ID {
        return Err(StoreError::Conflict(format!("node {} exists already", node.id)));
    }
    Ok(LocalId::derive(node.id, longer))
}
