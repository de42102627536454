//! Nodes that share text: copies of branches, edits and parts, and their originals.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};

use super::{
    decode::{FROM, NODE, NodeRow},
    tables::{received_turns, sessions, trees},
    ulid_cache::UlidCache,
    visibility::row_of,
};
use crate::{
    id::NodeId,
    store::{PurgeTarget, Result},
    types::Node,
};

/// The nodes outside of `target` that are a source or a copy of a node inside, in insertion order. Excludes purged
/// nodes. Reads every node once.
pub(super) fn list(conn: &Connection, target: PurgeTarget) -> Result<Vec<Node>> {
    let (inside, key) = match target {
        PurgeTarget::Node(id) => ("seq = ?1", row_of(conn, id)?.unwrap_or(0)),
        PurgeTarget::Session(id) => (received_turns::IN_SESSION, sessions::row(conn, id)?),
        PurgeTarget::Tree(id) => ("tree = ?1", trees::row(conn, id)?),
    };
    let is_inside = |row: i64| -> Result<bool> {
        Ok(conn
            .prepare_cached(&format!("SELECT 1 FROM nodes WHERE seq = ?2 AND {inside}"))?
            .exists(params![key, row])?)
    };
    let mut found = BTreeSet::new();
    for (made, from) in edits(conn)?.into_iter().chain(branch_copies(conn)?) {
        match (is_inside(made)?, is_inside(from)?) {
            (true, false) => found.insert(from),
            (false, true) => found.insert(made),
            _ => false,
        };
    }
    let mut statement =
        conn.prepare_cached(&format!("SELECT {NODE} {FROM} WHERE n.seq = ?1 AND n.purged_at IS NULL"))?;
    let mut rows = Vec::new();
    for row in found {
        rows.extend(statement.query_map([row], NodeRow::read)?.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    UlidCache::new(conn).finish(rows)
}

/// Pairs of an edit, version or part, and the node that it was made from.
fn edits(conn: &Connection) -> Result<Vec<(i64, i64)>> {
    let mut statement = conn.prepare_cached(
        "SELECT seq, edited_from FROM nodes WHERE edited_from IS NOT NULL
         UNION SELECT seq, version_of FROM nodes WHERE version_of IS NOT NULL",
    )?;
    Ok(statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<rusqlite::Result<_>>()?)
}

/// Pairs of a node in a copied branch and its original.
fn branch_copies(conn: &Connection) -> Result<Vec<(i64, i64)>> {
    let mut statement = conn.prepare_cached(
        "SELECT seq, json_extract(metadata, '$.copied_from') FROM nodes
         WHERE metadata LIKE '%\"copied_from\"%' AND json_valid(metadata)",
    )?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let from: Option<NodeId> = row.get_ref(1)?.as_str_or_null().unwrap_or_default().and_then(|id| id.parse().ok());
        if let Some(from) = from.map(|id| row_of(conn, id)).transpose()?.flatten() {
            found.push((row.get(0)?, from));
        }
    }
    Ok(found)
}
