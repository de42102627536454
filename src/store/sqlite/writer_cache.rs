//! The writer thread's cache of rows, and the work that it defers to the end of a transaction.

use std::collections::{BTreeSet, HashMap};

use rusqlite::Connection;

use super::{
    apply::ChangeApplier,
    fts_index::{self, Unindexed},
    tables::{
        agents,
        journal::JournalChainCache,
        leases::LeaseRow,
        nodes::{self, Anchor},
        sessions, trees,
    },
};
use crate::{
    id::{AgentId, NodeId, SessionId, TreeId},
    store::{Result, StoreError},
    text_index::WordTokenizer,
};

/// A map of row numbers or ids. The hasher is not keyed: the maps are small and bounded, so colliding ids gain an attacker
/// nothing, and an append reads nine of them.
pub(super) type RowMap<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// The writer's cache: row numbers, which never change; recently appended nodes; and deferred writes. Cleared after
/// every rollback.
#[derive(Default)]
pub(super) struct WriterCache {
    pub(super) nodes: RowMap<NodeId, Anchor>,
    /// Row number of the newest node; `None` until it is read.
    pub(super) last_node: Option<i64>,
    /// Continuation counts (0 or 1) of recent nodes without a row in `node_state`, by row number.
    pub(super) stateless: RowMap<i64, i64>,
    pub(super) agents: RowMap<AgentId, i64>,
    pub(super) trees: RowMap<TreeId, i64>,
    pub(super) sessions: RowMap<SessionId, i64>,
    /// The trees' newest journal entries, and changes to `tree_state` that are not written yet.
    pub(super) journal: JournalChainCache,
    /// All leases; `None` until they are read. Usually empty.
    pub(super) leases: Option<Vec<LeaseRow>>,
    /// Nodes to be indexed; `None` until they are counted.
    pub(super) unindexed: Option<Unindexed>,
    /// Sessions whose state is rebuilt at the end of this transaction.
    pub(super) stale_sessions: BTreeSet<i64>,
    /// Sessions whose checksum is set at the end of this transaction.
    pub(super) touched_sessions: BTreeSet<i64>,
    /// Tokenizer for the index. Independent of the file's content.
    pub(super) words: WordTokenizer,
    /// True while a transaction is open. SQLite may roll it back by itself, as on a full disk; then this stays true, and what
    /// the cache holds is not in the file.
    pub(super) is_uncommitted: bool,
    /// SQLite's `data_version`, which changes when another connection commits.
    version: i64,
}

/// Maximum number of cached nodes, about 1 MB; also of agents, trees and sessions together, a tenth of that.
const MAX_CACHED_ROWS: usize = 8_192;

impl WriterCache {
    pub(super) fn clear(&mut self) {
        *self = Self { words: std::mem::take(&mut self.words), ..Self::default() };
    }

    /// Starts a transaction: clears the cache if another connection committed, and counts the nodes to be indexed.
    pub(super) fn begin(&mut self, conn: &Connection) -> Result<()> {
        let version = conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if version != self.version {
            self.clear();
            self.version = version;
        }
        if self.unindexed.is_none() {
            // Counted before the transaction adds nodes, so that their precomputed words are used.
            self.unindexed = Some(fts_index::count_unindexed(conn)?);
        }
        self.is_uncommitted = true;
        Ok(())
    }

    /// Writes deferred changes, and bounds the cache: a long-running server meets an unlimited number of sessions.
    pub(super) fn flush(&mut self, conn: &Connection) -> Result<()> {
        if self.agents.len() + self.trees.len() + self.sessions.len() > MAX_CACHED_ROWS {
            self.agents.clear();
            self.trees.clear();
            self.sessions.clear();
        }
        while let Some(session) = self.touched_sessions.pop_first() {
            sessions::set_row_sum(conn, session)?;
        }
        self.journal.write(conn, MAX_CACHED_ROWS)
    }
}

/// Cached lookups of row numbers and positions.
impl ChangeApplier<'_> {
    /// Looks up a node; fails if it does not exist.
    pub(super) fn node(&mut self, id: NodeId) -> Result<Anchor> {
        if let Some(anchor) = self.cache.nodes.get(&id) {
            return Ok(*anchor);
        }
        let anchor =
            nodes::find(self.conn, id, self.concealed.is_some())?.ok_or_else(|| StoreError::not_found("node", id))?;
        self.remember(id, anchor)?;
        Ok(anchor)
    }

    /// Looks up a node; fails if it is not in this tree.
    pub(super) fn node_of(&mut self, id: NodeId, tree: i64) -> Result<Anchor> {
        let node = self.node(id)?;
        if node.tree == tree { Ok(node) } else { Err(StoreError::Conflict(format!("node {id} is in another tree"))) }
    }

    pub(super) fn remember(&mut self, id: NodeId, anchor: Anchor) -> Result<()> {
        if self.cache.nodes.len() >= MAX_CACHED_ROWS {
            // Queued nodes exist only in this cache.
            self.flush_nodes()?;
            self.cache.nodes.clear();
            self.cache.stateless.clear();
        }
        self.cache.nodes.insert(id, anchor);
        Ok(())
    }

    pub(super) fn tree_row(&mut self, id: TreeId) -> Result<i64> {
        if let Some(row) = self.cache.trees.get(&id) {
            return Ok(*row);
        }
        let row = trees::row(self.conn, id)?;
        self.cache.trees.insert(id, row);
        Ok(row)
    }

    pub(super) fn agent_row(&mut self, id: AgentId) -> Result<i64> {
        if let Some(row) = self.cache.agents.get(&id) {
            return Ok(*row);
        }
        let row = agents::row(self.conn, id)?;
        self.cache.agents.insert(id, row);
        Ok(row)
    }

    pub(super) fn session_row(&mut self, id: SessionId) -> Result<i64> {
        if let Some(row) = self.cache.sessions.get(&id) {
            return Ok(*row);
        }
        let row = sessions::row(self.conn, id)?;
        self.cache.sessions.insert(id, row);
        Ok(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_has_a_bound() {
        let conn = Connection::open_in_memory().unwrap();
        let mut cache = WriterCache::default();
        for row in 0..3 * MAX_CACHED_ROWS as u128 {
            let id = row.to_be_bytes();
            cache.sessions.insert(SessionId::from_bytes(id), 1);
            cache.trees.insert(TreeId::from_bytes(id), 1);
            cache.agents.insert(AgentId::from_bytes(id), 1);
            if row % 100 == 0 {
                cache.flush(&conn).unwrap();
                let all = cache.sessions.len() + cache.trees.len() + cache.agents.len();
                assert!(all <= MAX_CACHED_ROWS + 300, "{all}");
            }
        }
    }
}
