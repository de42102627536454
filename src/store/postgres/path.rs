//! Reading of a path from its last node to the root, and the parts of visibility that reading needs.

use std::{cmp::Reverse, collections::HashMap};

use super::{
    connection::{PostgresConnection, statement},
    decode::{self, FROM, NODE, NODE_ALONE, NodeKey, NumberedRow, PgNodeRow, STATE, STATE_ARRAYS, get, int, opt_int},
    uuid::Uuid,
};
use crate::{
    id::{NodeId, TreeId},
    store::{Result, StoreError},
    types::EdgeKind,
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
    let versions = visible_versions(conn, place.tree, &[place.seq])?;
    Ok(choose(place.seq, versions.get(&place.seq).map_or(&[], Vec::as_slice), wanted))
}

fn choose(place: i64, versions: &[i64], wanted: &[i64]) -> i64 {
    if wanted.contains(&place) {
        return place;
    }
    let chosen = versions.iter().find(|version| wanted.contains(version)).or(versions.first());
    chosen.copied().unwrap_or(place)
}

/// The visible versions of places, the newest first.
fn visible_versions(conn: &PostgresConnection, tree: TreeId, places: &[i64]) -> Result<HashMap<i64, Vec<i64>>> {
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

/// Reads nodes of a path in blocks. A node's parent was usually inserted just before it in its tree, so a block is the rows
/// below a number. Where most rows of a block lie beside the path, the ancestors are followed one by one in the server.
struct BlockReader<'c> {
    conn: &'c PostgresConnection,
    tree: TreeId,
    /// Rows of the current block, the newest first.
    rows: Vec<NumberedRow>,
    /// Visible versions of the places of the current block; empty until one is needed.
    versions: HashMap<i64, Vec<i64>>,
    size: i64,
    /// Nodes taken from the current block.
    taken: i64,
    /// Depth and place of the node that was found last.
    depth: i64,
    last: usize,
}

impl BlockReader<'_> {
    /// Returns the place of a node in the block, which is read if it does not hold the node.
    fn locate(&mut self, seq: i64, most: usize) -> Result<usize> {
        if let Some(at) = self.find(seq) {
            self.taken += 1;
            return Ok(at);
        }
        let few = self.taken * 4 < self.size && self.taken > 0;
        // As many nodes as the depth are left.
        let left = self.depth.min(i64::try_from(most).unwrap_or(MAX_BLOCK)).max(FIRST_BLOCK);
        self.size = match self.taken * 2 > self.size {
            // Most rows are on the path.
            true => left.min(MAX_BLOCK),
            false if self.taken > 0 => (self.size * BLOCK_GROWTH).min(MAX_BLOCK).min(left),
            false => FIRST_BLOCK,
        };
        if few {
            self.follow(seq)?
        } else {
            self.read_below(seq)?
        }
        self.taken = 1;
        self.last = 0;
        self.versions.clear();
        self.find(seq).ok_or_else(|| missing(seq))
    }

    /// The place of a node that was not taken.
    fn find(&mut self, seq: i64) -> Option<usize> {
        // On most paths it follows the node that was found last.
        let next = self.rows.get(self.last + 1).is_some_and(|(other, _)| *other == seq);
        let at = match next {
            true => self.last + 1,
            false => self.rows.binary_search_by(|(other, _)| seq.cmp(other)).ok()?,
        };
        let row = self.rows[at].1.as_ref()?;
        self.depth = row.node.depth.into();
        self.last = at;
        Some(at)
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
        self.rows = rows.iter().map(|row| PgNodeRow::read(row).map(numbered)).collect::<Result<_>>()?;
        self.rows.sort_unstable_by_key(|(seq, _)| Reverse(*seq));
        Ok(())
    }

    /// Reads the rows below a number. Two scans of ranges cost the server half of a join, which would look up each state. The
    /// states come as arrays in one row, since each row costs both sides time. As many states as nodes reach at least as far
    /// down. States with one continuation and no more are left out, but the first node's: most nodes have such a state, and
    /// a node whose continuation is on the path has no other.
    fn read_below(&mut self, seq: i64) -> Result<()> {
        let states = format!(
            "SELECT {STATE_ARRAYS} FROM (SELECT s.node, {STATE} FROM node_state s WHERE s.tree = $1 AND s.node <= $2
                 ORDER BY s.node DESC LIMIT $3) s
             WHERE s.continuations <> 1 OR s.annotations <> 0 OR s.links <> 0 OR s.versions <> 0 OR s.bookmarked
                 OR s.hidden_by IS NOT NULL OR s.excluded OR s.node = $2"
        );
        let nodes =
            format!("SELECT {NODE_ALONE} FROM nodes n WHERE n.tree = $1 AND n.seq <= $2 ORDER BY n.seq DESC LIMIT $3");
        let tree = Uuid(self.tree.to_bytes());
        let reads = [statement!(states, tree, seq, self.size), statement!(nodes, tree, seq, self.size)];
        let (states, rows) = self.conn.query_two(&reads, |row| PgNodeRow::read_alone(row).map(numbered))?;
        self.rows = rows;
        if let Some(states) = states.first() {
            decode::set_states(&mut self.rows, states)?;
        }
        if let Some((_, Some(first))) = self.rows.first_mut() {
            first.is_state_known = true;
        }
        Ok(())
    }

    /// Selects a version of a place in the block. The versions of all its places are read at once.
    fn version_read(&mut self, place: i64, wanted: &[i64]) -> Result<i64> {
        if self.versions.is_empty() && !wanted.contains(&place) {
            let rows = self.rows.iter().filter_map(|(_, row)| row.as_ref());
            let places: Vec<i64> = rows.filter(|row| row.node.state.versions > 0).map(|row| row.seq).collect();
            self.versions = visible_versions(self.conn, self.tree, &places)?;
        }
        Ok(choose(place, self.versions.get(&place).map_or(&[], Vec::as_slice), wanted))
    }
}

fn numbered(row: PgNodeRow) -> NumberedRow {
    (row.seq, Some(row))
}

/// Reads the path as rows, newest first.
pub(super) fn rows(conn: &PostgresConnection, to: NodeKey, versions: &[i64], limit: usize) -> Result<Vec<PgNodeRow>> {
    let mut path: Vec<PgNodeRow> = Vec::new();
    // Places whose version is already on the path. Versions of a root are its children, since a root has no parent, so
    // a path through one of them must skip the root.
    let mut read_already: Vec<i64> = Vec::new();
    // The next node, and whether it is requested itself regardless of the place's versions.
    let mut next = Some((to.seq, true));
    let mut blocks = BlockReader {
        conn,
        tree: to.tree,
        rows: Vec::new(),
        versions: HashMap::new(),
        size: FIRST_BLOCK,
        taken: 0,
        depth: 0,
        last: 0,
    };
    // The place whose version is read next, if it is itself no version.
    let mut place = None;
    while path.len() < limit
        && let Some((seq, meant)) = next
    {
        let at = blocks.locate(seq, limit - path.len())?;
        let node = blocks.rows[at].1.as_ref().ok_or_else(|| missing(seq))?;
        let version_of = node.version_of;
        next = node.parent.map(|parent| (parent, false));
        if read_already.contains(&seq) {
            continue;
        }
        if node.node.state.versions > 0 && !meant {
            let read = blocks.version_read(seq, versions)?;
            if read != seq {
                next = Some((read, true));
                place = version_of.is_none().then_some(seq);
                continue;
            }
        }
        if let Some(first) = version_of {
            let first = match place.take() {
                Some(place) if place == first => first,
                _ => common(conn, anchor(conn, NodeKey { seq: first, ..to })?)?.key.seq,
            };
            read_already.push(first);
        }
        path.extend(blocks.rows[at].1.take());
        if let [.., child, node] = path.as_mut_slice()
            && !node.is_state_known
            && is_continuation(child, node.seq)
        {
            // A state that says more was read.
            node.node.state.continuations = 1;
            node.is_state_known = true;
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
fn read_states(conn: &PostgresConnection, tree: TreeId, path: &mut [PgNodeRow]) -> Result<()> {
    let mut unknown: HashMap<i64, &mut PgNodeRow> =
        path.iter_mut().filter(|row| !row.is_state_known).map(|row| (row.seq, row)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let sql = format!("SELECT s.node, {STATE} FROM node_state s WHERE s.tree = $1 AND s.node = ANY($2)");
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
