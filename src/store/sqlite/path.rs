//! Reading of a path from its last node to the root, and of the path's end below a node.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    decode::{DESCENDING, NodeRow, StateRow, States},
    tables::{
        nodes::{anchor, hidden_by},
        visibility_marks::HIDDEN_BY,
    },
    visibility::{self, version_read},
};
use crate::{
    id::NodeId,
    store::{Result, StoreError},
    types::EdgeKind,
};

/// Maximum initial capacity of a path: the depth in a damaged file may be any number.
const MAX_CAPACITY: usize = 16_384;

/// Statement for [`MetadataRow`], in the order of [`DESCENDING`].
const METADATA_DESCENDING: &str =
    "SELECT n.seq, n.parent, n.depth, n.version_of, n.metadata FROM nodes n WHERE n.seq <= ?1 ORDER BY n.seq DESC";

/// A row of a path: a whole node, or a part of it.
pub(super) trait PathRecord: Sized {
    /// Statement that reads the rows from a row number downwards. Its first column is the row number.
    const SQL: &'static str;

    fn read(row: &Row<'_>) -> rusqlite::Result<Self>;
    fn put(&mut self, state: StateRow);
    fn row(&self) -> i64;
    fn parent(&self) -> Option<i64>;
    fn depth(&self) -> u32;
    fn version_of(&self) -> Option<i64>;
    /// Number of versions of the place that were ever added.
    fn versions(&self) -> u32;
}

impl PathRecord for NodeRow {
    const SQL: &'static str = DESCENDING;

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Self::read_stateless(row)
    }

    fn put(&mut self, state: StateRow) {
        state.put(self);
    }

    fn row(&self) -> i64 {
        self.row
    }

    fn parent(&self) -> Option<i64> {
        self.parent
    }

    fn depth(&self) -> u32 {
        self.node.depth
    }

    fn version_of(&self) -> Option<i64> {
        self.version_of
    }

    fn versions(&self) -> u32 {
        self.node.state.versions
    }
}

/// The metadata of a node of a path, unchecked.
pub(super) struct MetadataRow {
    row: i64,
    parent: Option<i64>,
    depth: u32,
    version_of: Option<i64>,
    versions: u32,
    pub(super) metadata: Option<String>,
}

impl PathRecord for MetadataRow {
    const SQL: &'static str = METADATA_DESCENDING;

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            row: row.get(0)?,
            parent: row.get(1)?,
            depth: row.get(2)?,
            version_of: row.get(3)?,
            versions: 0,
            metadata: row.get(4)?,
        })
    }

    fn put(&mut self, state: StateRow) {
        self.versions = state.versions();
    }

    fn row(&self) -> i64 {
        self.row
    }

    fn parent(&self) -> Option<i64> {
        self.parent
    }

    fn depth(&self) -> u32 {
        self.depth
    }

    fn version_of(&self) -> Option<i64> {
        self.version_of
    }

    fn versions(&self) -> u32 {
        self.versions
    }
}

/// Reads the path to a node, oldest node first; `limit` 0 is none.
pub(super) fn read<R: PathRecord>(conn: &Connection, to: NodeId, versions: &[NodeId], limit: u32) -> Result<Vec<R>> {
    let Some(row) = visibility::row_of(conn, to)? else { return Ok(Vec::new()) };
    let mut wanted = Vec::with_capacity(versions.len());
    for version in versions {
        wanted.extend(visibility::row_of(conn, *version)?);
    }
    let most = if limit == 0 { usize::MAX } else { limit as usize };
    let mut rows = rows(conn, row, &wanted, most)?;
    rows.reverse();
    Ok(rows)
}

/// Reads the path as rows, newest first.
///
/// A node's parent was usually inserted just before it, so the table is scanned in descending order. Where the next row
/// is not the parent, a new scan starts at the parent.
fn rows<R: PathRecord>(conn: &Connection, to: i64, versions: &[i64], limit: usize) -> Result<Vec<R>> {
    let mut path: Vec<R> = Vec::new();
    // Places whose version is already on the path. Versions of a root are its children, since a root has no parent, so
    // a path through one of them must skip the root.
    let mut read_already: Vec<i64> = Vec::new();
    // The next node, and whether it is requested itself regardless of the place's versions.
    let mut next = Some((to, true));
    let mut statement = conn.prepare_cached(R::SQL)?;
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
            let mut node = R::read(row)?;
            if path.is_empty() {
                path.reserve_exact(limit.min(node.depth() as usize + 1).min(MAX_CAPACITY));
            }
            states.put(&mut node)?;
            next = node.parent().map(|parent| (parent, false));
            if read_already.contains(&node.row()) {
                continue;
            }
            if node.versions() > 0 && !meant {
                let read = version_read(conn, node.row(), versions)?;
                if read != node.row() {
                    next = Some((read, true));
                    break;
                }
            }
            if node.version_of().is_some() {
                read_already.push(visibility::original_of(conn, anchor(conn, node.row())?)?.row);
            }
            path.push(node);
        }
    }
    Ok(path)
}

/// Follows the newest visible continuations from a row and returns the last row.
pub(super) fn leaf(conn: &Connection, row: i64) -> Result<i64> {
    let own = anchor(conn, row)?;
    let mut at = visibility::original_of(conn, own)?;
    let hidden = hidden_by(conn, row)?;
    // One statement that reads two numbers of the index per step: a tree may be a million nodes deep.
    let mut statement = conn.prepare_cached(&format!(
        "SELECT n.seq FROM nodes n LEFT JOIN node_state s ON s.node = n.seq
         WHERE n.tree = ?1 AND n.depth = ?2 AND n.parent = ?3 AND +n.kind = ?4
             AND ({HIDDEN_BY} IS NULL OR {HIDDEN_BY} IS ?5)
         ORDER BY n.seq DESC LIMIT 1"
    ))?;
    let kind = EdgeKind::Continuation.code();
    let mut leaf = row;
    while let Some(next) =
        statement.query_row(params![at.tree, at.depth + 1, at.row, kind, hidden], |r| r.get(0)).optional()?
    {
        (leaf, at.row, at.depth) = (next, next, at.depth + 1);
    }
    Ok(leaf)
}
