//! Sessions.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    id::SessionId,
    model::{NewSession, Session, SessionPatch, Timestamp},
    store::{Result, SessionFilter, StoreError, sqlite::rows},
};

pub(in crate::store::sqlite) fn insert(
    conn: &Connection,
    session: &NewSession,
    (agent, tree): (i64, i64),
    position: Option<i64>,
    delegated_by: Option<i64>,
) -> Result<()> {
    conn.execute(
        "INSERT INTO sessions (ulid, workspace, agent, tree, position, started_at, last_active_at, expires_at, metadata,
                               delegated_by)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9)",
        params![
            session.id.to_bytes(),
            session.workspace,
            agent,
            tree,
            position,
            session.started_at.as_millis(),
            session.expires_at.map(Timestamp::as_millis),
            json(&session.metadata)?,
            delegated_by
        ],
    )?;
    Ok(())
}

fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| StoreError::Backend(Box::new(e)))
}

pub(in crate::store::sqlite) fn row(conn: &Connection, id: SessionId) -> Result<i64> {
    conn.prepare_cached("SELECT id FROM sessions WHERE ulid = ?1")?
        .query_row([id.to_bytes()], |r| r.get(0))
        .optional()?
        .ok_or_else(|| StoreError::not_found("session", id))
}

/// Counts a turn; returns its number.
pub(in crate::store::sqlite) fn next_turn(
    conn: &Connection,
    row: i64,
    tokens: Option<u32>,
    at: Timestamp,
) -> Result<u64> {
    Ok(conn
        .prepare_cached(
            "UPDATE sessions SET turn_count = turn_count + 1, total_tokens = total_tokens + ?2,
                 last_active_at = max(last_active_at, ?3) WHERE id = ?1 RETURNING turn_count",
        )?
        .query_row(params![row, tokens.unwrap_or(0), at.as_millis()], |r| r.get(0))?)
}

/// Says that somebody is at work in a session.
pub(in crate::store::sqlite) fn touch(conn: &Connection, row: i64, at: Timestamp) -> Result<()> {
    conn.prepare_cached("UPDATE sessions SET last_active_at = ?2 WHERE id = ?1 AND last_active_at < ?2")?
        .execute(params![row, at.as_millis()])?;
    Ok(())
}

/// Counts a turn that an import brings with its number.
pub(in crate::store::sqlite) fn count_turn(conn: &Connection, row: i64, turn: u64, tokens: Option<u32>) -> Result<()> {
    conn.prepare_cached(
        "UPDATE sessions SET turn_count = max(turn_count, ?2), total_tokens = total_tokens + ?3 WHERE id = ?1",
    )?
    .execute(params![row, turn, tokens.unwrap_or(0)])?;
    Ok(())
}

/// Moves a session to a node of its own tree; other nodes leave it where it is.
pub(in crate::store::sqlite) fn advance(conn: &Connection, row: i64, node: i64, tree: i64) -> Result<()> {
    conn.prepare_cached("UPDATE sessions SET position = ?2 WHERE id = ?1 AND tree = ?3")?
        .execute(params![row, node, tree])?;
    Ok(())
}

pub(in crate::store::sqlite) fn update(
    conn: &Connection,
    row: i64,
    patch: &SessionPatch,
    position: Option<i64>,
    at: Timestamp,
) -> Result<()> {
    conn.execute(
        "UPDATE sessions SET last_active_at = max(last_active_at, ?2), position = coalesce(?3, position),
             versions = coalesce(?4, versions), state = CASE WHEN ?5 THEN ?6 ELSE state END,
             active = coalesce(?7, active), expires_at = CASE WHEN ?8 THEN ?9 ELSE expires_at END,
             metadata = coalesce(?10, metadata)
         WHERE id = ?1",
        params![
            row,
            at.as_millis(),
            position,
            patch.versions.as_ref().map(json).transpose()?,
            patch.state.is_some(),
            patch.state.clone().flatten(),
            patch.active,
            patch.expires_at.is_some(),
            patch.expires_at.flatten().map(Timestamp::as_millis),
            patch.metadata.as_ref().map(json).transpose()?
        ],
    )?;
    Ok(())
}

/// A session with row numbers where it names others: agent, tree, position.
pub(in crate::store::sqlite) type SessionRow = (Session, i64, i64, Option<i64>);

const SESSION: &str = "SELECT ulid, workspace, agent, tree, position, versions, started_at, last_active_at, expires_at,
    turn_count, total_tokens, state, active, metadata,
    (SELECT by.ulid FROM sessions by WHERE by.id = sessions.delegated_by) FROM sessions";

fn read(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    let session = Session {
        id: SessionId::from_bytes(row.get(0)?),
        workspace: row.get(1)?,
        agent: crate::id::AgentId::from_bytes([0; 16]),
        tree: crate::id::TreeId::from_bytes([0; 16]),
        position: None,
        versions: rows::from_json(row, 5)?,
        started_at: Timestamp::from_millis(row.get(6)?),
        last_active_at: Timestamp::from_millis(row.get(7)?),
        expires_at: row.get::<_, Option<i64>>(8)?.map(Timestamp::from_millis),
        turns: row.get(9)?,
        tokens: row.get(10)?,
        state: row.get(11)?,
        active: row.get(12)?,
        metadata: rows::from_json(row, 13)?,
        delegated_by: row.get::<_, Option<[u8; 16]>>(14)?.map(SessionId::from_bytes),
    };
    Ok((session, row.get(2)?, row.get(3)?, row.get(4)?))
}

pub(in crate::store::sqlite) fn get(conn: &Connection, id: SessionId) -> Result<Option<SessionRow>> {
    Ok(conn.prepare_cached(&format!("{SESSION} WHERE ulid = ?1"))?.query_row([id.to_bytes()], read).optional()?)
}

pub(in crate::store::sqlite) fn list(
    conn: &Connection,
    filter: &SessionFilter,
    agent: Option<i64>,
    tree: Option<i64>,
) -> Result<Vec<SessionRow>> {
    // A plain comparison lets SQLite take the index of a tree's sessions, which has them in this order.
    let of_tree = if tree.is_some() { "tree = ?3" } else { "?3 IS NULL" };
    let mut statement = conn.prepare_cached(&format!(
        "{SESSION} WHERE (?1 IS NULL OR workspace = ?1) AND (?2 IS NULL OR agent = ?2) AND {of_tree}
             AND (?4 = 0 OR active = 1) AND (?6 OR delegated_by IS NULL)
         ORDER BY last_active_at DESC, id DESC LIMIT ?5"
    ))?;
    let limit = if filter.limit == 0 { -1 } else { i64::from(filter.limit) };
    let found = statement
        .query_map(params![filter.workspace, agent, tree, filter.active, limit, filter.delegated], read)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(found)
}
