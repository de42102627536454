//! Reading of a path from its last node to the root.

use rusqlite::Connection;

use super::{
    decode::{DESCENDING, NodeRow, States},
    tables::nodes::anchor,
    visibility::{self, version_read},
};
use crate::store::{Result, StoreError};

/// Maximum initial capacity of a path: the depth in a damaged file may be any number.
const MAX_CAPACITY: usize = 16_384;

/// Reads the path as rows, newest first.
///
/// A node's parent was usually inserted just before it, so the table is scanned in descending order. Where the next row
/// is not the parent, a new scan starts at the parent.
pub(super) fn rows(conn: &Connection, to: i64, versions: &[i64], limit: usize) -> Result<Vec<NodeRow>> {
    let mut path: Vec<NodeRow> = Vec::new();
    // Places whose version is already on the path. Versions of a root are its children, since a root has no parent, so
    // a path through one of them must skip the root.
    let mut read_already: Vec<i64> = Vec::new();
    // The next node, and whether it is requested itself regardless of the place's versions.
    let mut next = Some((to, true));
    let mut statement = conn.prepare_cached(DESCENDING)?;
    let mut states = States::new(conn)?;
    while path.len() < limit
        && let Some((start, _)) = next
    {
        let mut rows = statement.query([start])?;
        while path.len() < limit
            && let Some((wanted, meant)) = next
        {
            let Some(row) = rows.next()? else { break };
            if row.get::<_, i64>(0)? != wanted {
                if wanted == start {
                    return Err(StoreError::Undecodable(format!("node {wanted} is missing")));
                }
                break;
            }
            let mut node = NodeRow::read_stateless(row)?;
            if path.is_empty() {
                path.reserve_exact(limit.min(node.node.depth as usize + 1).min(MAX_CAPACITY));
            }
            states.put(&mut node)?;
            next = node.parent.map(|parent| (parent, false));
            if read_already.contains(&node.row) {
                continue;
            }
            if node.node.state.versions > 0 && !meant {
                let read = version_read(conn, node.row, versions)?;
                if read != node.row {
                    next = Some((read, true));
                    break;
                }
            }
            if node.version_of.is_some() {
                read_already.push(visibility::common(conn, anchor(conn, node.row)?)?.row);
            }
            path.push(node);
        }
    }
    Ok(path)
}
