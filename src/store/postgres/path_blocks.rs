//! Blocks of rows in which a path is found.

use std::{cmp::Reverse, collections::HashMap};

use foldhash::fast::RandomState;
use tokio_postgres::Row;

use super::{
    connection::{PostgresConnection, statement},
    decode::{CONTINUATIONS, FROM, NODE, NODE_ALONE, PgNodeRow, get, int, small},
    node_columns::{self, PgStateRow, SAYS_MORE, STATE_ARRAY_COUNT, STATE_ARRAYS},
    path::{choose, missing, visible_versions},
    uuid::Uuid,
};
use crate::{id::TreeId, store::Result};

/// Rows of the first block.
const FIRST_BLOCK: i64 = 64;
/// Maximum number of rows of a block.
const MAX_BLOCK: i64 = 16_384;
/// Growth of blocks. While one is read, neither side does anything else, so few are better.
const BLOCK_GROWTH: i64 = 16;
/// Least number of nodes that are read as ranges, which takes one more round trip.
const FEWEST_IN_RANGES: i64 = 4 * FIRST_BLOCK;
/// Least number of nodes of a path for each row with a state below its end, for ranges to be read. To look up the children of
/// one and to begin a range costs the server about as much as two rows.
const NODES_PER_STATE: i64 = 8;

/// A decoded row of a path. It has about half a kilobyte, and moves from block to path, so it is boxed.
pub(super) type PgPathRow = Box<PgNodeRow>;

/// A row of a block. Rows beside the path stay as they came.
enum BlockRow {
    Undecoded(Row),
    Decoded(PgPathRow),
    /// It is on the path.
    Taken,
}

/// Reads nodes of a path in blocks. A node's parent was usually inserted just before it in its tree, so a block is the rows
/// below a number. Where many of them lie beside the path, a block is the ranges of rows between branch points, and where
/// those would be short or most rows of a block lie beside the path, the ancestors are followed one by one in the server.
pub(super) struct BlockReader<'c> {
    conn: &'c PostgresConnection,
    tree: TreeId,
    /// Versions that the reader selects.
    wanted: &'c [i64],
    /// Rows of the current block by their numbers, the newest first.
    rows: Vec<(i64, BlockRow)>,
    /// States of nodes that are not decoded yet.
    states: HashMap<i64, PgStateRow, RandomState>,
    /// Visible versions of the places of the current block; empty until one is needed.
    versions: HashMap<i64, Vec<i64>>,
    size: i64,
    /// Nodes taken from the current block.
    taken: i64,
    /// True if the current block is ranges.
    is_ranges: bool,
    /// False after ranges that missed the path, or were not read because of many states.
    may_read_ranges: bool,
    /// Depth and place of the node that was found last.
    depth: i64,
    last: usize,
}

impl<'c> BlockReader<'c> {
    pub(super) fn new(conn: &'c PostgresConnection, tree: TreeId, wanted: &'c [i64]) -> Self {
        Self {
            conn,
            tree,
            wanted,
            rows: Vec::new(),
            states: HashMap::default(),
            versions: HashMap::new(),
            size: FIRST_BLOCK,
            taken: 0,
            is_ranges: false,
            may_read_ranges: true,
            depth: 0,
            last: 0,
        }
    }

    /// Returns the place of a node in the block, which is read if it does not hold the node.
    pub(super) fn locate(&mut self, seq: i64, most: usize) -> Result<usize> {
        if let Some(at) = self.find(seq)? {
            self.taken += 1;
            return Ok(at);
        }
        let (taken, size) = (self.taken, self.size);
        // As many nodes as the depth are left.
        let left = self.depth.min(i64::try_from(most).unwrap_or(MAX_BLOCK)).clamp(FIRST_BLOCK, MAX_BLOCK);
        self.may_read_ranges &= !self.is_ranges || taken * 2 > size;
        let has_branches = taken > 0 && (taken * 4 < size * 3 || self.is_ranges);
        let may_read_ranges = has_branches && self.may_read_ranges && left >= FEWEST_IN_RANGES;
        self.is_ranges = false;
        self.versions.clear();
        if !(may_read_ranges && self.read_ranges(seq, left)?) {
            self.size = match taken * 2 > size {
                // Most rows are on the path.
                true => left,
                false if taken > 0 => (size * BLOCK_GROWTH).min(left),
                false => FIRST_BLOCK,
            };
            match taken * 4 < size && taken > 0 {
                true => self.follow(seq)?,
                false => self.read_below(seq)?,
            }
        }
        self.taken = 1;
        self.last = 0;
        self.find(seq)?.ok_or_else(|| missing(seq))
    }

    /// The node at a place that [`Self::locate`] returned, if it was not taken.
    pub(super) fn node(&self, at: usize) -> Option<&PgNodeRow> {
        match &self.rows[at].1 {
            BlockRow::Decoded(node) => Some(node),
            _ => None,
        }
    }

    /// Takes the node at a place.
    pub(super) fn take(&mut self, at: usize) -> Option<PgPathRow> {
        match std::mem::replace(&mut self.rows[at].1, BlockRow::Taken) {
            BlockRow::Decoded(node) => Some(node),
            _ => None,
        }
    }

    /// The place of a node that was not taken. It is decoded there.
    fn find(&mut self, seq: i64) -> Result<Option<usize>> {
        // On most paths it follows the node that was found last.
        let next = self.rows.get(self.last + 1).is_some_and(|(other, _)| *other == seq);
        let at = match next {
            true => self.last + 1,
            false => match self.rows.binary_search_by(|(other, _)| seq.cmp(other)) {
                Ok(at) => at,
                Err(_) => return Ok(None),
            },
        };
        if let BlockRow::Undecoded(row) = &self.rows[at].1 {
            self.rows[at].1 = BlockRow::Decoded(Box::new(PgNodeRow::read_alone(row, self.tree)?));
        }
        let BlockRow::Decoded(node) = &mut self.rows[at].1 else { return Ok(None) };
        if let Some(state) = self.states.remove(&seq) {
            node.keep(state);
        }
        self.depth = node.node.depth.into();
        self.last = at;
        Ok(Some(at))
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
        let read = |row| PgNodeRow::read(row).map(|node| (node.seq, BlockRow::Decoded(Box::new(node))));
        self.rows = rows.iter().map(read).collect::<Result<_>>()?;
        self.rows.sort_unstable_by_key(|(seq, _)| Reverse(*seq));
        self.states.clear();
        Ok(())
    }

    /// Reads the rows below a number. Two scans of ranges cost the server half of a join, which would look up each state. The
    /// states come as arrays in one row, since each row costs both sides time. As many states as nodes reach at least as far
    /// down. The first node's continuations come along. While the server sends rows, those that are probably on the path are
    /// decoded.
    fn read_below(&mut self, seq: i64) -> Result<()> {
        let states = format!(
            "SELECT {STATE_ARRAYS}, (SELECT {CONTINUATIONS} {FROM} WHERE n.tree = $1 AND n.seq = $2)
             FROM (SELECT * FROM node_state WHERE tree = $1 AND node <= $2 ORDER BY node DESC LIMIT $3) s
             WHERE {SAYS_MORE}"
        );
        let nodes =
            format!("SELECT {NODE_ALONE} FROM nodes n WHERE n.tree = $1 AND n.seq <= $2 ORDER BY n.seq DESC LIMIT $3");
        let tree = Uuid(self.tree.to_bytes());
        let reads = [statement!(states, tree, seq, self.size), statement!(nodes, tree, seq, self.size)];
        let (states, rows) = self.conn.query_two(&reads, decode_path(self.tree, seq))?;
        self.rows = rows;
        if let Some(row) = states.first() {
            self.states = node_columns::states(row)?;
            self.set_first_continuations(row)?;
        }
        Ok(())
    }

    /// Sets the continuations of the node with which the block begins.
    fn set_first_continuations(&mut self, row: &Row) -> Result<()> {
        if let Some((_, BlockRow::Decoded(first))) = self.rows.first_mut() {
            first.set_continuations(small(row, STATE_ARRAY_COUNT)?);
        }
        Ok(())
    }

    /// Reads the ranges of rows that are probably the path, at most `left` rows; false if there are too many states below the
    /// node. A path leaves the order of the tree where a node has several children: each of them begins a range, which ends
    /// where the next begins. Rows that other writers added between are in these ranges too, and nodes whose parent is in no
    /// range are in none; they are read as another block.
    fn read_ranges(&mut self, seq: i64, left: i64) -> Result<bool> {
        let marks = format!(
            "WITH marked AS MATERIALIZED (
                 SELECT * FROM node_state WHERE tree = $1 AND node <= $2 ORDER BY node DESC LIMIT $3)
             SELECT * FROM
                 (SELECT {STATE_ARRAYS}, (SELECT {CONTINUATIONS} {FROM} WHERE n.tree = $1 AND n.seq = $2)
                  FROM marked s WHERE {SAYS_MORE}) states,
                 (SELECT array_agg(c.seq), array_agg(c.parent), (SELECT count(*) FROM marked)
                  FROM (SELECT c.seq, c.parent FROM marked m CROSS JOIN LATERAL (
                            SELECT c.seq, c.parent FROM nodes c WHERE c.tree = $1 AND c.parent = m.node AND c.seq <= $2
                            OFFSET 0) c
                        WHERE m.continuations + m.annotations > 1 LIMIT $4) c) children"
        );
        let tree = Uuid(self.tree.to_bytes());
        let (most_states, most_children) = (left / NODES_PER_STATE, left / 2);
        let marks = self.conn.query_one(&marks, &[&tree, &seq, &most_states, &most_children])?;
        let children: Option<Vec<i64>> = get(&marks, marks.len() - 3)?;
        let parents: Option<Vec<i64>> = get(&marks, marks.len() - 2)?;
        let mut starts: Vec<(i64, i64)> = children.into_iter().flatten().zip(parents.into_iter().flatten()).collect();
        if int(&marks, marks.len() - 1)? >= most_states || starts.len() as i64 >= most_children {
            self.may_read_ranges = false;
            return Ok(false);
        }
        starts.sort_unstable();
        self.states = node_columns::states(&marks)?;
        let ranges = self.with_versions(ranges(&starts, seq), seq)?;
        let most = left + self.versions.len() as i64;
        let (low, high): (Vec<i64>, Vec<i64>) = ranges.into_iter().unzip();
        let nodes = format!(
            "SELECT {NODE_ALONE} FROM unnest($2::bigint[], $3::bigint[]) r (low, high) CROSS JOIN LATERAL (
                 SELECT * FROM nodes n WHERE n.tree = $1 AND n.seq BETWEEN r.low AND r.high ORDER BY n.seq DESC) n LIMIT $4"
        );
        self.rows = self.conn.query_each(&statement!(nodes, tree, low, high, most), decode_path(self.tree, seq))?;
        if !self.rows.is_sorted_by_key(|(seq, _)| Reverse(*seq)) {
            self.rows.sort_unstable_by_key(|(seq, _)| Reverse(*seq));
        }
        self.size = self.rows.len() as i64;
        self.is_ranges = true;
        self.set_first_continuations(&marks)?;
        Ok(true)
    }

    /// Adds the versions that the path has instead of places in ranges.
    fn with_versions(&mut self, mut ranges: Vec<(i64, i64)>, from: i64) -> Result<Vec<(i64, i64)>> {
        let is_in_range = |seq: i64| {
            let first = ranges.get(ranges.partition_point(|(low, _)| *low > seq));
            first.is_some_and(|(_, high)| seq <= *high)
        };
        let versioned = self.states.iter().filter(|(_, row)| row.state.versions > 0).map(|(seq, _)| *seq);
        let places: Vec<i64> = versioned.filter(|place| is_in_range(*place)).collect();
        if places.is_empty() {
            return Ok(ranges);
        }
        self.versions = visible_versions(self.conn, self.tree, &places)?;
        let read = places.into_iter().map(|place| self.version_read(place)).collect::<Result<Vec<_>>>()?;
        let read: Vec<i64> = read.into_iter().filter(|seq| *seq < from && !is_in_range(*seq)).collect();
        ranges.extend(read.into_iter().map(|seq| (seq, seq)));
        ranges.sort_unstable_by_key(|range| Reverse(*range));
        Ok(ranges)
    }

    /// Selects a version of a place in the block. The versions of all its places are read at once.
    pub(super) fn version_read(&mut self, place: i64) -> Result<i64> {
        if self.versions.is_empty() && !self.wanted.contains(&place) {
            let undecoded = self.states.iter().filter(|(_, row)| row.state.versions > 0).map(|(seq, _)| *seq);
            let decoded = self.rows.iter().filter_map(|(seq, row)| match row {
                BlockRow::Decoded(node) if node.node.state.versions > 0 => Some(*seq),
                _ => None,
            });
            let places: Vec<i64> = undecoded.chain(decoded).collect();
            self.versions = visible_versions(self.conn, self.tree, &places)?;
        }
        Ok(choose(place, self.versions.get(&place).map_or(&[], Vec::as_slice), self.wanted))
    }
}

/// Returns a function that decodes the row of a node, then that of each decoded node's parent, and leaves rows between
/// as they came.
fn decode_path(tree: TreeId, from: i64) -> impl FnMut(Row) -> Result<(i64, BlockRow)> {
    let mut next = Some(from);
    move |row| {
        let seq = int(&row, 0)?;
        if next != Some(seq) {
            return Ok((seq, BlockRow::Undecoded(row)));
        }
        let node = PgNodeRow::read_alone(&row, tree)?;
        next = node.parent;
        Ok((seq, BlockRow::Decoded(Box::new(node))))
    }
}

/// The ranges of numbers from a node to the root, the newest first. `starts` has the children of branch points with their
/// parents, in order.
fn ranges(starts: &[(i64, i64)], from: i64) -> Vec<(i64, i64)> {
    let mut ranges = Vec::new();
    let mut high = from;
    while let Some((low, parent)) = starts[..starts.partition_point(|(start, _)| *start <= high)].last() {
        ranges.push((*low, high));
        high = *parent;
    }
    ranges.push((0, high));
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_end_where_a_child_of_a_branch_point_begins() {
        assert_eq!(ranges(&[], 9), [(0, 9)]);
        // Nodes 3 and 6 continue node 2, nodes 8 and 12 continue node 7.
        let starts = [(3, 2), (6, 2), (8, 7), (12, 7)];
        assert_eq!(ranges(&starts, 15), [(12, 15), (6, 7), (0, 2)]);
        assert_eq!(ranges(&starts, 10), [(8, 10), (6, 7), (0, 2)]);
        assert_eq!(ranges(&starts, 4), [(3, 4), (0, 2)]);
        assert_eq!(ranges(&starts, 2), [(0, 2)]);
    }
}
