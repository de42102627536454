//! The second half of a purge: the file is written anew, so that no byte of the purged words stays in it.
//!
//! SQLite may leave bytes of moved rows in the free space of pages, so the purge's transaction alone is not enough. That
//! transaction writes a mark into `settings`, and the mark goes once the file is written anew. A process killed between
//! the two leaves the mark, and the next writer that opens the file, or the next purge, finishes the work.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

use crate::store::{Result, StoreError};

/// The name of the mark. Its value is random: a scrub removes the mark that it read and not one of a later purge.
const OWED: &str = "scrub_owed";

/// Marks the file as one that must be scrubbed. Part of the purge's transaction.
pub(super) fn owe(conn: &Connection) -> Result<()> {
    conn.execute("INSERT OR REPLACE INTO settings (name, value) VALUES (?1, hex(randomblob(8)))", [OWED])?;
    Ok(())
}

/// The mark, if a scrub is owed.
pub(super) fn owed(conn: &Connection) -> Result<Option<String>> {
    Ok(conn.query_row("SELECT value FROM settings WHERE name = ?1", [OWED], |r| r.get(0)).optional()?)
}

/// Writes the whole file anew, empties the log, and removes the mark. Waits for readers and other writers. Takes time in
/// proportion to the file.
pub(super) fn scrub(conn: &mut Connection, wait: Duration) -> Result<()> {
    conn.busy_timeout(wait)?;
    let mark = owed(conn)?;
    conn.execute_batch("VACUUM")?;
    let busy: i64 = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |r| r.get(0))?;
    if busy != 0 {
        return Err(StoreError::Busy { waited: wait });
    }
    if let Some(mark) = mark {
        conn.execute("DELETE FROM settings WHERE name = ?1 AND value = ?2", [OWED, &mark])?;
    }
    Ok(())
}

/// The problem that `verify` reports while a scrub is owed.
pub(super) fn problem(conn: &Connection) -> Result<Option<String>> {
    Ok(owed(conn)?.map(|_| {
        "a purge is unfinished: bytes of purged content may be left in the file until the next writer opens it"
            .to_owned()
    }))
}
