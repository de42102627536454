//! Statements of the table `bookmarks`: at most one for each node. `node_state.bookmarked` marks the nodes that have
//! one.

use rusqlite::{Connection, OptionalExtension, params};

use super::nodes;
use crate::{store::Result, types::Timestamp};

pub(in crate::store::sqlite) fn label(conn: &Connection, node: i64) -> Result<Option<String>> {
    Ok(conn
        .prepare_cached("SELECT label FROM bookmarks WHERE node = ?1")?
        .query_row([node], |r| r.get(0))
        .optional()?)
}

pub(in crate::store::sqlite) fn set(
    conn: &Connection,
    node: i64,
    tree: i64,
    label: Option<&str>,
    at: Timestamp,
) -> Result<()> {
    match label {
        Some(label) => conn.execute(
            "INSERT INTO bookmarks (node, tree, label, created_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (node) DO UPDATE SET label = excluded.label",
            params![node, tree, label, at.as_millis()],
        )?,
        None => conn.execute("DELETE FROM bookmarks WHERE node = ?1", [node])?,
    };
    nodes::ensure_state(conn, node)?;
    conn.execute("UPDATE node_state SET bookmarked = ?2 WHERE node = ?1", params![node, label.is_some()])?;
    Ok(())
}
