//! Statements of the table `staged_nodes`: ranges of row numbers whose nodes belong to unfinished copies.

use rusqlite::{Connection, params};

use crate::{id::NodeId, store::Result};

/// SQL condition: the node `n` does not belong to an unfinished copy. The ranges are disjoint, so only the last range
/// that starts at or below the node is read.
pub(in crate::store::sqlite) const UNSTAGED: &str =
    "n.seq > ifnull((SELECT g.last FROM staged_nodes g WHERE g.first <= n.seq ORDER BY g.first DESC LIMIT 1), 0)";

/// Adds nodes to a copy. A range that continues the copy's last one extends it.
pub(in crate::store::sqlite) fn add(conn: &Connection, copy: NodeId, nodes: [i64; 2], after: u64) -> Result<()> {
    let [first, last] = nodes;
    let extended = conn
        .prepare_cached("UPDATE staged_nodes SET last = ?3 WHERE copy = ?1 AND last = ?2 - 1")?
        .execute(params![copy.to_bytes(), first, last])?;
    if extended == 0 {
        conn.execute("INSERT INTO staged_nodes VALUES (?1, ?2, ?3, ?4)", params![first, last, copy.to_bytes(), after])?;
    }
    Ok(())
}

/// The unfinished copies of all processes.
pub(in crate::store::sqlite) fn copies(conn: &Connection) -> Result<Vec<NodeId>> {
    let mut statement = conn.prepare_cached("SELECT DISTINCT copy FROM staged_nodes")?;
    let copies = statement.query_map([], |r| r.get(0).map(NodeId::from_bytes))?.collect::<rusqlite::Result<_>>()?;
    Ok(copies)
}

/// The number of nodes of a copy.
pub(in crate::store::sqlite) fn count(conn: &Connection, copy: NodeId) -> Result<u64> {
    Ok(conn
        .prepare_cached("SELECT ifnull(sum(last - first + 1), 0) FROM staged_nodes WHERE copy = ?1")?
        .query_row([copy.to_bytes()], |r| r.get(0))?)
}

/// The last range of a copy and the journal's last entry when the copy began.
pub(in crate::store::sqlite) fn last_range(conn: &Connection, copy: NodeId) -> Result<Option<([i64; 2], u64)>> {
    let mut statement =
        conn.prepare_cached("SELECT first, last, after FROM staged_nodes WHERE copy = ?1 ORDER BY first DESC LIMIT 1")?;
    let mut rows = statement.query([copy.to_bytes()])?;
    Ok(match rows.next()? {
        Some(row) => Some(([row.get(0)?, row.get(1)?], row.get(2)?)),
        None => None,
    })
}

/// Removes the nodes from `first` on from their range.
pub(in crate::store::sqlite) fn cut(conn: &Connection, range: [i64; 2], first: i64) -> Result<()> {
    match range[0] == first {
        true => conn.execute("DELETE FROM staged_nodes WHERE first = ?1", [first])?,
        false => conn.execute("UPDATE staged_nodes SET last = ?2 - 1 WHERE first = ?1", [range[0], first])?,
    };
    Ok(())
}

/// Ends a copy: its nodes become visible.
pub(in crate::store::sqlite) fn publish(conn: &Connection, copy: NodeId) -> Result<()> {
    conn.execute("DELETE FROM staged_nodes WHERE copy = ?1", [copy.to_bytes()])?;
    Ok(())
}
