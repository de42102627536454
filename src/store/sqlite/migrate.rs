//! Migrations: numbered SQL files, compiled in, each applied once; those that a file lacks in one transaction.
//!
//! A file remembers what it went through, with a checksum of each migration's text, so that an edited migration is
//! noticed. A file of a newer version, or of another program, is refused before anything is written. A file that
//! has content and is older is first copied beside itself.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use super::{OpenOptions, backup, error::is_busy, fts_index, open::APPLICATION_ID, session_state, tables::agents};
use crate::store::{Result, StoreError, default_agents};
use crate::text_index::WordTokenizer;
use crate::types::Timestamp;

struct Migration {
    name: &'static str,
    sql: &'static str,
}

/// In order: the first is version 1. Never edited, only added to.
const MIGRATIONS: &[Migration] = &[
    Migration { name: "0001_core", sql: include_str!("../../../migrations/0001_core.sql") },
    Migration { name: "0002_sessions_by_tree", sql: include_str!("../../../migrations/0002_sessions_by_tree.sql") },
    Migration { name: "0003_lighter_append", sql: include_str!("../../../migrations/0003_lighter_append.sql") },
    Migration { name: "0004_memory", sql: include_str!("../../../migrations/0004_memory.sql") },
    Migration { name: "0005_turns", sql: include_str!("../../../migrations/0005_turns.sql") },
    Migration { name: "0006_recall", sql: include_str!("../../../migrations/0006_recall.sql") },
    Migration { name: "0007_todos", sql: include_str!("../../../migrations/0007_todos.sql") },
    Migration { name: "0008_vectors", sql: include_str!("../../../migrations/0008_vectors.sql") },
    Migration { name: "0009_delegations", sql: include_str!("../../../migrations/0009_delegations.sql") },
    Migration { name: "0010_sessions", sql: include_str!("../../../migrations/0010_sessions.sql") },
    Migration { name: "0011_tool_results", sql: include_str!("../../../migrations/0011_tool_results.sql") },
    Migration { name: "0012_newest_local_ids", sql: include_str!("../../../migrations/0012_newest_local_ids.sql") },
    Migration { name: "0013_roles", sql: include_str!("../../../migrations/0013_roles.sql") },
];

/// The schema version that this build writes.
pub(super) const VERSION: u32 = 13;

/// The first version that keeps words to search by: an older file is filled with them.
const INDEXED: usize = 6;
/// The first version that keeps registers of sessions: an older file is given them.
const REGISTERED: usize = 8;

fn checksum(sql: &str) -> String {
    blake3::hash(sql.replace("\r\n", "\n").as_bytes()).to_hex().to_string()
}

fn version(conn: &Connection) -> rusqlite::Result<u32> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Refuses a file that this build must not touch; returns its version. Reads one moment: another process may be
/// making the file, and half of what it writes (the mark without the version) would look like somebody else's.
fn inspect_now(conn: &Connection, path: &Path) -> Result<u32> {
    inspect(&*conn.unchecked_transaction()?, path)
}

/// [`inspect_now`] within a transaction.
pub(super) fn inspect(conn: &Connection, path: &Path) -> Result<u32> {
    let application: i32 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let found = version(conn)?;
    if application != APPLICATION_ID {
        let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if application != 0 || found != 0 || tables != 0 {
            return Err(StoreError::NotADatabase { path: path.to_owned() });
        }
    }
    if found > VERSION {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: VERSION });
    }
    if found > 0 {
        let mut stored = conn.prepare("SELECT version, checksum FROM migrations ORDER BY version")?;
        let mut rows = stored.query([])?;
        let mut known = 0;
        while let Some(row) = rows.next()? {
            let (number, sum): (u32, String) = (row.get(0)?, row.get(1)?);
            let ours = usize::try_from(number).ok().and_then(|n| MIGRATIONS.get(n.wrapping_sub(1)));
            if number != known + 1 || ours.is_none_or(|m| checksum(m.sql) != sum) {
                return Err(StoreError::MigrationDiffers { path: path.to_owned(), version: number });
            }
            known = number;
        }
        if known != found {
            return Err(StoreError::MigrationDiffers { path: path.to_owned(), version: found });
        }
    }
    Ok(found)
}

/// For a file that is only read: it must be of exactly this version.
pub(super) fn check(conn: &Connection, path: &Path) -> Result<()> {
    let found = inspect_now(conn, path)?;
    if found < VERSION {
        return Err(StoreError::Refused(format!(
            "{} is of schema {found}, this build reads {VERSION}: open it once for writing to migrate it",
            path.display()
        )));
    }
    Ok(())
}

/// Brings a file to this build's version. Two processes may do so at once: one migrates, the other finds it done.
pub(super) fn migrate(conn: &mut Connection, path: &Path, options: &OpenOptions) -> Result<()> {
    let found = inspect_now(conn, path)?;
    if found == VERSION {
        return Ok(());
    }
    if found == 0 {
        set_wal(conn, options)?;
    }
    // In one transaction, so that nobody ever meets it half made; an older file after a copy of it was made. It looks
    // again at what is there once it holds the lock.
    let tx = begin(conn, options)?;
    let now = inspect(&tx, path)? as usize;
    let Some(next @ [_, ..]) = MIGRATIONS.get(now..) else { return Ok(()) };
    if now == 0 {
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.execute_batch(
            "CREATE TABLE migrations (
                 version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL
             ) STRICT",
        )?;
    } else {
        backup_beside(path, now, options)?;
    }
    for (version, migration) in (now + 1..).zip(next) {
        tracing::info!(migration = migration.name, "migrating");
        tx.execute_batch(migration.sql)?;
        tx.execute(
            "INSERT INTO migrations (version, name, checksum, applied_at) VALUES (?1, ?2, ?3, ?4)",
            params![version, migration.name, checksum(migration.sql), options.clock.now().as_millis()],
        )?;
        tx.pragma_update(None, "user_version", i64::try_from(version).unwrap_or(i64::MAX))?;
    }
    if now < INDEXED {
        fts_index::catch_up(&tx, &mut WordTokenizer::default())?;
    }
    if now < REGISTERED {
        session_state::take_over(&tx, &options.ears)?;
    }
    if now == 0 {
        for agent in default_agents() {
            agents::insert(&tx, &agent, Timestamp::default())?;
        }
    }
    Ok(tx.commit()?)
}

fn begin<'c>(conn: &'c mut Connection, options: &OpenOptions) -> Result<rusqlite::Transaction<'c>> {
    conn.transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| if is_busy(&error) { StoreError::Busy { waited: options.wait } } else { error.into() })
}

/// Two processes that make a file at once may both find it locked for this, whatever the time-out says.
fn set_wal(conn: &Connection, options: &OpenOptions) -> Result<()> {
    let start = Instant::now();
    loop {
        match conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Ok(_) => return Ok(()),
            Err(error) if is_busy(&error) && start.elapsed() < options.wait => {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Copies the file beside itself, by a connection of its own: one that is about to write cannot be copied from, and
/// while it holds the lock nobody else changes what is copied. The copy gets its name once it is whole; one of that
/// name, left by a migration that was cut off, is replaced.
fn backup_beside(path: &Path, version: usize, options: &OpenOptions) -> Result<()> {
    let named = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".schema-{version}-{}.{end}", options.clock.now().as_millis()));
        PathBuf::from(name)
    };
    let (part, to) = (named("part"), named("bak"));
    let io = |e: std::io::Error| StoreError::Io { detail: e.to_string() };
    if part.exists() {
        std::fs::remove_file(&part).map_err(io)?;
    }
    let reader = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    backup::copy(&reader, &part, &mut |_, _| {})?;
    std::fs::rename(&part, &to).map_err(io)?;
    tracing::info!(to = %to.display(), "backup before migrating");
    Ok(())
}
