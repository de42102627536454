//! Statements of the table `system_prompts`: system prompts that were sent to the model of a session.

use rusqlite::{Connection, OptionalExtension, params};

use crate::store::Result;

/// Stores a prompt after the session's newest turn. A prompt of the same turn is replaced.
pub(in crate::store::sqlite) fn insert(conn: &Connection, session: i64, turn: u64, content: &str) -> Result<()> {
    conn.prepare_cached(
        "INSERT OR REPLACE INTO system_prompts (session, turn, content, row_sum)
         VALUES (?1, ?2, ?3, row_sum(?1, ?2, ?3))",
    )?
    .execute(params![session, turn, content])?;
    Ok(())
}

/// The newest prompt of a session.
pub(in crate::store::sqlite) fn newest(conn: &Connection, session: i64) -> Result<Option<String>> {
    Ok(conn
        .prepare_cached("SELECT content FROM system_prompts WHERE session = ?1 ORDER BY turn DESC LIMIT 1")?
        .query_row([session], |r| r.get(0))
        .optional()?)
}

/// Removes the prompts of the sessions that a condition on the column `session` selects.
pub(in crate::store::sqlite) fn remove(conn: &Connection, which: &str, key: i64) -> Result<()> {
    conn.execute(&format!("DELETE FROM system_prompts WHERE {which}"), [key])?;
    Ok(())
}
