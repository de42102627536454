//! The visible node in whose place a pruned one is read: the position of a session at a pruned node.

use rusqlite::Connection;

use super::{
    tables::nodes::{self, Anchor},
    visibility::{original_of, place_of, version_read},
};
use crate::store::{Result, StoreError};

/// The node itself if it is visible, else its nearest visible ancestor.
pub(super) fn nearest_visible(conn: &Connection, row: i64) -> Result<Anchor> {
    let mut node = nodes::anchor(conn, row)?;
    // Each step leaves a pruned branch at its root, so the steps are as many as nested prunes.
    while let Some(by) = nodes::hidden_by(conn, node.row)? {
        let pruned = nodes::anchor(conn, by)?;
        // The nearest ancestor of a pruned version is its place.
        let above = match place_of(conn, pruned)? {
            Some(first) if nodes::hidden_by(conn, first)?.is_none() => Some(first),
            _ => pruned.parent,
        };
        let above = above.ok_or_else(|| StoreError::Undecodable("a root is pruned".to_owned()))?;
        node = nodes::anchor(conn, above)?;
    }
    Ok(node)
}

/// The node at which a session with these selected versions is: `row`, or above it in the version that is shown.
pub(super) fn visible_position(conn: &Connection, row: i64, versions: &[i64]) -> Result<i64> {
    let visible = nearest_visible(conn, row)?;
    if visible.row == row {
        return Ok(row);
    }
    version_read(conn, original_of(conn, visible)?.row, versions)
}
