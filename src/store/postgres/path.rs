//! Reading of a path from its last node to the root, and the parts of visibility that reading needs.

use std::cmp::Reverse;

use super::{
    connection::{PostgresConnection, statement},
    decode::{self, FROM, NODE, NODE_ALONE, NodeKey, PgNodeRow, STATE, STATE_ARRAYS, get, int, opt_int},
    uuid::Uuid,
};
use crate::{
    id::{NodeId, TreeId},
    store::{Result, StoreError},
};

/// Rows of the first block.
const FIRST_BLOCK: i64 = 64;
/// Maximum number of rows of a block.
const MAX_BLOCK: i64 = 16_384;
/// Growth of blocks. While one is read, neither side does anything else, so few are better.
const BLOCK_GROWTH: i64 = 16;

/// The numbers that place a node in its tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct PgAnchor {
    pub(super) key: NodeKey,
    pub(super) parent: Option<i64>,
    pub(super) version_of: Option<i64>,
    pub(super) hidden_by: Option<i64>,
    /// The place of a version, which for the first half of a split is the split node.
    place: Option<i64>,
}

const ANCHOR: &str = "SELECT n.tree, n.seq, n.parent, n.version_of, s.hidden_by,
    CASE WHEN n.kind = 6 THEN coalesce(n.version_of, n.edited_from) END";

fn read(row: &tokio_postgres::Row) -> Result<PgAnchor> {
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

fn missing(seq: i64) -> StoreError {
    StoreError::Undecodable(format!("node {seq} is missing"))
}

/// The original of a place, which is the parent of all versions' continuations.
pub(super) fn common(conn: &PostgresConnection, mut node: PgAnchor) -> Result<PgAnchor> {
    while let Some(first) = node.version_of {
        node = anchor(conn, NodeKey { seq: first, ..node.key })?;
    }
    Ok(node)
}

/// The node at which a session with these selected versions is: the node itself if it is visible, else the nearest one above
/// it in the version that is shown.
pub(super) fn shown_position(conn: &PostgresConnection, key: NodeKey, versions: &[NodeId]) -> Result<NodeKey> {
    let visible = nearest_visible(conn, key)?;
    if visible.seq == key.seq {
        return Ok(visible);
    }
    let mut wanted = Vec::with_capacity(versions.len());
    for version in versions {
        wanted.extend(find(conn, *version)?.map(|version| version.key.seq));
    }
    let place = common(conn, anchor(conn, visible)?)?;
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

/// Selects a version of a place: the one in `wanted`, else the newest visible one.
fn version_read(conn: &PostgresConnection, place: NodeKey, wanted: &[i64]) -> Result<i64> {
    if wanted.contains(&place.seq) {
        return Ok(place.seq);
    }
    let sql = format!(
        "SELECT n.seq {FROM} WHERE n.tree = $1 AND n.version_of = $2 AND s.hidden_by IS NULL ORDER BY n.seq DESC"
    );
    let rows = conn.query(&sql, &[&Uuid(place.tree.to_bytes()), &place.seq])?;
    let versions = rows.iter().map(|row| int(row, 0)).collect::<Result<Vec<_>>>()?;
    let chosen = versions.iter().find(|version| wanted.contains(version)).or(versions.first());
    Ok(chosen.copied().unwrap_or(place.seq))
}

/// Reads nodes of a path in blocks. A node's parent was usually inserted just before it in its tree, so a block is the rows
/// below a number. Where most rows of a block lie beside the path, the ancestors are followed one by one in the server.
struct BlockReader<'c> {
    conn: &'c PostgresConnection,
    tree: TreeId,
    /// Rows of the current block by number, the newest first; `None` for those that were taken.
    rows: Vec<(i64, Option<PgNodeRow>)>,
    size: i64,
    /// Nodes taken from the current block.
    taken: i64,
    /// Depth of the node that was taken last.
    depth: i64,
}

impl BlockReader<'_> {
    fn take(&mut self, seq: i64, most: usize) -> Result<PgNodeRow> {
        if let Some(row) = self.remove(seq) {
            self.taken += 1;
            self.depth = row.node.depth.into();
            return Ok(row);
        }
        let few = self.taken * 4 < self.size && self.taken > 0;
        // As many nodes as the depth are left.
        let left = self.depth.min(i64::try_from(most).unwrap_or(MAX_BLOCK)).max(FIRST_BLOCK);
        self.size = if self.taken == 0 { FIRST_BLOCK } else { (self.size * BLOCK_GROWTH).min(MAX_BLOCK).min(left) };
        if few {
            self.follow(seq)?
        } else {
            self.read_below(seq)?
        }
        self.taken = 1;
        let row = self.remove(seq).ok_or_else(|| missing(seq))?;
        self.depth = row.node.depth.into();
        Ok(row)
    }

    /// Reads a node and its ancestors.
    fn follow(&mut self, seq: i64) -> Result<()> {
        let sql = format!(
            "WITH RECURSIVE up (tree, seq, parent, steps) AS (
                 SELECT tree, seq, parent, 1::bigint FROM nodes WHERE tree = $1 AND seq = $2
                 UNION ALL SELECT p.tree, p.seq, p.parent, up.steps + 1 FROM up
                     JOIN nodes p ON p.tree = up.tree AND p.seq = up.parent WHERE up.steps < $3)
             SELECT {NODE} FROM up JOIN nodes n ON n.tree = up.tree AND n.seq = up.seq
                 LEFT JOIN node_state s ON s.tree = n.tree AND s.node = n.seq"
        );
        let rows = self.conn.query(&sql, &[&Uuid(self.tree.to_bytes()), &seq, &self.size])?;
        let mut rows = rows.iter().map(PgNodeRow::read).collect::<Result<Vec<_>>>()?;
        rows.sort_unstable_by_key(|row| Reverse(row.seq));
        self.set_rows(rows);
        Ok(())
    }

    /// Reads the rows below a number. Two scans of ranges cost the server half of a join, which would look up each state. The
    /// states come as arrays in one row, since each row costs both sides time. As many states as nodes reach at least as far down.
    fn read_below(&mut self, seq: i64) -> Result<()> {
        let states = format!(
            "SELECT {STATE_ARRAYS} FROM (SELECT s.node, {STATE} FROM node_state s WHERE s.tree = $1 AND s.node <= $2
                 ORDER BY s.node DESC LIMIT $3) s"
        );
        let nodes =
            format!("SELECT {NODE_ALONE} FROM nodes n WHERE n.tree = $1 AND n.seq <= $2 ORDER BY n.seq DESC LIMIT $3");
        let tree = Uuid(self.tree.to_bytes());
        let reads = [statement!(states, tree, seq, self.size), statement!(nodes, tree, seq, self.size)];
        let (states, mut rows) = self.conn.query_two(&reads, PgNodeRow::read_alone)?;
        if let Some(states) = states.first() {
            decode::set_states(&mut rows, states)?;
        }
        self.set_rows(rows);
        Ok(())
    }

    fn set_rows(&mut self, rows: Vec<PgNodeRow>) {
        self.rows.clear();
        self.rows.extend(rows.into_iter().map(|row| (row.seq, Some(row))));
    }

    /// Takes a row out of the block.
    fn remove(&mut self, seq: i64) -> Option<PgNodeRow> {
        let at = self.rows.binary_search_by(|(other, _)| seq.cmp(other)).ok()?;
        self.rows[at].1.take()
    }
}

/// Reads the path as rows, newest first.
pub(super) fn rows(conn: &PostgresConnection, to: NodeKey, versions: &[i64], limit: usize) -> Result<Vec<PgNodeRow>> {
    let mut path: Vec<PgNodeRow> = Vec::new();
    // Places whose version is already on the path. Versions of a root are its children, since a root has no parent, so
    // a path through one of them must skip the root.
    let mut read_already: Vec<i64> = Vec::new();
    // The next node, and whether it is requested itself regardless of the place's versions.
    let mut next = Some((to.seq, true));
    let mut blocks = BlockReader { conn, tree: to.tree, rows: Vec::new(), size: FIRST_BLOCK, taken: 0, depth: 0 };
    while path.len() < limit
        && let Some((seq, meant)) = next
    {
        let node = blocks.take(seq, limit - path.len())?;
        next = node.parent.map(|parent| (parent, false));
        if read_already.contains(&node.seq) {
            continue;
        }
        if node.node.state.versions > 0 && !meant {
            let read = version_read(conn, NodeKey { seq: node.seq, ..to }, versions)?;
            if read != node.seq {
                next = Some((read, true));
                continue;
            }
        }
        if node.version_of.is_some() {
            read_already.push(common(conn, anchor(conn, NodeKey { seq: node.seq, ..to })?)?.key.seq);
        }
        path.push(node);
    }
    Ok(path)
}

/// Follows the newest visible continuations from a node and returns the last one.
pub(super) fn leaf(conn: &PostgresConnection, from: PgAnchor) -> Result<i64> {
    let at = common(conn, from)?;
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
