//! Copies of the whole file by SQLite's online backup, during which writers continue.

use std::path::Path;

use rusqlite::{
    Connection,
    backup::{Backup, StepResult},
};

use super::{pool::ConnectionPool, private_file::create_private};
use crate::store::{Result, StoreError};

/// Pages between two calls of `progress`: 4 MB.
const PROGRESS_PAGES: i32 = 1_000;

pub(super) fn backup(pool: &ConnectionPool, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
    let conn = pool.borrow()?;
    // In one read transaction the copy shows one moment, and a concurrent commit does not restart it.
    let tx = conn.unchecked_transaction()?;
    copy(&tx, to, progress)
}

/// Copies `from` to a file that must not exist. Removes the file if copying fails.
pub(super) fn copy(from: &Connection, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
    if to.exists() {
        return Err(StoreError::Conflict(format!("{} exists already", to.display())));
    }
    let done = run(from, to, progress);
    if done.is_err() {
        // Best effort: the first error is the one to report.
        let _ = std::fs::remove_file(to);
    }
    done
}

fn run(from: &Connection, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
    create_private(to);
    let mut target = Connection::open(to).map_err(|e| super::error::at_open(e, to))?;
    target.pragma_update(None, "synchronous", "FULL")?;
    {
        let backup = Backup::new(from, &mut target)?;
        loop {
            let step = backup.step(PROGRESS_PAGES)?;
            let at = backup.progress();
            let all = u64::try_from(at.pagecount).unwrap_or(0);
            progress(all - u64::try_from(at.remaining).unwrap_or(0).min(all), all);
            match step {
                StepResult::Done => break,
                StepResult::More => {}
                _ => return Err(StoreError::Busy { waited: std::time::Duration::ZERO }),
            }
        }
    }
    target.close().map_err(|(_, error)| error)?;
    Ok(std::fs::File::open(to).and_then(|file| file.sync_all())?)
}
