//! Commit, and the fate of a transaction whose answer to COMMIT was lost with the connection.
//!
//! The number of a transaction does not identify it: a standby that became the server may have given it to another one. So
//! an entry of the journal that the transaction wrote is looked up. A transaction without entries is confirmed only on the same
//! timeline: after a promotion its fate stays unknown, and the caller gets the error.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    connection::PostgresConnection,
    decode::{get, int, opt_int},
    journal::COUNTER_BITS,
    pending_rows::EntryKey,
    row_numbers::offset,
    uuid::Uuid,
    writer::{RETRY_PAUSES, WriteConnection, is_lost},
};
use crate::store::{Result, StoreError};

/// SQLSTATE of an invalid parameter value, at the end of an error's message.
const INVALID_VALUE: &str = "(22023)";

/// The timeline of the server, which a promotion changes.
const TIMELINE: &str = "left(pg_walfile_name(pg_current_wal_lsn()), 8)";

/// Evidence that a committed transaction is the one that was sent.
enum CommitEvidence {
    Entry(EntryKey),
    /// The timeline, for a transaction without entries.
    Timeline(String),
}

impl WriteConnection {
    /// Commits. If the connection is lost meanwhile, asks the server what became of the transaction.
    pub(super) fn commit(&mut self) -> Result<()> {
        let sent = self.state.transaction().map(|number| Ok::<_, StoreError>((number, self.evidence(number)?)));
        let sent = sent.transpose()?;
        if !self.state.stale.is_empty() {
            self.flush()?;
        }
        self.state.pending_rows.add_locked(&self.state.locked);
        let conn = self.conn.as_deref().ok_or(StoreError::Closed)?;
        let Err(error) = std::mem::take(&mut self.state.pending_rows).write(conn, true) else { return Ok(()) };
        let (Some((number, evidence)), true) = (sent, is_lost(&error)) else { return Err(error) };
        let (start, wait) = (Instant::now(), self.wait);
        loop {
            // Without a connection nothing is known: a server that refuses it may have committed.
            match self.conn().and_then(|conn| fate(conn, number, &evidence)) {
                Ok(Some(true)) => return Ok(()),
                Ok(Some(false)) => return Err(StoreError::Busy { waited: Duration::ZERO }),
                _ if start.elapsed() > wait => return Err(error),
                _ => thread::sleep(RETRY_PAUSES[1]),
            }
        }
    }

    /// Evidence of the open transaction. A transaction that has written all its entries before is asked for one.
    fn evidence(&self, number: i64) -> Result<CommitEvidence> {
        if let Some(entry) = self.state.pending_rows.last_entry() {
            return Ok(CommitEvidence::Entry(entry));
        }
        let conn = self.conn.as_deref().ok_or(StoreError::Closed)?;
        let sql = format!(
            "SELECT t.timeline, j.seq, j.tree, j.agent, j.at FROM (SELECT {TIMELINE} AS timeline) t
                 LEFT JOIN LATERAL (SELECT * FROM journal WHERE seq > $1 AND seq < $2 ORDER BY seq LIMIT 1) j ON true"
        );
        let row = conn.query_one(&sql, &[&(number << COUNTER_BITS), &((number + 1) << COUNTER_BITS)])?;
        Ok(match opt_int(&row, 1)? {
            Some(seq) => {
                let (tree, agent): (Uuid, Uuid) = (get(&row, 2)?, get(&row, 3)?);
                CommitEvidence::Entry(EntryKey { tree, seq, agent, at: int(&row, 4)? })
            }
            None => CommitEvidence::Timeline(get(&row, 0)?),
        })
    }
}

/// Returns whether a transaction was committed; `None` if that is not known, or not yet.
fn fate(conn: &PostgresConnection, number: i64, evidence: &CommitEvidence) -> Result<Option<bool>> {
    let status = format!("SELECT pg_xact_status(($1::bigint - {})::text::xid8)", offset!());
    match conn.query_one(&status, &[&number]).and_then(|row| get::<Option<String>>(&row, 0)) {
        Ok(Some(status)) if status == "committed" => {}
        Ok(Some(status)) if status == "aborted" => return Ok(Some(false)),
        // A standby that became the server has not seen the transaction: its number is in the future.
        Err(StoreError::Backend(cause)) if cause.to_string().ends_with(INVALID_VALUE) => return Ok(Some(false)),
        other => return other.map(|_| None),
    }
    match evidence {
        CommitEvidence::Entry(EntryKey { tree, seq, agent, at }) => {
            let sql = "SELECT 1 FROM journal WHERE tree = $1 AND seq = $2 AND agent = $3 AND at = $4";
            if conn.query_opt(sql, &[tree, seq, agent, at])?.is_none() {
                return Ok(Some(false));
            }
        }
        CommitEvidence::Timeline(before) => {
            let now: String = get(&conn.query_one(&format!("SELECT {TIMELINE}"), &[])?, 0)?;
            if now != *before {
                return Ok(None);
            }
        }
    }
    // The old connection may have ended while it waited for a synchronous standby. This commit waits for what is before it.
    conn.query_one("SELECT pg_logical_emit_message(true, 'loom', '')", &[])?;
    Ok(Some(true))
}
