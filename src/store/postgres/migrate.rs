//! Migrations of a database, applied under a lock that lasts as long as the transaction.

use super::{
    connection::PostgresConnection,
    decode::{get, int},
    row_numbers::raise_offset,
    uuid::Uuid,
};
use crate::store::{OpenOptions, Result, StoreError, default_agents};

/// A migration: its file's name and text.
struct PgMigration {
    name: &'static str,
    sql: &'static str,
}

macro_rules! migration {
    ($name:literal) => {
        PgMigration { name: $name, sql: include_str!(concat!("../../../migrations/postgres/", $name, ".sql")) }
    };
}

/// All migrations, in order. A released one is never changed.
const MIGRATIONS: &[PgMigration] = &[
    migration!("0001_core"),
    migration!("0002_search"),
    migration!("0003_statistics"),
    migration!("0004_views"),
    migration!("0005_parents"),
    migration!("0006_hot_updates"),
];

/// Number of the lock under which migrations run: "LOOM".
const LOCK: i64 = 0x4C4F_4F4D;

fn checksum(sql: &str) -> String {
    blake3::hash(sql.replace("\r\n", "\n").as_bytes()).to_hex().to_string()
}

/// Checks that this build may open the database; returns the number of applied migrations.
fn applied(conn: &PostgresConnection, name: &str) -> Result<usize> {
    // One statement, since another process may migrate the database meanwhile.
    let there = conn.query_one(
        "SELECT count(*) FILTER (WHERE tablename = 'loom_migrations'), count(*) FROM pg_tables
        WHERE schemaname = current_schema()",
        &[],
    )?;
    match (int(&there, 0)?, int(&there, 1)?) {
        (0, 0) => return Ok(0),
        (0, _) => return Err(StoreError::NotADatabase { path: name.into() }),
        _ => {}
    }
    let rows = conn.query("SELECT version, checksum FROM loom_migrations ORDER BY version", &[])?;
    let known = MIGRATIONS.len();
    if rows.len() > known {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        return Err(StoreError::Newer { path: name.into(), found: number(rows.len()), known: number(known) });
    }
    for (number, (row, ours)) in (1..).zip(rows.iter().zip(MIGRATIONS)) {
        if int(row, 0)? != i64::from(number) || get::<&str>(row, 1)? != checksum(ours.sql) {
            return Err(StoreError::MigrationDiffers { path: name.into(), version: number });
        }
    }
    Ok(rows.len())
}

/// Migrates a database to this build's version. `name` names it in errors.
pub(super) fn migrate(conn: &PostgresConnection, name: &str, options: &OpenOptions) -> Result<()> {
    let cannot = |cause: String| Err(StoreError::CannotOpen { path: name.into(), cause });
    let encoding: String = get(&conn.query_one("SELECT getdatabaseencoding()::text", &[])?, 0)?;
    if encoding != "UTF8" {
        return cannot(format!("its encoding is {encoding}; create it with the encoding UTF8"));
    }
    let found = applied(conn, name)?;
    if found == MIGRATIONS.len() {
        return if options.read_only { Ok(()) } else { complete(conn).or_else(only_reading) };
    }
    if found == 0 && !options.create {
        return cannot("it is empty; `loom new`, `loom import` or `loom transfer` begins it".to_owned());
    }
    if options.read_only {
        return cannot(format!(
            "it has schema {found}, this build needs {}; open it once for writing",
            MIGRATIONS.len()
        ));
    }
    conn.transaction(|| apply(conn, name, options))?;
    complete(conn)
}

/// Gives the database its id and, after a restore into another cluster, numbers that follow those in it.
fn complete(conn: &PostgresConnection) -> Result<()> {
    raise_offset(conn, LOCK)?;
    if database_id(conn)?.is_none() {
        let sql =
            "INSERT INTO settings (name, value) VALUES ('database_id', gen_random_uuid()::text) ON CONFLICT DO NOTHING";
        conn.transaction(|| conn.execute(sql, &[]))?;
    }
    Ok(())
}

/// A standby and a role without rights can read.
fn only_reading(error: StoreError) -> Result<()> {
    match error {
        StoreError::Refused(why) => {
            tracing::debug!(why, "the database is read only");
            Ok(())
        }
        other => Err(other),
    }
}

/// Returns the id that the database has under every URL; `None` if it was never opened for writing by this version.
pub(super) fn database_id(conn: &PostgresConnection) -> Result<Option<String>> {
    let row = conn.query_opt("SELECT value FROM settings WHERE name = 'database_id'", &[])?;
    row.as_ref().map(|row| get(row, 0)).transpose()
}

/// Applies the missing migrations. If two processes do so at once, the second finds nothing to do.
fn apply(conn: &PostgresConnection, name: &str, options: &OpenOptions) -> Result<()> {
    conn.query("SELECT pg_advisory_xact_lock($1)", &[&LOCK])?;
    let found = applied(conn, name)?;
    if found == 0 {
        conn.batch(
            "CREATE TABLE IF NOT EXISTS loom_migrations (
                 version bigint PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at bigint NOT NULL)",
        )?;
    }
    for (version, migration) in (1_i64..).zip(MIGRATIONS).skip(found) {
        tracing::info!(migration = migration.name, "migrating");
        conn.batch(migration.sql)?;
        conn.execute(
            "INSERT INTO loom_migrations VALUES ($1, $2, $3, $4)",
            &[&version, &migration.name, &checksum(migration.sql), &options.clock.now().as_millis()],
        )?;
    }
    if found == 0 {
        for (seq, agent) in (1_i64..).zip(default_agents()) {
            conn.execute(
                "INSERT INTO agents (id, seq, name, kind, permissions, created_at) VALUES ($1, $2, $3, $4, $5, 0)",
                &[&Uuid(agent.id.to_bytes()), &seq, &agent.name, &agent.kind.code(), &agent.permissions.bits()],
            )?;
        }
    }
    Ok(())
}
