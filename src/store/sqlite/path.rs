//! A path read from its end upwards.

use rusqlite::Connection;

use super::{
    decode::{NodeRow, States, WORDS},
    tables::nodes::anchor,
    visibility::{self, version_read},
};
use crate::store::{Result, StoreError};

/// Rows that a path is given room for at once, at the most: a damaged depth may be any number.
const ROOM: usize = 16_384;

/// The path as rows, the newest first.
///
/// A node's parent was usually added just before it, so the table is scanned downwards for as long as that is so,
/// and the scan begins anew at the parent where it is not.
pub(super) fn rows(conn: &Connection, to: i64, versions: &[i64], limit: usize) -> Result<Vec<NodeRow>> {
    let mut path: Vec<NodeRow> = Vec::new();
    // The places that versions on the path are read in. Versions of a root hang below it, since nothing is above:
    // a path that comes from one to that root passes over it, for it has been read.
    let mut read_already: Vec<i64> = Vec::new();
    // The node to be read next, and whether it is meant itself, whatever versions its place has.
    let mut next = Some((to, true));
    let mut statement = conn.prepare_cached(WORDS)?;
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
            let mut node = NodeRow::words(row)?;
            if path.is_empty() {
                path.reserve_exact(limit.min(node.node.depth as usize + 1).min(ROOM));
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
