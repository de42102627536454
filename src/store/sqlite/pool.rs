//! A small pool of reading connections. Callers borrow one for the length of a snapshot; when all are lent, more are
//! opened, and no more than [`KEPT`] are kept when they come back.

use std::{
    ops::Deref,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use super::error::at_open;
use crate::store::Result;

/// Connections that wait for the next reader. Each holds at most 2 MB of pages.
const KEPT: usize = 4;

#[derive(Debug)]
pub(super) struct Pool {
    path: PathBuf,
    wait: Duration,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    pub(super) fn new(path: &Path, wait: Duration, first: Option<Connection>) -> Self {
        Self { path: path.to_owned(), wait, idle: Mutex::new(first.into_iter().collect()) }
    }

    /// A connection that only reads.
    pub(super) fn borrow(&self) -> Result<Reader<'_>> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let conn = match idle {
            Some(conn) => conn,
            None => self.connect()?,
        };
        Ok(Reader { pool: self, conn: Some(conn) })
    }

    fn connect(&self) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&self.path, flags).map_err(|e| at_open(e, &self.path))?;
        conn.busy_timeout(self.wait)?;
        conn.set_prepared_statement_cache_capacity(64);
        conn.pragma_update(None, "query_only", "ON")?;
        Ok(conn)
    }
}

/// A borrowed connection; it goes back when dropped.
#[derive(Debug)]
pub(super) struct Reader<'p> {
    pool: &'p Pool,
    conn: Option<Connection>,
}

impl Deref for Reader<'_> {
    type Target = Connection;

    #[allow(clippy::expect_used)] // `conn` is only taken by `drop`
    fn deref(&self) -> &Connection {
        self.conn.as_ref().expect("present until dropped")
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(conn) = self.conn.take()
            && idle.len() < KEPT
        {
            idle.push(conn);
        }
    }
}
