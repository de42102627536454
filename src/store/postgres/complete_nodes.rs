//! Ids and counts of nodes that their rows do not hold.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use tokio_postgres::Row;

use super::{
    connection::PostgresConnection,
    decode::{NodeKey, PgNodeRow, get, id, int, small},
    path_blocks::PgPathRow,
    uuid::Uuid,
};
use crate::{
    id::{NodeId, TreeId},
    store::{Result, StoreError},
    types::Node,
};

/// Decodes rows of [`super::decode::NODE`] as complete nodes.
pub(super) fn nodes(conn: &PostgresConnection, rows: &[Row]) -> Result<Vec<Node>> {
    finish(conn, rows.iter().map(PgNodeRow::read).collect::<Result<_>>()?)
}

/// Fills in the ids and counts that rows do not hold. Nodes among `rows` are not looked up again; the others of all rows
/// together, by one query for each kind.
pub(super) fn finish(conn: &PostgresConnection, mut rows: Vec<PgNodeRow>) -> Result<Vec<Node>> {
    fill(conn, &mut rows.iter_mut().collect::<Vec<_>>())?;
    Ok(rows.into_iter().map(|row| row.node).collect())
}

/// The same for rows of which the newest is first; returns the oldest node first.
pub(super) fn finish_reversed(conn: &PostgresConnection, mut rows: Vec<PgPathRow>) -> Result<Vec<Node>> {
    fill(conn, &mut rows.iter_mut().map(|row| &mut **row).collect::<Vec<_>>())?;
    Ok(rows.into_iter().rev().map(|row| row.node).collect())
}

fn fill(conn: &PostgresConnection, rows: &mut [&mut PgNodeRow]) -> Result<()> {
    // On most paths these are few.
    let mut open = Vec::new();
    for at in 0..rows.len() {
        rows[at].node.parent = parent_beside(rows, at);
        if is_open(rows[at]) {
            open.push(at);
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    let ids = referenced(conn, rows, &open)?;
    let find = |key: NodeKey| {
        ids.get(&key).copied().flatten().ok_or_else(|| StoreError::Undecodable(format!("node {} is missing", key.seq)))
    };
    for at in open {
        let r = &mut *rows[at];
        let tree = r.node.tree;
        let name = |seq: Option<i64>| seq.map(|seq| find(NodeKey { tree, seq })).transpose();
        if r.node.parent.is_none() {
            r.node.parent = name(r.parent)?;
        }
        r.node.edited_from = name(r.edited_from)?;
        r.node.version_of = name(r.version_of)?;
        r.node.state.hidden_by = name(r.hidden_by)?;
    }
    versions(conn, rows)?;
    bookmarks(conn, rows)
}

/// True if a row refers to nodes that are not beside it, or has versions or a bookmark.
fn is_open(row: &PgNodeRow) -> bool {
    row.node.parent.is_none() && row.parent.is_some()
        || row.edited_from.or(row.version_of).or(row.hidden_by).is_some()
        || row.node.state.versions > 0
        || row.bookmarked
}

/// The id of a row's parent in the row before or after: on a path, nearly all parents are there.
fn parent_beside(rows: &[&mut PgNodeRow], at: usize) -> Option<NodeId> {
    let parent = rows[at].parent?;
    let is_parent = |other: &&&mut PgNodeRow| other.seq == parent && other.node.tree == rows[at].node.tree;
    let beside = [rows.get(at + 1), at.checked_sub(1).and_then(|before| rows.get(before))];
    beside.into_iter().flatten().find(is_parent).map(|other| other.node.id)
}

/// The ids of the nodes that some rows refer to, without parents beside them.
fn referenced(
    conn: &PostgresConnection,
    rows: &[&mut PgNodeRow],
    open: &[usize],
) -> Result<HashMap<NodeKey, Option<NodeId>, RandomState>> {
    let mut ids: HashMap<NodeKey, Option<NodeId>, RandomState> = HashMap::default();
    for r in open.iter().map(|at| &rows[*at]) {
        let parent = r.parent.filter(|_| r.node.parent.is_none());
        let named = [parent, r.edited_from, r.version_of, r.hidden_by];
        ids.extend(named.into_iter().flatten().map(|seq| (r.key(seq), None)));
    }
    if ids.is_empty() {
        return Ok(ids);
    }
    for r in rows {
        if let Some(id) = ids.get_mut(&r.key(r.seq)) {
            *id = Some(r.node.id);
        }
    }
    let missing: Vec<NodeKey> = ids.iter().filter(|(_, id)| id.is_none()).map(|(key, _)| *key).collect();
    if !missing.is_empty() {
        let (trees, seqs) = columns(&missing);
        let sql = "SELECT n.tree, n.seq, n.id FROM unnest($1::uuid[], $2::bigint[]) w (tree, seq)
                       JOIN nodes n ON n.tree = w.tree AND n.seq = w.seq";
        for row in conn.query(sql, &[&trees, &seqs])? {
            let key = NodeKey { tree: id(&row, 0, TreeId::from_bytes)?, seq: int(&row, 1)? };
            ids.insert(key, Some(id(&row, 2, NodeId::from_bytes)?));
        }
    }
    Ok(ids)
}

/// Splits keys into columns for `unnest`.
pub(super) fn columns(keys: &[NodeKey]) -> (Vec<Uuid>, Vec<i64>) {
    keys.iter().map(|key| (Uuid(key.tree.to_bytes()), key.seq)).unzip()
}

/// Counts the versions of places that have the same visibility. The state's own count includes all versions ever added, and
/// selects the places that need this query.
fn versions(conn: &PostgresConnection, rows: &mut [&mut PgNodeRow]) -> Result<()> {
    let wanted: Vec<NodeKey> = rows.iter().filter(|r| r.node.state.versions > 0).map(|r| r.key(r.seq)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let (trees, seqs) = columns(&wanted);
    let sql = "SELECT w.tree, w.seq, count(n.seq)
               FROM unnest($1::uuid[], $2::bigint[]) w (tree, seq)
                   LEFT JOIN node_state p ON p.tree = w.tree AND p.node = w.seq
                   JOIN nodes n ON n.tree = w.tree AND n.version_of = w.seq AND n.kind = 6
                   LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq
               WHERE s.hidden_by IS NOT DISTINCT FROM p.hidden_by GROUP BY w.tree, w.seq";
    let mut counts = HashMap::new();
    for row in conn.query(sql, &[&trees, &seqs])? {
        let key = NodeKey { tree: id(&row, 0, TreeId::from_bytes)?, seq: int(&row, 1)? };
        counts.insert(key, small(&row, 2)?);
    }
    for r in rows.iter_mut().filter(|r| r.node.state.versions > 0) {
        r.node.state.versions = counts.get(&r.key(r.seq)).copied().unwrap_or(0);
    }
    Ok(())
}

/// Fills in the labels of bookmarks.
fn bookmarks(conn: &PostgresConnection, rows: &mut [&mut PgNodeRow]) -> Result<()> {
    let wanted: Vec<NodeKey> = rows.iter().filter(|r| r.bookmarked).map(|r| r.key(r.seq)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let (trees, seqs) = columns(&wanted);
    let sql = "SELECT b.tree, b.node, b.label FROM unnest($1::uuid[], $2::bigint[]) w (tree, seq)
                   JOIN bookmarks b ON b.tree = w.tree AND b.node = w.seq";
    let mut labels = HashMap::new();
    for row in conn.query(sql, &[&trees, &seqs])? {
        let key = NodeKey { tree: id(&row, 0, TreeId::from_bytes)?, seq: int(&row, 1)? };
        labels.insert(key, get::<String>(&row, 2)?);
    }
    for r in rows.iter_mut().filter(|r| r.bookmarked) {
        r.node.state.bookmark = labels.remove(&r.key(r.seq));
    }
    Ok(())
}
