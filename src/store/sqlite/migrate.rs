//! Schema migrations: numbered SQL files, compiled in, each applied once. All missing ones run in one transaction.
//!
//! The file stores a checksum of each applied migration, so that an edited migration is detected. A file of a newer
//! version or of another program is refused before any write. An older file with content is copied first.

use std::{collections::BTreeSet, path::Path};

use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use super::{
    backup,
    error::is_busy,
    fts_index,
    open::{self, APPLICATION_ID},
    row_checksums, session_figures, session_state,
    tables::agents,
};
use crate::store::{OpenOptions, Result, StoreError, default_agents, sidecar_path};
use crate::text_index::WordTokenizer;
use crate::types::Timestamp;

struct Migration {
    name: &'static str,
    sql: &'static str,
}

/// Migrations in order, from version 1. Append only: applied migrations must not change.
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
    Migration { name: "0014_staged_copies", sql: include_str!("../../../migrations/0014_staged_copies.sql") },
    Migration { name: "0015_row_sums", sql: include_str!("../../../migrations/0015_row_sums.sql") },
    Migration { name: "0016_vector_codes", sql: include_str!("../../../migrations/0016_vector_codes.sql") },
    Migration { name: "0017_session_expiry", sql: include_str!("../../../migrations/0017_session_expiry.sql") },
    Migration { name: "0018_received_turns", sql: include_str!("../../../migrations/0018_received_turns.sql") },
    Migration {
        name: "0019_messages_and_cursors",
        sql: include_str!("../../../migrations/0019_messages_and_cursors.sql"),
    },
    Migration { name: "0020_arrow_calls", sql: include_str!("../../../migrations/0020_arrow_calls.sql") },
    Migration { name: "0021_session_figures", sql: include_str!("../../../migrations/0021_session_figures.sql") },
    Migration {
        name: "0022_delegating_collaborator",
        sql: include_str!("../../../migrations/0022_delegating_collaborator.sql"),
    },
    Migration { name: "0023_staged_retags", sql: include_str!("../../../migrations/0023_staged_retags.sql") },
];

/// Schema version of this build.
pub(super) const VERSION: u32 = 23;

/// The table of applied migrations.
const MIGRATIONS_TABLE: &str = "CREATE TABLE migrations (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL
) STRICT";

/// First version with a full-text index; older files are indexed after migrating.
const FIRST_INDEXED_VERSION: usize = 6;
/// First version that indexes the text of calls; older files with calls are indexed anew.
const FIRST_CALL_TEXT_VERSION: usize = 20;
/// First version with session states; older files get them after migrating.
const FIRST_STATE_VERSION: usize = 8;
/// First version with roles, by which edits count in session states.
const FIRST_ROLE_VERSION: usize = 13;
/// First version with turns of people and reported tokens of sessions, which are counted after migrating.
const FIRST_FIGURES_VERSION: usize = 21;

fn checksum(sql: &str) -> String {
    blake3::hash(sql.replace("\r\n", "\n").as_bytes()).to_hex().to_string()
}

fn version(conn: &Connection) -> rusqlite::Result<u32> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Checks that this build may open the file, and returns its version. Uses one transaction: another process may be
/// creating the file, and the application id without the version would look like another program's file.
fn inspect_now(conn: &Connection, path: &Path) -> Result<u32> {
    inspect(&*conn.unchecked_transaction()?, path)
}

/// The check of [`inspect_now`], inside a transaction of the caller.
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

/// Checks that a file opened read-only has exactly this build's version.
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

/// Migrates a file to this build's version. If two processes do so at once, the second finds nothing to do.
pub(super) fn migrate(conn: &mut Connection, path: &Path, options: &OpenOptions) -> Result<()> {
    let found = inspect_now(conn, path)?;
    if found == VERSION {
        return Ok(());
    }
    if found == 0 {
        open::set_wal(conn, options)?;
    }
    // One transaction, so that no process sees a partial migration. The version is read again under the lock.
    let tx = begin(conn, options)?;
    let now = inspect(&tx, path)? as usize;
    let Some(next @ [_, ..]) = MIGRATIONS.get(now..) else { return Ok(()) };
    if now == 0 {
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.execute_batch(MIGRATIONS_TABLE)?;
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
    if now < FIRST_INDEXED_VERSION {
        fts_index::index_missing(&tx, &mut WordTokenizer::default())?;
    } else if now < FIRST_CALL_TEXT_VERSION && fts_index::has_calls(&tx)? {
        fts_index::rebuild(&tx)?;
    }
    if now < FIRST_STATE_VERSION {
        session_state::migrate_legacy(&tx, &options.rules)?;
    } else if now < FIRST_ROLE_VERSION {
        session_state::rebuild_with_roles(&tx, &options.rules)?;
    }
    if now < FIRST_FIGURES_VERSION {
        session_figures::recount(&tx)?;
    }
    if now == 0 {
        for agent in default_agents() {
            agents::insert(&tx, &agent, Timestamp::default())?;
        }
    }
    Ok(tx.commit()?)
}

/// Compares the schema with that of a new file. Returns the names of other tables, indexes, triggers and views.
pub(super) fn other_schema(conn: &Connection) -> Result<Vec<String>> {
    let new = Connection::open_in_memory()?;
    row_checksums::register(&new)?;
    new.execute_batch(MIGRATIONS_TABLE)?;
    for migration in MIGRATIONS {
        new.execute_batch(migration.sql)?;
    }
    let (ours, stored) = (schema(&new)?, schema(conn)?);
    Ok(ours.symmetric_difference(&stored).map(|[_, name, ..]| name.clone()).collect())
}

/// The type, name, table and statement of each part of a schema. White space is normalized: that of the first statement
/// differs between versions of the program.
fn schema(conn: &Connection) -> Result<BTreeSet<[String; 4]>> {
    let mut parts = conn.prepare("SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema")?;
    let parts = parts.query_map([], |r| {
        let sql: String = r.get(3)?;
        Ok([r.get(0)?, r.get(1)?, r.get(2)?, sql.split_whitespace().collect::<Vec<_>>().join(" ")])
    })?;
    Ok(parts.collect::<rusqlite::Result<_>>()?)
}

fn begin<'c>(conn: &'c mut Connection, options: &OpenOptions) -> Result<rusqlite::Transaction<'c>> {
    conn.transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| if is_busy(&error) { StoreError::Busy { waited: options.wait } } else { error.into() })
}

/// Copies the file next to itself before a migration. Uses a second connection, since SQLite cannot copy from one with
/// an open write transaction; the lock prevents other writers meanwhile. The copy is renamed when it is complete. A
/// partial copy of the same name is replaced.
fn backup_beside(path: &Path, version: usize, options: &OpenOptions) -> Result<()> {
    let at = options.clock.now().as_millis();
    let named = |end: &str| sidecar_path(path, &format!(".schema-{version}-{at}.{end}"));
    let (part, to) = (named("part"), named("bak"));
    if part.exists() {
        std::fs::remove_file(&part)?;
    }
    let reader = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    backup::copy(&reader, &part, &mut |_, _| {})?;
    std::fs::rename(&part, &to)?;
    tracing::info!(to = %to.display(), "backup before migrating");
    Ok(())
}
