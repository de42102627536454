//! Statements of the session states (table `registers`) and of records.

use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    session_state::{RecordKind, SessionRecord},
    store::{Result, StoreError, session_state_rules::StoredState, sqlite::decode::coded},
};

pub(in crate::store::sqlite) fn load(conn: &Connection, session: i64) -> Result<Option<StoredState>> {
    Ok(conn
        .prepare_cached("SELECT rules, state FROM registers WHERE session = ?1")?
        .query_row([session], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?)
}

pub(in crate::store::sqlite) fn save(conn: &Connection, session: i64, rules: i64, state: &str) -> Result<()> {
    conn.prepare_cached(
        "INSERT INTO registers (session, rules, state) VALUES (?1, ?2, ?3)
         ON CONFLICT (session) DO UPDATE SET rules = ?2, state = ?3",
    )?
    .execute(params![session, rules, state])?;
    Ok(())
}

/// The sessions of the nodes in the collected branch (`temp.branch`) that have a state or records.
pub(in crate::store::sqlite) fn in_branch(conn: &Connection) -> Result<Vec<i64>> {
    let mut statement = conn.prepare_cached(
        "SELECT n.session FROM temp.branch b JOIN nodes n ON n.seq = b.node JOIN registers r ON r.session = n.session
         UNION
         SELECT t.session FROM temp.branch b JOIN received_turns t ON t.node = b.node
             JOIN registers r ON r.session = t.session",
    )?;
    Ok(statement.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// Inserts a record after a turn; `None`: after the newest. Returns its row number.
pub(in crate::store::sqlite) fn record(
    conn: &Connection,
    session: i64,
    kind: RecordKind,
    content: &str,
    turn: Option<u64>,
) -> Result<i64> {
    conn.prepare_cached(
        "INSERT INTO records (session, turn, kind, content)
         SELECT id, coalesce(?4, turn_count), ?2, ?3 FROM sessions WHERE id = ?1",
    )?
    .execute(params![session, kind.code(), content, turn])?;
    Ok(conn.last_insert_rowid())
}

/// Marks a record as removed or restores it; returns its session, or `None` if nothing changed.
pub(in crate::store::sqlite) fn set_removed(conn: &Connection, row: u64, removed: bool) -> Result<Option<i64>> {
    let session = conn.query_row("SELECT session FROM records WHERE id = ?1", [row], |r| r.get(0)).optional()?;
    let session = session.ok_or_else(|| StoreError::not_found("record", row))?;
    let changed =
        conn.execute("UPDATE records SET removed = ?2 WHERE id = ?1 AND removed <> ?2", params![row, removed])?;
    Ok((changed > 0).then_some(session))
}

/// Lists a session's records in order, without removed ones.
pub(in crate::store::sqlite) fn records(conn: &Connection, session: i64) -> Result<Vec<SessionRecord>> {
    let mut statement = conn.prepare_cached(
        "SELECT turn, kind, content FROM records WHERE session = ?1 AND removed = 0 ORDER BY turn, id",
    )?;
    let read = |r: &rusqlite::Row<'_>| {
        Ok(SessionRecord { turn: r.get(0)?, kind: coded(r, 1, RecordKind::from_code)?, content: r.get(2)? })
    };
    Ok(statement.query_map([session], read)?.collect::<rusqlite::Result<_>>()?)
}
