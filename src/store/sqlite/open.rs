//! Opening of a file: checks of its type and version, connection settings, start of the writer.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

use super::{
    SqliteStore,
    error::{at_open, is_busy},
    migrate,
    pool::ConnectionPool,
    purge_rewrite, row_checksums, staged_copy, staged_visibility,
    writer::WriterHandle,
};
use crate::store::{OpenOptions, Result, StoreError};

/// SQLite application id of our files: "LOOM".
pub(super) const APPLICATION_ID: i32 = 0x4C4F_4F4D;

/// Frames of the write-ahead log after which a commit runs a checkpoint itself: 32 MB. Usually the writer thread does
/// so when idle. SQLite's default of 4 MB would add a checkpoint's syncs to every 140th append.
const CHECKPOINT_PAGES: u32 = 8_000;

pub(super) fn open(path: &Path, options: &OpenOptions) -> Result<SqliteStore> {
    let path = path.to_owned();
    // A pipe or a device has no end, and SQLite would read it forever.
    if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Err(StoreError::CannotOpen { path, cause: "not a regular file".to_owned() });
    }
    if !options.create && !path.exists() {
        return Err(StoreError::CannotOpen { path, cause: "no such file".to_owned() });
    }
    if options.read_only {
        let pool = ConnectionPool::new(&path, options, true);
        migrate::check(&*pool.borrow()?, &path).map_err(|e| name_file(e, &path, options))?;
        return Ok(SqliteStore { pool, writer: WriterHandle::read_only(path) });
    }
    let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE;
    if options.create {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    if options.create {
        super::private_file::create_private(&path);
    }
    let mut conn = Connection::open_with_flags(&path, flags).map_err(|e| at_open(e, &path))?;
    conn.busy_timeout(options.wait)?;
    prepare_writer(&conn, options).map_err(|e| name_file(at_open(e, &path), &path, options))?;
    migrate::migrate(&mut conn, &path, options).map_err(|e| name_file(e, &path, options))?;
    staged_copy::delete_unfinished(&mut conn, &path, &options.rules);
    purge_rewrite::finish(&mut conn, options);
    let marked = staged_visibility::abandoned(&conn, &path);
    let writer = WriterHandle::start(conn, path.clone(), options, marked)?;
    Ok(SqliteStore { pool: ConnectionPool::new(&path, options, false), writer })
}

/// Page cache of the writer, in KiB. The pages that a large transaction changes fit; with SQLite's default of 2 MB, an
/// import wrote many of them twice and read them again.
const WRITER_CACHE_KIB: i64 = 16_384;

pub(super) fn prepare_writer(conn: &Connection, options: &OpenOptions) -> rusqlite::Result<()> {
    row_checksums::register(conn)?;
    // More than there are statements: preparing an evicted one again costs more than the memory.
    conn.set_prepared_statement_cache_capacity(512);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // The first read fails here if the file is not a database.
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "foreign_keys", "ON")?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    conn.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    if let Some(pages) = options.page_limit {
        conn.pragma_update(None, "max_page_count", pages)?;
    }
    Ok(())
}

/// Enables WAL. Retries, because two processes creating a file may both get `SQLITE_BUSY` despite the timeout.
pub(super) fn set_wal(conn: &Connection, options: &OpenOptions) -> Result<()> {
    let start = Instant::now();
    loop {
        match conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Ok(_) => return Ok(()),
            Err(error) if is_busy(&error) && start.elapsed() < options.wait => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Adds the path and the wait to errors created where they are unknown.
pub(super) fn name_file(error: StoreError, path: &Path, options: &OpenOptions) -> StoreError {
    match error {
        StoreError::Backend(source) => match source.downcast::<rusqlite::Error>() {
            Ok(error) => at_open(*error, path),
            Err(other) => StoreError::Backend(other),
        },
        StoreError::Damaged { detail } if detail.contains("not a database") => {
            StoreError::NotADatabase { path: PathBuf::from(path) }
        }
        StoreError::Damaged { detail } => StoreError::Damaged { detail: format!("{}: {detail}", path.display()) },
        StoreError::Busy { .. } => StoreError::Busy { waited: options.wait },
        other => other,
    }
}
