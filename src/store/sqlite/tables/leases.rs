//! Statements of the table `leases`, which holds few rows at any time.

use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    id::{AgentId, NodeId, SessionId},
    store::{Result, StoreError},
    types::{Lease, Timestamp},
};

/// A lease with row numbers.
#[derive(Debug, Clone, Copy)]
pub(in crate::store::sqlite) struct LeaseRow {
    pub(in crate::store::sqlite) node: i64,
    pub(in crate::store::sqlite) agent: i64,
    pub(in crate::store::sqlite) session: Option<i64>,
    pub(in crate::store::sqlite) lease: Lease,
}

/// Acquires or renews a lease, and deletes expired ones.
pub(in crate::store::sqlite) fn acquire(
    conn: &Connection,
    [node, agent]: [i64; 2],
    session: Option<i64>,
    until: Timestamp,
    at: Timestamp,
) -> Result<()> {
    let latest = at.as_millis().saturating_add(Lease::MAX_DURATION_MS);
    conn.prepare_cached("DELETE FROM leases WHERE expires_at <= ?1 OR expires_at > ?2")?
        .execute(params![at.as_millis(), latest])?;
    conn.prepare_cached(
        "INSERT INTO leases (node, agent, session, expires_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (node) DO UPDATE SET agent = ?2, session = ?3, expires_at = ?4",
    )?
    .execute(params![node, agent, session, until.as_millis().min(latest)])?;
    Ok(())
}

/// Releases the lease of this agent in this session, if there is one.
pub(in crate::store::sqlite) fn release(conn: &Connection, node: i64, agent: i64, session: Option<i64>) -> Result<()> {
    conn.prepare_cached("DELETE FROM leases WHERE node = ?1 AND agent = ?2 AND session IS ?3")?
        .execute(params![node, agent, session])?;
    Ok(())
}

/// Lists the leases of all trees or of one, expired ones included.
pub(in crate::store::sqlite) fn all(conn: &Connection, tree: Option<i64>) -> Result<Vec<LeaseRow>> {
    let mut statement = conn.prepare_cached(
        "SELECT l.node, l.agent, l.session, n.ulid, a.ulid, s.ulid, l.expires_at
         FROM leases l JOIN nodes n ON n.seq = l.node JOIN agents a ON a.id = l.agent
             LEFT JOIN sessions s ON s.id = l.session
         WHERE ?1 IS NULL OR n.tree = ?1 ORDER BY l.node",
    )?;
    let read = statement.query_map([tree], |row| {
        Ok(LeaseRow {
            node: row.get(0)?,
            agent: row.get(1)?,
            session: row.get(2)?,
            lease: Lease {
                node: NodeId::from_bytes(row.get(3)?),
                agent: AgentId::from_bytes(row.get(4)?),
                session: row.get::<_, Option<[u8; 16]>>(5)?.map(SessionId::from_bytes),
                until: Timestamp::from_millis(row.get(6)?),
            },
        })
    })?;
    Ok(read.collect::<rusqlite::Result<_>>()?)
}

/// The error for a change that a lease prevents.
pub(in crate::store::sqlite) fn refusal(conn: &Connection, held: &LeaseRow, at: Timestamp) -> Result<StoreError> {
    let (agent, node) = conn
        .prepare_cached("SELECT a.name, n.local_id FROM agents a, nodes n WHERE a.id = ?1 AND n.seq = ?2")?
        .query_row([held.agent, held.node], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?
        .ok_or_else(|| StoreError::Undecodable("a lease names what is not there".to_owned()))?;
    let left = held.lease.until.as_millis().saturating_sub(at.as_millis()).max(0).unsigned_abs();
    Ok(StoreError::Leased { agent, node, seconds: left.div_ceil(1_000) })
}
