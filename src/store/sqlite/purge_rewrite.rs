//! The second step of a purge: rewriting the file, so that no byte of the purged text remains.
//!
//! SQLite may leave bytes of moved rows in the free space of pages, so the purge's transaction is not enough. That
//! transaction sets a mark in `settings`, and rewriting the file removes it. If the process is killed between the two,
//! the next writer that opens the file, or the next purge, finishes the work.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

use crate::store::{OpenOptions, Result, StoreError};

/// Key of the mark. Its value is random: a scrub removes only the mark that it read, and not that of a later purge.
const MARK_KEY: &str = "scrub_owed";

/// Sets the mark. Called in the purge's transaction.
pub(super) fn set_mark(conn: &Connection) -> Result<()> {
    conn.execute("INSERT OR REPLACE INTO settings (name, value) VALUES (?1, hex(randomblob(8)))", [MARK_KEY])?;
    Ok(())
}

/// Reads the mark; `None` if no scrub is pending.
pub(super) fn pending_mark(conn: &Connection) -> Result<Option<String>> {
    Ok(conn.query_row("SELECT value FROM settings WHERE name = ?1", [MARK_KEY], |r| r.get(0)).optional()?)
}

/// Rewrites the file, empties the log, and removes the mark. Waits for readers and other writers. Takes time
/// proportional to the size of the file.
pub(super) fn scrub(conn: &mut Connection, wait: Duration) -> Result<()> {
    conn.busy_timeout(wait)?;
    let mark = pending_mark(conn)?;
    conn.execute_batch("VACUUM")?;
    let busy: i64 = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |r| r.get(0))?;
    if busy != 0 {
        return Err(StoreError::Busy { waited: wait });
    }
    if let Some(mark) = mark {
        conn.execute("DELETE FROM settings WHERE name = ?1 AND value = ?2", [MARK_KEY, &mark])?;
    }
    Ok(())
}

/// The problem that `verify` reports while a scrub is pending.
pub(super) fn problem(conn: &Connection) -> Result<Option<String>> {
    Ok(pending_mark(conn)?.map(|_| {
        "a purge is unfinished: bytes of purged content may be left in the file until the next writer opens it"
            .to_owned()
    }))
}

/// Maximum time that opening a file waits for readers, to finish another process' purge.
const LONGEST_WAIT_FOR_SCRUB: Duration = Duration::from_secs(1);

/// Finishes a purge whose process was killed. If another process prevents it, the file opens anyway, and a later writer
/// finishes the purge.
pub(super) fn finish(conn: &mut Connection, options: &OpenOptions) {
    let scrubbed = pending_mark(conn).and_then(|mark| match mark {
        Some(_) => scrub(conn, options.wait.min(LONGEST_WAIT_FOR_SCRUB)),
        None => Ok(()),
    });
    if let Err(error) = scrubbed {
        tracing::warn!(%error, "an unfinished purge could not be finished");
    }
}
