//! Copy of a whole database into a new file: every row with its ids, the journal included. Nodes and entries get numbers
//! without gaps, in the same order. The index of words is made anew.
//!
//! The copy is a file beside the target, `FILE.part`, until it was compared. Each chunk of rows is one transaction, which also
//! stores how far the copy is, so that a copy that was cut off continues.

use std::{
    fs::{self, File},
    path::Path,
};

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::{
    PostgresStore,
    compare_copy::{Compared, compare},
    connection::PostgresConnection,
    copy_tables::{CopiedTable, FileNumbers, RankedNumbers, TABLES},
    decode::{get, int},
    snapshot::PostgresSnapshot,
    transfer_from_file::CHUNK_ROWS,
};
use crate::store::{CopyReport, OpenOptions, Result, Store, StoreError, sidecar_path, sqlite};

/// Numbers that are read at once.
const NUMBERS_CHUNK: u32 = 100_000;

/// Copies a database into a file that must not exist, and compares both. `progress` receives the number of rows copied so far.
pub(in crate::store) fn transfer_to_file(
    from: &PostgresStore,
    to: &Path,
    options: &OpenOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<CopyReport> {
    if to.exists() {
        return Err(StoreError::Conflict(format!("{} exists already", to.display())));
    }
    let part = sidecar_path(to, ".part");
    let view = PostgresSnapshot::begin(&from.pool, &options.rules)?;
    let numbers = FileNumbers { nodes: numbers(&view, "nodes")?, entries: numbers(&view, "journal")? };
    let mut file = sqlite::open_copy(&part, options)?;
    begin(&view, &file, &numbers, &part)?;
    let mut report = CopyReport::default();
    for table in TABLES {
        report.rows += copy_table(table, (&view, &numbers), &file, report.rows, progress)?;
    }
    sqlite::finish_copy(&mut file)?;
    file.close().map_err(|(_, error)| error)?;
    {
        let target = options.clone().create(false).open(&part)?;
        let theirs = target.snapshot()?;
        report.differences = compare(Compared::renumbered(&view, &numbers), Compared::of(&*theirs))?;
    }
    if report.differences.is_empty() {
        let file = sqlite::open_copy(&part, options)?;
        file.execute("DELETE FROM settings WHERE name LIKE 'copy.%'", [])?;
        file.close().map_err(|(_, error)| error)?;
        File::open(&part).and_then(|file| file.sync_all())?;
        fs::rename(&part, to)?;
    }
    Ok(report)
}

/// The numbers of a table's rows in order.
fn numbers(conn: &PostgresConnection, table: &str) -> Result<RankedNumbers> {
    conn.batch(&format!("DECLARE numbers_of_{table} NO SCROLL CURSOR FOR SELECT seq FROM {table} ORDER BY seq"))?;
    let mut numbers = Vec::new();
    loop {
        let rows = conn.query(&format!("FETCH {NUMBERS_CHUNK} FROM numbers_of_{table}"), &[])?;
        if rows.is_empty() {
            return Ok(RankedNumbers(numbers));
        }
        for row in &rows {
            numbers.push(int(row, 0)?);
        }
    }
}

/// Marks the file as a copy of this state of the database. Refuses one that holds part of another copy.
fn begin(conn: &PostgresConnection, file: &Connection, numbers: &FileNumbers, part: &Path) -> Result<()> {
    let agents = conn.query("SELECT id::text FROM agents ORDER BY id", &[])?;
    let mut state = blake3::Hasher::new();
    for row in &agents {
        state.update(get::<&str>(row, 0)?.as_bytes());
    }
    for number in numbers.nodes.0.iter().chain(&numbers.entries.0) {
        state.update(&number.to_le_bytes());
    }
    let state = state.finalize().to_hex().to_string();
    let stored: Option<String> =
        file.query_row("SELECT value FROM settings WHERE name = 'copy.source'", [], |row| row.get(0)).optional()?;
    match stored {
        Some(stored) if stored == state => Ok(()),
        Some(_) => Err(StoreError::Refused(format!(
            "{} is an unfinished copy of another state of the database; remove it to begin again",
            part.display()
        ))),
        None => {
            file.execute("INSERT INTO settings (name, value) VALUES ('copy.source', ?1)", [state])?;
            Ok(())
        }
    }
}

/// Copies the rows of a table that are missing; returns their number.
fn copy_table(
    table: &CopiedTable,
    (conn, numbers): (&PostgresConnection, &FileNumbers),
    file: &Connection,
    before: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<u64> {
    let mark = format!("copy.{}", table.name);
    let stored: Option<String> =
        file.query_row("SELECT value FROM settings WHERE name = ?1", [&mark], |row| row.get(0)).optional()?;
    let done: u64 = stored.and_then(|text| text.parse().ok()).unwrap_or(0);
    let name = table.name;
    conn.batch(&format!("DECLARE copy_{name} NO SCROLL CURSOR FOR {}", table.select_from_database(done)))?;
    let insert = table.insert_into_file(&sqlite::summed_columns(file, name)?);
    let mut copied = 0;
    loop {
        let rows = conn.query(&format!("FETCH {CHUNK_ROWS} FROM copy_{name}"), &[])?;
        if rows.is_empty() {
            return Ok(copied);
        }
        let tx = file.unchecked_transaction()?;
        let mut statement = tx.prepare_cached(&insert)?;
        for row in &rows {
            statement.execute(params_from_iter(table.file_values(row, numbers)?))?;
        }
        copied += rows.len() as u64;
        tx.execute(
            "INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)",
            params![mark, (done + copied).to_string()],
        )?;
        drop(statement);
        tx.commit()?;
        progress(before + copied);
    }
}
