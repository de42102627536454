//! Reading of a path from its last node to the root, and the parts of visibility that reading needs.

use std::collections::HashMap;

use tokio_postgres::Row;

use super::{
    connection::PostgresConnection,
    decode::{self, FROM, NodeKey, PgNodeRow, STATE, get, int, opt_int},
    path_blocks::{BlockReader, PgPathRow},
    uuid::Uuid,
};
use crate::{
    id::{NodeId, TreeId},
    store::{Result, StoreError},
    types::EdgeKind,
};

/// The numbers that place a node in its tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct PgAnchor {
    pub(super) key: NodeKey,
    pub(super) parent: Option<i64>,
    pub(super) version_of: Option<i64>,
    pub(super) hidden_by: Option<i64>,
    /// The place of a version, which for the first half of a split is the split node.
    pub(super) place: Option<i64>,
}

const ANCHOR: &str = "SELECT n.tree, n.seq, n.parent, n.version_of, s.hidden_by,
    CASE WHEN n.kind = 6 THEN coalesce(n.version_of, n.edited_from) END";

fn read(row: &Row) -> Result<PgAnchor> {
    Ok(PgAnchor {
        key: NodeKey { tree: decode::id(row, 0, TreeId::from_bytes)?, seq: int(row, 1)? },
        parent: opt_int(row, 2)?,
        version_of: opt_int(row, 3)?,
        hidden_by: opt_int(row, 4)?,
        place: opt_int(row, 5)?,
    })
}

/// Finds a node by id.
pub(super) fn find(conn: &PostgresConnection, id: NodeId) -> Result<Option<PgAnchor>> {
    let row = conn.query_opt(&format!("{ANCHOR} {FROM} WHERE n.id = $1"), &[&Uuid(id.to_bytes())])?;
    row.as_ref().map(read).transpose()
}

/// Loads a node that must exist.
pub(super) fn anchor(conn: &PostgresConnection, key: NodeKey) -> Result<PgAnchor> {
    let sql = format!("{ANCHOR} {FROM} WHERE n.tree = $1 AND n.seq = $2");
    let row = conn.query_opt(&sql, &[&Uuid(key.tree.to_bytes()), &key.seq])?;
    row.as_ref().map_or_else(|| Err(missing(key.seq)), read)
}

pub(super) fn missing(seq: i64) -> StoreError {
    StoreError::Undecodable(format!("node {seq} is missing"))
}

/// The original of a place, which is the parent of all versions' continuations.
pub(super) fn original_of(conn: &PostgresConnection, mut node: PgAnchor) -> Result<PgAnchor> {
    while let Some(first) = node.version_of {
        node = anchor(conn, NodeKey { seq: first, ..node.key })?;
    }
    Ok(node)
}

/// Selects a version of a place: the one in `wanted`, else the newest visible one.
pub(super) fn version_read(conn: &PostgresConnection, place: NodeKey, wanted: &[i64]) -> Result<i64> {
    let versions = visible_versions(conn, place.tree, &[place.seq])?;
    Ok(choose(place.seq, versions.get(&place.seq).map_or(&[], Vec::as_slice), wanted))
}

pub(super) fn choose(place: i64, versions: &[i64], wanted: &[i64]) -> i64 {
    if wanted.contains(&place) {
        return place;
    }
    let chosen = versions.iter().find(|version| wanted.contains(version)).or(versions.first());
    chosen.copied().unwrap_or(place)
}

/// The visible versions of places, the newest first.
pub(super) fn visible_versions(
    conn: &PostgresConnection,
    tree: TreeId,
    places: &[i64],
) -> Result<HashMap<i64, Vec<i64>>> {
    let sql = format!(
        "SELECT n.version_of, n.seq {FROM} WHERE n.tree = $1 AND n.version_of = ANY($2) AND s.hidden_by IS NULL
         ORDER BY n.seq DESC"
    );
    let mut versions: HashMap<i64, Vec<i64>> = HashMap::new();
    for row in conn.query(&sql, &[&Uuid(tree.to_bytes()), &places])? {
        versions.entry(int(&row, 0)?).or_default().push(int(&row, 1)?);
    }
    Ok(versions)
}

/// Reads the path as rows, newest first.
pub(super) fn rows(conn: &PostgresConnection, to: NodeKey, versions: &[i64], limit: usize) -> Result<Vec<PgPathRow>> {
    let mut path: Vec<PgPathRow> = Vec::new();
    // Places whose version is already on the path. Versions of a root are its children, since a root has no parent, so
    // a path through one of them must skip the root.
    let mut read_already: Vec<i64> = Vec::new();
    // The next node, and whether it is requested itself regardless of the place's versions.
    let mut next = Some((to.seq, true));
    let mut blocks = BlockReader::new(conn, to.tree, versions);
    // The place whose version is read next, if it is itself no version.
    let mut place = None;
    while path.len() < limit
        && let Some((seq, meant)) = next
    {
        let at = blocks.locate(seq, limit - path.len())?;
        let Some(node) = blocks.node(at) else { return Err(missing(seq)) };
        let version_of = node.version_of;
        next = node.parent.map(|parent| (parent, false));
        if read_already.contains(&seq) {
            continue;
        }
        if node.node.state.versions > 0 && !meant {
            let read = blocks.version_read(seq)?;
            if read != seq {
                next = Some((read, true));
                place = version_of.is_none().then_some(seq);
                continue;
            }
        }
        if let Some(first) = version_of {
            let first = match place.take() {
                Some(place) if place == first => first,
                _ => original_of(conn, anchor(conn, NodeKey { seq: first, ..to })?)?.key.seq,
            };
            read_already.push(first);
        }
        path.extend(blocks.take(at));
        if let [.., child, node] = path.as_mut_slice()
            && !node.is_state_known
            && is_continuation(child, node.seq)
        {
            // A state that says more was read.
            node.set_continuations(1);
        }
    }
    read_states(conn, to.tree, &mut path)?;
    Ok(path)
}

/// True for a visible continuation of a visible node.
fn is_continuation(child: &PgNodeRow, of: i64) -> bool {
    child.parent == Some(of) && child.node.kind == EdgeKind::Continuation && child.hidden_by.is_none()
}

/// Reads the states that neither the blocks nor the path shows.
fn read_states(conn: &PostgresConnection, tree: TreeId, path: &mut [PgPathRow]) -> Result<()> {
    let mut unknown: HashMap<i64, &mut PgPathRow> =
        path.iter_mut().filter(|row| !row.is_state_known).map(|row| (row.seq, row)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let sql = format!("SELECT n.seq, {STATE} {FROM} WHERE n.tree = $1 AND n.seq = ANY($2)");
    let nodes: Vec<i64> = unknown.keys().copied().collect();
    for row in conn.query(&sql, &[&Uuid(tree.to_bytes()), &nodes])? {
        if let Some(node) = unknown.get_mut(&int(&row, 0)?) {
            node.set_state(&row, 1)?;
        }
    }
    Ok(())
}

/// Follows the newest visible continuations from a node and returns the last one.
pub(super) fn leaf(conn: &PostgresConnection, from: PgAnchor) -> Result<i64> {
    let at = original_of(conn, from)?;
    // The server walks: a tree may be a million nodes deep, and a round trip a step would take a minute.
    let sql = "WITH RECURSIVE down (seq) AS (
                   SELECT $2::bigint
                   UNION ALL
                   SELECT (SELECT n.seq FROM nodes n LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq
                           WHERE n.tree = $1 AND n.parent = down.seq AND n.kind = 0
                               AND (s.hidden_by IS NULL OR s.hidden_by = $3)
                           ORDER BY n.seq DESC LIMIT 1)
                   FROM down WHERE down.seq IS NOT NULL)
               SELECT max(seq) FROM down";
    let tree = Uuid(from.key.tree.to_bytes());
    let row = conn.query_one(sql, &[&tree, &at.key.seq, &from.hidden_by])?;
    let leaf: i64 = get(&row, 0)?;
    Ok(if leaf == at.key.seq { from.key.seq } else { leaf })
}
