//! ULIDs by row number, and the ids and counts that a decoded row of a node does not hold.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

use rusqlite::{Connection, OptionalExtension};

use super::{
    decode::NodeRow,
    tables::{bookmarks, visibility_marks::hidden_by},
};
use crate::{
    id::{AgentId, NodeId, SessionId, TreeId},
    store::{Result, StoreError},
    types::{EdgeKind, Node},
};

/// A cache of ULIDs by row number, for one snapshot or transaction.
pub(super) struct UlidCache<'c> {
    conn: &'c Connection,
    trees: RememberedNames,
    agents: RememberedNames,
    sessions: RememberedNames,
}

/// The cached ULIDs of one table. `last` is the previous lookup, because consecutive nodes usually share it.
#[derive(Default)]
struct RememberedNames {
    last: Cell<Option<(i64, [u8; 16])>>,
    all: RefCell<HashMap<i64, [u8; 16]>>,
}

impl<'c> UlidCache<'c> {
    pub(super) fn new(conn: &'c Connection) -> Self {
        Self {
            conn,
            trees: RememberedNames::default(),
            agents: RememberedNames::default(),
            sessions: RememberedNames::default(),
        }
    }

    fn remembered(&self, of: &RememberedNames, table: &'static str, row: i64) -> Result<[u8; 16]> {
        if let Some((_, ulid)) = of.last.get().filter(|(last, _)| *last == row) {
            return Ok(ulid);
        }
        if let Some(ulid) = of.all.borrow().get(&row) {
            of.last.set(Some((row, *ulid)));
            return Ok(*ulid);
        }
        let sql = match table {
            "trees" => "SELECT ulid FROM trees WHERE id = ?1",
            "agents" => "SELECT ulid FROM agents WHERE id = ?1",
            _ => "SELECT ulid FROM sessions WHERE id = ?1",
        };
        let ulid = self
            .conn
            .prepare_cached(sql)?
            .query_row([row], |r| r.get(0))
            .optional()?
            .ok_or_else(|| StoreError::Undecodable(format!("row {row} of {table} is missing")))?;
        of.all.borrow_mut().insert(row, ulid);
        of.last.set(Some((row, ulid)));
        Ok(ulid)
    }

    pub(super) fn tree(&self, row: i64) -> Result<TreeId> {
        self.remembered(&self.trees, "trees", row).map(TreeId::from_bytes)
    }

    pub(super) fn agent(&self, row: i64) -> Result<AgentId> {
        self.remembered(&self.agents, "agents", row).map(AgentId::from_bytes)
    }

    pub(super) fn session(&self, row: i64) -> Result<SessionId> {
        self.remembered(&self.sessions, "sessions", row).map(SessionId::from_bytes)
    }

    /// Reads the ULID of a node.
    pub(super) fn node(&self, row: i64) -> Result<NodeId> {
        self.conn
            .prepare_cached("SELECT ulid FROM nodes WHERE seq = ?1")?
            .query_row([row], |r| r.get(0))
            .optional()?
            .map(NodeId::from_bytes)
            .ok_or_else(|| StoreError::Undecodable(format!("node {row} is missing")))
    }

    /// Counts the versions of a place that have the same visibility. The state's own count includes all versions ever
    /// added, and selects the places that need this query.
    fn versions(&self, place: i64, hidden_by: Option<i64>) -> Result<u32> {
        Ok(self
            .conn
            .prepare_cached(concat!(
                "SELECT count(*) FROM nodes n LEFT JOIN node_state s ON s.node = n.seq
                 WHERE n.version_of = ?1 AND n.kind = 6 AND (",
                hidden_by!("s"),
                ") IS ?2"
            ))?
            .query_row(rusqlite::params![place, hidden_by], |r| r.get(0))?)
    }

    /// Counts the continuations (0 or 1) of a node without state.
    fn only_child(&self, tree: i64, depth: u32, row: i64) -> Result<u32> {
        Ok(self
            .conn
            .prepare_cached("SELECT count(*) FROM nodes WHERE tree = ?1 AND depth = ?2 AND parent = ?3 AND kind = 0")?
            .query_row(rusqlite::params![tree, depth + 1, row], |r| r.get(0))?)
    }

    /// Fills in the ids and counts that a row does not hold. Nodes among `rows` are not looked up again.
    pub(super) fn finish(&self, mut rows: Vec<NodeRow>) -> Result<Vec<Node>> {
        // On a path, the next row is the node's continuation.
        let follows: Vec<bool> = rows
            .iter()
            .zip(rows.iter().skip(1))
            .map(|(r, next)| next.parent == Some(r.row) && next.node.kind == EdgeKind::Continuation)
            .collect();
        let ids: Vec<(i64, NodeId)> = rows.iter().map(|r| (r.row, r.node.id)).collect();
        let mut known: Option<HashMap<i64, NodeId>> = None;
        // On a path the parent is the previous row; in a list of children it is the previous row's parent.
        let mut last: Option<(i64, NodeId)> = None;
        let mut find = |at: usize, row: i64| -> Result<NodeId> {
            let before = at.checked_sub(1).and_then(|at| ids.get(at));
            if let Some((_, id)) = [before, last.as_ref()].into_iter().flatten().find(|(seen, _)| *seen == row) {
                return Ok(*id);
            }
            let known = known.get_or_insert_with(|| ids.iter().copied().collect());
            let id = known.get(&row).map_or_else(|| self.node(row), |id| Ok(*id))?;
            last = Some((row, id));
            Ok(id)
        };
        for (at, r) in rows.iter_mut().enumerate() {
            let node = &mut r.node;
            node.tree = self.tree(r.tree)?;
            node.author = self.agent(r.author)?;
            node.session = r.session.map(|s| self.session(s)).transpose()?;
            node.parent = r.parent.map(|row| find(at, row)).transpose()?;
            node.edited_from = r.edited_from.map(|row| find(at, row)).transpose()?;
            node.version_of = r.version_of.map(|row| find(at, row)).transpose()?;
            node.state.hidden_by = r.hidden_by.map(|row| find(at, row)).transpose()?;
            node.state.continuations = match r.continuations {
                Some(kept) => kept,
                None if follows.get(at) == Some(&true) => 1,
                None => self.only_child(r.tree, node.depth, r.row)?,
            };
            if node.state.versions > 0 {
                node.state.versions = self.versions(r.row, r.hidden_by)?;
            }
            if r.bookmarked {
                node.state.bookmark = bookmarks::label(self.conn, r.row)?;
            }
        }
        Ok(rows.into_iter().map(|row| row.node).collect())
    }
}
