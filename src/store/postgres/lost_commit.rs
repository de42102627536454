//! Commit, and the fate of a transaction whose answer to COMMIT was lost with the connection.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    decode::get,
    row_numbers::offset,
    writer::{RETRY_PAUSES, WriteConnection, is_lost},
};
use crate::store::{Result, StoreError};

/// SQLSTATE of an invalid parameter value, at the end of an error's message.
const INVALID_VALUE: &str = "(22023)";

impl WriteConnection {
    /// Commits. If the connection is lost meanwhile, asks the server what became of the transaction.
    pub(super) fn commit(&mut self) -> Result<()> {
        if !self.state.stale.is_empty() {
            self.flush()?;
        }
        let conn = self.conn.as_deref().ok_or(StoreError::Closed)?;
        let Err(error) = std::mem::take(&mut self.state.writes).write(conn, true) else { return Ok(()) };
        let (Some(number), true) = (self.state.transaction(), is_lost(&error)) else { return Err(error) };
        let (start, wait) = (Instant::now(), self.wait);
        let status_of = format!("SELECT pg_xact_status(($1::bigint - {})::text::xid8)", offset!());
        loop {
            // Without a connection nothing is known: a server that refuses it may have committed.
            let status = match self.conn() {
                Ok(conn) => conn.query_one(&status_of, &[&number]),
                Err(_) if start.elapsed() > wait => return Err(error),
                Err(_) => {
                    thread::sleep(RETRY_PAUSES[1]);
                    continue;
                }
            };
            match status.and_then(|row| get::<Option<String>>(&row, 0)) {
                Ok(Some(status)) if status == "committed" => return Ok(()),
                Ok(Some(status)) if status == "aborted" => return Err(StoreError::Busy { waited: Duration::ZERO }),
                // A standby that became the server has not seen the transaction: its number is in the future.
                Err(StoreError::Backend(cause)) if cause.to_string().ends_with(INVALID_VALUE) => {
                    return Err(StoreError::Busy { waited: Duration::ZERO });
                }
                _ if start.elapsed() > wait => return Err(error),
                _ => thread::sleep(RETRY_PAUSES[1]),
            }
        }
    }
}
