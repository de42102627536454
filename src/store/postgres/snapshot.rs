//! The snapshot: a connection inside one transaction that only reads.

use std::{ops::Deref, sync::Arc};

use super::{
    connection::PostgresConnection,
    pool::{PgConnectionPool, PgPooledConnection},
    transaction::PgTransactionReader,
    uuid::Uuid,
};
use crate::{
    id::{AgentId, SessionId},
    session_state::CompiledRules,
    store::{Result, StoreError},
};

/// A connection that a snapshot reads.
pub(super) enum PgReadConnection<'p> {
    /// A reader in a transaction of its own.
    Pooled(Box<PgPooledConnection<'p>>),
    /// The connection of an open write transaction.
    Lent(PgTransactionReader<'p>),
}

/// A view of one moment.
pub(super) struct PostgresSnapshot<'p> {
    conn: PgReadConnection<'p>,
    pub(super) rules: Arc<CompiledRules>,
}

impl<'p> PostgresSnapshot<'p> {
    pub(super) fn begin(pool: &'p PgConnectionPool, rules: &Arc<CompiledRules>) -> Result<Self> {
        let conn = pool.borrow()?;
        // For the same reasons as in transactions that write.
        let settings = "SET LOCAL enable_seqscan = off; SET LOCAL jit = off";
        conn.batch(&format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {settings}"))?;
        Ok(Self { conn: PgReadConnection::Pooled(Box::new(conn)), rules: Arc::clone(rules) })
    }

    /// A view of what an open write transaction sees.
    pub(super) fn inside(reader: PgTransactionReader<'p>) -> Self {
        let rules = reader.rules();
        Self { conn: PgReadConnection::Lent(reader), rules }
    }

    /// An agent that must exist.
    pub(super) fn agent_key(&self, id: AgentId) -> Result<Uuid> {
        let key = Uuid(id.to_bytes());
        let found = self.query_opt("SELECT 1 FROM agents WHERE id = $1", &[&key])?;
        found.map(|_| key).ok_or_else(|| StoreError::not_found("agent", id))
    }

    /// A session that must exist.
    pub(super) fn session_key(&self, id: SessionId) -> Result<Uuid> {
        let key = Uuid(id.to_bytes());
        let found = self.query_opt("SELECT 1 FROM sessions WHERE id = $1", &[&key])?;
        found.map(|_| key).ok_or_else(|| StoreError::not_found("session", id))
    }
}

impl Deref for PostgresSnapshot<'_> {
    type Target = PostgresConnection;

    fn deref(&self) -> &PostgresConnection {
        match &self.conn {
            PgReadConnection::Pooled(conn) => conn,
            PgReadConnection::Lent(reader) => reader.conn(),
        }
    }
}

impl Drop for PostgresSnapshot<'_> {
    fn drop(&mut self) {
        if let PgReadConnection::Pooled(conn) = &self.conn {
            // A lost connection has no transaction left, and the pool drops it.
            let _ = conn.batch("COMMIT");
        }
    }
}
