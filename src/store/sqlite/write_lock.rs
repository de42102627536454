//! The file's write lock, taken at the start of a transaction (`BEGIN IMMEDIATE`). Other processes may write the file too.
//!
//! The writer sleeps briefly between attempts. SQLite's own sleeps grow to 100 ms and let eight writers starve.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{error::is_busy, writer::WriterThread};
use crate::store::{Result, StoreError};

/// Maximum sleep between two attempts to take the lock.
const MAX_LOCK_SLEEP: Duration = Duration::from_millis(4);

impl WriterThread {
    /// Takes the file's write lock, waiting for other processes.
    pub(super) fn begin(&mut self) -> Result<()> {
        let start = Instant::now();
        let mut sleep = Duration::from_micros(100);
        while !self.try_begin()? {
            if start.elapsed() >= self.wait {
                return Err(StoreError::Busy { waited: self.wait });
            }
            thread::sleep(sleep);
            sleep = (sleep * 2).min(MAX_LOCK_SLEEP);
        }
        Ok(())
    }

    /// Takes the file's write lock; `false` if another process has it.
    pub(super) fn try_begin(&mut self) -> Result<bool> {
        match self.conn.prepare_cached("BEGIN IMMEDIATE").and_then(|mut s| s.execute([])) {
            Ok(_) => self.cache.begin(&self.conn).map(|()| true).inspect_err(|_| {
                let _ = self.conn.execute_batch("ROLLBACK");
            }),
            Err(error) if is_busy(&error) => Ok(false),
            Err(error) => Err(self.with_context(error.into())),
        }
    }
}
