//! A pool of read connections. A caller borrows one for the duration of a snapshot. If all are in use, another one is
//! opened; at most [`MAX_IDLE_CONNECTIONS`] stay open after their return.

use std::{
    ops::Deref,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::{error::at_open, prepared_change::ChangePreparer, row_checksums};
use crate::{
    session_state::CompiledRules,
    store::{OpenOptions, Result, sidecar_path},
};

/// Maximum number of idle connections.
const MAX_IDLE_CONNECTIONS: usize = 4;
/// Page cache of a connection in KiB: enough for a path of 10,000 messages, which every turn reads again.
const CACHE_KIB: i32 = 16_384;

#[derive(Debug)]
pub(super) struct ConnectionPool {
    path: PathBuf,
    wait: Duration,
    /// True if the store is read-only, whose folder may not be writable.
    read_only: bool,
    idle: Mutex<Vec<Connection>>,
    tokenizers: ChangePreparer,
    rules: Arc<CompiledRules>,
}

impl ConnectionPool {
    pub(super) fn new(path: &Path, options: &OpenOptions, read_only: bool) -> Self {
        let rules = Arc::clone(&options.rules);
        let (idle, tokenizers) = (Mutex::default(), ChangePreparer::default());
        Self { path: path.to_owned(), wait: options.wait, read_only, idle, tokenizers, rules }
    }

    /// Rules that extract session states.
    pub(super) fn rules(&self) -> &Arc<CompiledRules> {
        &self.rules
    }

    /// Borrows a read-only connection.
    pub(super) fn borrow(&self) -> Result<PooledConnection<'_>> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(conn) = idle {
            return Ok(PooledConnection { pool: self, conn: Some(conn), reusable: true });
        }
        let (conn, reusable) = self.open()?;
        Ok(PooledConnection { pool: self, conn: Some(conn), reusable })
    }

    /// Opens a read-only connection; `false` if it does not see later changes of the file.
    pub(super) fn open(&self) -> Result<(Connection, bool)> {
        match self.connect(&self.path, OpenFlags::empty()) {
            Ok(conn) => Ok((conn, true)),
            Err(error) => match self.immutable_uri(&error) {
                Some(uri) => self.connect(Path::new(&uri), OpenFlags::SQLITE_OPEN_URI).map(|conn| (conn, false)),
                None => Err(error),
            }
            .map_err(|error| at_open(error, &self.path)),
        }
    }

    /// Returns a URI that opens the file as immutable, if nothing else works. A reader needs the log's index next to
    /// the file and creates it if missing, which fails in a read-only folder and on a full disk. If there is no log
    /// either, the file is complete. Such a connection serves one snapshot only, since a process with more rights may
    /// start writing.
    fn immutable_uri(&self, error: &rusqlite::Error) -> Option<String> {
        let refused = matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::DiskFull | ErrorCode::SystemIoFailure)
        );
        let logged = std::fs::metadata(sidecar_path(&self.path, "-wal")).is_ok_and(|log| log.len() > 0);
        if !self.read_only || !refused || logged || std::fs::File::open(&self.path).is_err() {
            return None;
        }
        let path = std::path::absolute(&self.path).ok()?;
        let path = path.to_str()?.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        Some(format!("file:{path}?immutable=1"))
    }

    fn connect(&self, path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
        let flags = flags | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(self.wait)?;
        row_checksums::register(&conn)?;
        conn.set_prepared_statement_cache_capacity(512);
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        conn.pragma_update(None, "query_only", "ON")?;
        conn.pragma_update(None, "cache_size", -CACHE_KIB)?;
        if self.read_only {
            // If the log's index cannot be created, the first read fails.
            conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        }
        Ok(conn)
    }
}

/// A borrowed connection, returned to the pool when dropped.
#[derive(Debug)]
pub(super) struct PooledConnection<'p> {
    pool: &'p ConnectionPool,
    conn: Option<Connection>,
    reusable: bool,
}

impl<'p> PooledConnection<'p> {
    /// Rules that extract session states.
    pub(super) fn rules(&self) -> &'p CompiledRules {
        &self.pool.rules
    }

    /// Tokenizers for unindexed nodes.
    pub(super) fn tokenizers(&self) -> &'p ChangePreparer {
        &self.pool.tokenizers
    }
}

impl Deref for PooledConnection<'_> {
    type Target = Connection;

    #[allow(clippy::expect_used)] // `conn` is only taken by `drop`
    fn deref(&self) -> &Connection {
        self.conn.as_ref().expect("present until dropped")
    }
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(conn) = self.conn.take()
            && self.reusable
            && idle.len() < MAX_IDLE_CONNECTIONS
        {
            idle.push(conn);
        }
    }
}
