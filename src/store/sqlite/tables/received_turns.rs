//! Statements of the table `received_turns`: turns of a session whose nodes another session appended.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    id::NodeId,
    store::{Result, sqlite::visibility::row_of},
};

/// Condition on `nodes`: the session with row number `?1` appended or received the node.
pub(in crate::store::sqlite) const IN_SESSION: &str =
    "(session = ?1 OR seq IN (SELECT node FROM received_turns WHERE session = ?1))";

pub(in crate::store::sqlite) fn insert(conn: &Connection, session: i64, turn: u64, node: i64) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO received_turns (session, turn, node, row_sum) VALUES (?1, ?2, ?3, row_sum(?1, ?2, ?3))",
    )?
    .execute(params![session, turn, node])?;
    Ok(())
}

/// The turn as which a session received a node.
pub(in crate::store::sqlite) fn turn(conn: &Connection, session: i64, node: i64) -> Result<Option<u64>> {
    Ok(conn
        .prepare_cached("SELECT turn FROM received_turns WHERE node = ?2 AND session = ?1")?
        .query_row([session, node], |r| r.get(0))
        .optional()?)
}

/// True if a turn of the session has this number.
pub(in crate::store::sqlite) fn is_taken(conn: &Connection, session: i64, turn: u64) -> Result<bool> {
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM nodes WHERE session = ?1 AND turn = ?2
             UNION ALL SELECT 1 FROM received_turns WHERE session = ?1 AND turn = ?2",
        )?
        .exists(params![session, turn])?)
}

/// Lists the turns that a session received, in order, or only that of one node.
pub(in crate::store::sqlite) fn list(
    conn: &Connection,
    session: i64,
    node: Option<NodeId>,
) -> Result<Vec<(u64, NodeId)>> {
    if let Some(id) = node {
        let turn = row_of(conn, id)?.map(|row| turn(conn, session, row)).transpose()?.flatten();
        return Ok(turn.map(|turn| (turn, id)).into_iter().collect());
    }
    let mut statement = conn.prepare_cached(
        "SELECT r.turn, n.ulid FROM received_turns r JOIN nodes n ON n.seq = r.node WHERE r.session = ?1 ORDER BY r.turn",
    )?;
    let turns = statement.query_map([session], |r| Ok((r.get(0)?, NodeId::from_bytes(r.get(1)?))))?;
    Ok(turns.collect::<rusqlite::Result<_>>()?)
}

/// The sequence numbers of the nodes that a session received.
pub(in crate::store::sqlite) fn nodes(conn: &Connection, session: i64) -> Result<HashSet<u64>> {
    let mut statement = conn.prepare_cached("SELECT node FROM received_turns WHERE session = ?1")?;
    Ok(statement.query_map([session], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// The sessions that received any of the nodes that a condition on `nodes` selects.
pub(in crate::store::sqlite) fn receivers(conn: &Connection, which: &str, key: i64) -> Result<Vec<i64>> {
    let mut statement = conn.prepare(&format!(
        "SELECT DISTINCT r.session FROM received_turns r WHERE r.node IN (SELECT seq FROM nodes WHERE {which})"
    ))?;
    Ok(statement.query_map([key], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?)
}
