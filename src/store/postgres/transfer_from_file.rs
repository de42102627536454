//! Copy of a whole SQLite file into an empty database: every row with its ids and numbers, the journal included. Only the
//! index of words is made anew, and embeddings, which are derived.
//!
//! Each chunk of rows is one transaction, which also stores how far the copy is, so that a copy that was cut off continues.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, types::ValueRef};

use super::{
    PostgresStore,
    compare_copy::{Compared, compare},
    connection::{Params, PostgresConnection},
    copy_tables::{CopiedTable, TABLES},
    decode::get,
    fts_index,
};
use crate::store::{CopyReport, OpenOptions, Result, Store, StoreError};

/// Rows of a chunk.
pub(super) const CHUNK_ROWS: usize = 2_000;

/// Copies a file into a database, and compares both. `progress` receives the number of rows copied so far.
pub(in crate::store) fn transfer_from_file(
    from: &Path,
    to: &PostgresStore,
    options: &OpenOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<CopyReport> {
    // Opening the file migrates it, and holds its version for the whole copy.
    let source = options.clone().create(false).open(from)?;
    let file = Connection::open_with_flags(from, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    file.execute_batch("BEGIN")?;
    if file.query_row("SELECT EXISTS (SELECT 1 FROM staged_nodes)", [], |row| row.get::<_, bool>(0))? {
        return Err(StoreError::Refused(
            "a copy of a branch is unfinished in the file; open it for writing first".to_owned(),
        ));
    }
    let conn = to.pool.borrow()?;
    begin(&file, &conn)?;
    let mut report = CopyReport::default();
    for table in TABLES {
        report.rows += copy_table(table, &file, &conn, report.rows, progress)?;
    }
    conn.on_all_tables("ANALYZE")?;
    fts_index::index_missing(&conn, "")?;
    let (ours, theirs) = (source.snapshot()?, to.snapshot()?);
    report.differences = compare(Compared::of(&*ours), Compared::of(&*theirs))?;
    if report.differences.is_empty() {
        conn.execute("DELETE FROM settings WHERE name LIKE 'copy.%'", &[])?;
    }
    Ok(report)
}

/// Marks the database as a copy of this file. Refuses one that holds something else.
fn begin(file: &Connection, conn: &PostgresConnection) -> Result<()> {
    let first: Vec<u8> =
        file.query_row("SELECT coalesce((SELECT ulid FROM trees ORDER BY id LIMIT 1), x'00')", [], |row| row.get(0))?;
    let source = blake3::hash(&first).to_hex().to_string();
    let stored = conn.query_opt("SELECT value FROM settings WHERE name = 'copy.source'", &[])?;
    if let Some(stored) = stored {
        return match get::<&str>(&stored, 0)? == source {
            true => Ok(()),
            false => Err(StoreError::Refused("the database holds an unfinished copy of another file".to_owned())),
        };
    }
    if conn.query_opt("SELECT 1 FROM journal LIMIT 1", &[])?.is_some() {
        return Err(StoreError::Refused("the database is not empty; name an empty one".to_owned()));
    }
    // The default agents come with the file, under the same ids.
    conn.execute("DELETE FROM agents", &[])?;
    conn.execute("INSERT INTO settings (name, value) VALUES ('copy.source', $1)", &[&source])?;
    Ok(())
}

/// Copies the rows of a table that are missing; returns their number.
fn copy_table(
    table: &CopiedTable,
    file: &Connection,
    conn: &PostgresConnection,
    before: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<u64> {
    let mark = format!("copy.{}", table.name);
    let stored = conn.query_opt("SELECT value FROM settings WHERE name = $1", &[&mark])?;
    let stored: Option<String> = stored.map(|row| get(&row, 0)).transpose()?;
    let done: u64 = stored.and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut statement = file.prepare(&table.select_from_file())?;
    let mut rows = statement.query([i64::try_from(done).unwrap_or(i64::MAX)])?;
    let (described, insert) = (table.database_columns(), table.insert_into_database());
    let mut copied = 0_u64;
    loop {
        let before_chunk = copied;
        let mut columns: Vec<Vec<Option<String>>> = vec![Vec::with_capacity(CHUNK_ROWS); described.len()];
        while copied - before_chunk < CHUNK_ROWS as u64
            && let Some(row) = rows.next()?
        {
            copied += 1;
            for (at, (name, kind, _)) in described.iter().enumerate() {
                let text = text_of(row.get_ref(at)?, kind);
                columns[at].push(text.map_err(|why| {
                    StoreError::Refused(format!("{}.{name} of row {}: {why}", table.name, done + copied))
                })?);
            }
        }
        if copied == before_chunk {
            return Ok(copied);
        }
        let params: Vec<&(dyn tokio_postgres::types::ToSql + Sync)> =
            columns.iter().map(|column| column as _).collect();
        conn.batch("BEGIN")?;
        let stored = insert_chunk(conn, &insert, &params, &mark, done + copied);
        conn.batch(if stored.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        stored?;
        progress(before + copied);
    }
}

fn insert_chunk(conn: &PostgresConnection, sql: &str, params: Params<'_>, mark: &str, done: u64) -> Result<()> {
    conn.execute(sql, params)?;
    conn.execute(
        "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2",
        &[&mark, &done.to_string()],
    )?;
    Ok(())
}

/// A value as text that PostgreSQL reads as the column's type.
fn text_of(value: ValueRef<'_>, kind: &str) -> std::result::Result<Option<String>, &'static str> {
    Ok(Some(match value {
        ValueRef::Null => return Ok(None),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => {
            let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8")?;
            if text.contains('\0') {
                return Err("it contains the character NUL, which PostgreSQL does not store");
            }
            text.to_owned()
        }
        ValueRef::Blob(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            if kind == "bytea" { format!("\\x{hex}") } else { hex }
        }
    }))
}
