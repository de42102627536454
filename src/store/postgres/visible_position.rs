//! The visible node in whose place a pruned one is read: the position of a session at a pruned node.

use super::{
    connection::PostgresConnection,
    decode::NodeKey,
    path::{anchor, find, original_of, version_read},
};
use crate::{
    id::NodeId,
    store::{Result, StoreError},
};

/// The node at which a session with these selected versions is: the node itself if it is visible, else the nearest one above
/// it in the version that is shown.
pub(super) fn visible_position(conn: &PostgresConnection, key: NodeKey, versions: &[NodeId]) -> Result<NodeKey> {
    let visible = nearest_visible(conn, key)?;
    if visible.seq == key.seq {
        return Ok(visible);
    }
    let mut wanted = Vec::with_capacity(versions.len());
    for version in versions {
        wanted.extend(find(conn, *version)?.map(|version| version.key.seq));
    }
    let place = original_of(conn, anchor(conn, visible)?)?;
    Ok(NodeKey { seq: version_read(conn, place.key, &wanted)?, ..key })
}

/// The node itself if it is visible, else its nearest visible ancestor.
pub(super) fn nearest_visible(conn: &PostgresConnection, key: NodeKey) -> Result<NodeKey> {
    let mut node = anchor(conn, key)?;
    // Each step leaves a pruned branch at its root, so the steps are as many as nested prunes.
    while let Some(by) = node.hidden_by {
        let pruned = anchor(conn, NodeKey { seq: by, ..key })?;
        // The nearest ancestor of a pruned version is its place.
        let place = pruned.place.map(|first| anchor(conn, NodeKey { seq: first, ..key })).transpose()?;
        let above = match place {
            Some(first) if first.hidden_by.is_none() => Some(first.key.seq),
            _ => pruned.parent,
        };
        let seq = above.ok_or_else(|| StoreError::Undecodable("a root is pruned".to_owned()))?;
        node = anchor(conn, NodeKey { seq, ..key })?;
    }
    Ok(node.key)
}
