//! The writer thread's cache of rows, and the work that it defers to the end of a transaction.

use std::{
    collections::{BTreeSet, HashMap},
    hash::{BuildHasherDefault, Hasher},
};

use rusqlite::Connection;

use super::{
    apply::ChangeApplier,
    fts_index::Unindexed,
    tables::{
        agents, journal,
        leases::Held,
        nodes::{self, Anchor},
        sessions, trees,
    },
};
use crate::{
    id::{AgentId, NodeId, SessionId, TreeId},
    store::{Result, StoreError},
    types::WordTokenizer,
};

/// A map whose keys are numbers: rows, and ids, of which half is random. The maps here are small and forget, so nobody
/// gains by choosing ids that collide, and an append looks into nine of them.
pub(super) type NumberedMap<K, V> = HashMap<K, V, BuildHasherDefault<IntegerHasher>>;

/// Spreads numbers over 64 bits.
#[derive(Default)]
pub(super) struct IntegerHasher(u64);

impl Hasher for IntegerHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }

    #[allow(clippy::cast_possible_truncation)] // its two halves
    fn write_u128(&mut self, number: u128) {
        let (high, low) = ((number >> 64) as u64, number as u64);
        self.write_u64(high ^ low);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// The writer's cache: row numbers, which never change; recently appended nodes; and deferred writes. Cleared after
/// every rollback.
#[derive(Default)]
pub(super) struct WriterCache {
    pub(super) nodes: NumberedMap<NodeId, Anchor>,
    /// Row number of the newest node; `None` until it is read.
    pub(super) last_node: Option<i64>,
    /// Continuation counts (0 or 1) of recent nodes without a row in `node_state`, by row number.
    pub(super) stateless: NumberedMap<i64, i64>,
    pub(super) agents: NumberedMap<AgentId, i64>,
    pub(super) trees: NumberedMap<TreeId, i64>,
    pub(super) sessions: NumberedMap<SessionId, i64>,
    /// The trees' newest journal entries, and changes to `tree_state` that are not written yet.
    pub(super) journal: journal::Ends,
    /// All leases; `None` until they are read. Usually empty.
    pub(super) leases: Option<Vec<Held>>,
    /// Nodes to be indexed; `None` until they are counted.
    pub(super) unindexed: Option<Unindexed>,
    /// Sessions whose state is rebuilt at the end of this transaction.
    pub(super) unheard: BTreeSet<i64>,
    /// Tokenizer for the index. Independent of the file's content.
    pub(super) words: WordTokenizer,
    /// SQLite's `data_version`, which changes when another connection commits.
    version: i64,
}

/// Maximum number of cached nodes, about 1 MB; also of agents, trees and sessions together, a tenth of that.
const REMEMBERED: usize = 8_192;

impl WriterCache {
    pub(super) fn clear(&mut self) {
        *self = Self { words: std::mem::take(&mut self.words), ..Self::default() };
    }

    /// Starts a transaction: clears the cache if another connection committed.
    pub(super) fn begin(&mut self, conn: &Connection) -> Result<()> {
        let version = conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if version != self.version {
            self.clear();
            self.version = version;
        }
        Ok(())
    }

    /// Writes deferred changes, and bounds the cache: a long-running server meets an unlimited number of sessions.
    pub(super) fn flush(&mut self, conn: &Connection) -> Result<()> {
        if self.agents.len() + self.trees.len() + self.sessions.len() > REMEMBERED {
            self.agents.clear();
            self.trees.clear();
            self.sessions.clear();
        }
        self.journal.write(conn, REMEMBERED)
    }
}

/// Cached lookups of row numbers and positions.
impl ChangeApplier<'_> {
    /// Looks up a node; fails if it does not exist.
    pub(super) fn node(&mut self, id: NodeId) -> Result<Anchor> {
        if let Some(anchor) = self.cache.nodes.get(&id) {
            return Ok(*anchor);
        }
        let anchor = nodes::find(self.conn, id)?.ok_or_else(|| StoreError::not_found("node", id))?;
        self.remember(id, anchor)?;
        Ok(anchor)
    }

    /// Looks up a node; fails if it is not in this tree.
    pub(super) fn node_of(&mut self, id: NodeId, tree: i64) -> Result<Anchor> {
        let node = self.node(id)?;
        if node.tree == tree { Ok(node) } else { Err(StoreError::Conflict(format!("node {id} is in another tree"))) }
    }

    pub(super) fn remember(&mut self, id: NodeId, anchor: Anchor) -> Result<()> {
        if self.cache.nodes.len() >= REMEMBERED {
            // Queued nodes exist only in this cache.
            self.write()?;
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
        for row in 0..3 * REMEMBERED as u128 {
            let id = row.to_be_bytes();
            cache.sessions.insert(SessionId::from_bytes(id), 1);
            cache.trees.insert(TreeId::from_bytes(id), 1);
            cache.agents.insert(AgentId::from_bytes(id), 1);
            if row % 100 == 0 {
                cache.flush(&conn).unwrap();
                let all = cache.sessions.len() + cache.trees.len() + cache.agents.len();
                assert!(all <= REMEMBERED + 300, "{all}");
            }
        }
    }
}
