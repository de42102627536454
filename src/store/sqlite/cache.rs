//! What the writer knows without asking the file.

use std::collections::HashMap;

use rusqlite::Connection;

use super::tables::{journal, nodes::Anchor};
use crate::{
    id::{AgentId, NodeId, SessionId, TreeId},
    store::Result,
};

/// What is known without asking the file: row numbers of what never moves, the nodes that were added last, and what
/// waits for the transaction's end. Emptied whenever something is rolled back.
#[derive(Default)]
pub(super) struct Cache {
    pub(super) nodes: HashMap<NodeId, Anchor>,
    /// Nodes added lately that have no row in `node_state`, by row, with how many continuations they have: none or one.
    pub(super) stateless: HashMap<i64, i64>,
    pub(super) agents: HashMap<AgentId, i64>,
    pub(super) trees: HashMap<TreeId, i64>,
    pub(super) sessions: HashMap<SessionId, i64>,
    /// The newest entries of trees, and what this transaction did to trees and has not written there yet.
    pub(super) journal: journal::Ends,
    /// The file's version by SQLite's count, which others' changes move.
    version: i64,
}

/// Nodes remembered at the most: about 1 MB.
pub(super) const REMEMBERED: usize = 8_192;

impl Cache {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// At the beginning of a transaction: forgets what somebody else may have changed.
    pub(super) fn begin(&mut self, conn: &Connection) -> Result<()> {
        let version = conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if version != self.version {
            self.clear();
            self.version = version;
        }
        Ok(())
    }

    /// Writes what the transaction has left to its end.
    pub(super) fn flush(&mut self, conn: &Connection) -> Result<()> {
        self.journal.write(conn)
    }
}
