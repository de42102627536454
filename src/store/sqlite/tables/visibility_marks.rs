//! Statements of the table `retags`: the meaning of negative marks in `node_state.hidden_by`, which branches have while
//! they are pruned or restored in slices.

use rusqlite::{Connection, params};

use crate::{id::NodeId, store::Result};

/// SQL expression for the node that hides the node of a row of `node_state`; NULL if the node is visible.
macro_rules! hidden_by {
    ($state:literal) => {
        concat!(
            "CASE WHEN ",
            $state,
            ".hidden_by < 0 THEN (SELECT r.hidden_by FROM retags r WHERE r.mark = ",
            $state,
            ".hidden_by) ELSE ",
            $state,
            ".hidden_by END"
        )
    };
}
pub(in crate::store::sqlite) use hidden_by;

/// The expression of [`hidden_by!`] for the state `s`.
pub(in crate::store::sqlite) const HIDDEN_BY: &str = concat!("(", hidden_by!("s"), ")");

/// Adds a mark that stands for `hidden_by`. Returns it.
pub(in crate::store::sqlite) fn add(conn: &Connection, root: NodeId, hidden_by: Option<i64>) -> Result<i64> {
    let mark = conn.query_row("SELECT ifnull(min(mark), 0) - 1 FROM retags", [], |r| r.get(0))?;
    conn.execute("INSERT INTO retags VALUES (?1, ?2, ?3)", params![mark, hidden_by, root.to_bytes()])?;
    Ok(mark)
}

/// Changes the meaning of a mark, and so the visibility of all nodes that have it. Returns `false` if there is no such mark.
pub(in crate::store::sqlite) fn set(conn: &Connection, mark: i64, hidden_by: Option<i64>) -> Result<bool> {
    Ok(conn.execute("UPDATE retags SET hidden_by = ?2 WHERE mark = ?1", params![mark, hidden_by])? > 0)
}

/// True if a node has the mark.
pub(in crate::store::sqlite) fn is_set(conn: &Connection, mark: i64, node: i64) -> Result<bool> {
    let mut statement = conn.prepare_cached("SELECT 1 FROM node_state WHERE node = ?1 AND hidden_by = ?2")?;
    Ok(statement.exists([node, mark])?)
}

/// The marks of all processes, each with the root of its branch.
pub(in crate::store::sqlite) fn all(conn: &Connection) -> Result<Vec<(i64, NodeId)>> {
    let mut statement = conn.prepare_cached("SELECT mark, root FROM retags")?;
    let marks = statement.query_map([], |r| Ok((r.get(0)?, NodeId::from_bytes(r.get(1)?))))?;
    Ok(marks.collect::<rusqlite::Result<_>>()?)
}

/// Replaces a mark by its meaning in the states from `first` to `last`.
pub(in crate::store::sqlite) fn replace(
    conn: &Connection,
    mark: i64,
    root: NodeId,
    [first, last]: [i64; 2],
) -> Result<()> {
    conn.prepare_cached(
        "UPDATE node_state SET hidden_by = r.hidden_by FROM retags r
         WHERE r.mark = ?1 AND r.root = ?2 AND node BETWEEN ?3 AND ?4 AND node_state.hidden_by = r.mark",
    )?
    .execute(params![mark, root.to_bytes(), first, last])?;
    Ok(())
}

/// Removes a mark that no node has.
pub(in crate::store::sqlite) fn remove(conn: &Connection, mark: i64, root: NodeId) -> Result<()> {
    conn.execute("DELETE FROM retags WHERE mark = ?1 AND root = ?2", params![mark, root.to_bytes()])?;
    Ok(())
}

/// True if a node has a mark that stands for nothing.
pub(in crate::store::sqlite) fn has_unknown(conn: &Connection) -> Result<bool> {
    Ok(conn
        .prepare("SELECT 1 FROM node_state WHERE hidden_by < 0 AND hidden_by NOT IN (SELECT mark FROM retags)")?
        .exists([])?)
}
