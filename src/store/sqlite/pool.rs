//! A small pool of reading connections. Callers borrow one for the length of a snapshot; when all are lent, more are
//! opened, and no more than [`KEPT`] are kept when they come back.

use std::{
    ops::Deref,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::{OpenOptions, error::at_open, prepared_change::TokenizerPool};
use crate::{session_state::CompiledRules, store::Result};

/// Connections that wait for the next reader.
const KEPT: usize = 4;
/// Pages that a connection holds at most, in KiB: a path of 10,000 messages, which is read again at every turn.
const CACHE: i32 = 16_384;

#[derive(Debug)]
pub(super) struct ConnectionPool {
    path: PathBuf,
    wait: Duration,
    /// Whether the store only reads, and so may meet a folder that cannot be written.
    read_only: bool,
    idle: Mutex<Vec<Connection>>,
    words: TokenizerPool,
    ears: Arc<CompiledRules>,
}

impl ConnectionPool {
    pub(super) fn new(path: &Path, options: &OpenOptions, read_only: bool) -> Self {
        let ears = Arc::clone(&options.ears);
        let (idle, words) = (Mutex::default(), TokenizerPool::default());
        Self { path: path.to_owned(), wait: options.wait, read_only, idle, words, ears }
    }

    /// By which rules registers are kept here.
    pub(super) fn ears(&self) -> &Arc<CompiledRules> {
        &self.ears
    }

    /// A connection that only reads.
    pub(super) fn borrow(&self) -> Result<PooledConnection<'_>> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(conn) = idle {
            return Ok(PooledConnection { pool: self, conn: Some(conn), kept: true });
        }
        let (conn, kept) = self.open()?;
        Ok(PooledConnection { pool: self, conn: Some(conn), kept })
    }

    /// A connection of somebody's own that only reads, and whether it stays true of the file.
    pub(super) fn open(&self) -> Result<(Connection, bool)> {
        match self.connect(&self.path, OpenFlags::empty()) {
            Ok(conn) => Ok((conn, true)),
            Err(error) => match self.closed_file(&error) {
                Some(uri) => self.connect(Path::new(&uri), OpenFlags::SQLITE_OPEN_URI).map(|conn| (conn, false)),
                None => Err(error),
            }
            .map_err(|error| at_open(error, &self.path)),
        }
    }

    /// Even a reader needs the log's index beside the file, and makes it if it is not there. Where it may not (a
    /// folder that cannot be written, a disc), but nobody has left a log either, the file is all there is, and is
    /// read as it stands, for one snapshot: somebody with more rights may begin to write.
    fn closed_file(&self, error: &rusqlite::Error) -> Option<String> {
        let refused = matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly));
        let mut log = self.path.as_os_str().to_owned();
        log.push("-wal");
        let logged = std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
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
        conn.set_prepared_statement_cache_capacity(512);
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        conn.pragma_update(None, "query_only", "ON")?;
        conn.pragma_update(None, "cache_size", -CACHE)?;
        if self.read_only {
            // The first read is what fails where the index cannot be made.
            conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        }
        Ok(conn)
    }
}

/// A borrowed connection; it goes back when dropped.
#[derive(Debug)]
pub(super) struct PooledConnection<'p> {
    pool: &'p ConnectionPool,
    conn: Option<Connection>,
    kept: bool,
}

impl<'p> PooledConnection<'p> {
    /// By which rules registers are kept here.
    pub(super) fn ears(&self) -> &'p CompiledRules {
        &self.pool.ears
    }

    /// Who reads words here.
    pub(super) fn words(&self) -> &'p TokenizerPool {
        &self.pool.words
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
            && self.kept
            && idle.len() < KEPT
        {
            idle.push(conn);
        }
    }
}
