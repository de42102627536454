//! Reading of SQLite databases that other programs wrote. They are opened for reading only and never changed.

use std::{
    cell::Cell,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, types::ValueRef};
use serde_json::Value;

use crate::store::{Result, StoreError, sidecar_path};

/// Time to wait for the other program's lock.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(5);

/// Times that an import may read all bytes of a database.
const MAX_READS: u64 = 64;

/// A database of another program.
#[derive(Debug)]
pub struct ForeignDatabase {
    path: PathBuf,
    /// Bytes that may still be read.
    left: Cell<u64>,
    conn: Connection,
}

/// Rows of a table of a [`ForeignDatabase`].
#[derive(Debug, Clone, Copy)]
pub struct ForeignQuery<'a> {
    /// Table to read.
    pub table: &'a str,
    /// Columns to read. A column that the table lacks is null in every row.
    pub columns: &'a [&'a str],
    /// Rows to read.
    pub filter: RowFilter<'a>,
    /// Columns that order the rows.
    pub order: &'a [&'a str],
}

/// Rows of a table that a [`ForeignQuery`] reads.
#[derive(Debug, Clone, Copy)]
pub enum RowFilter<'a> {
    /// All rows.
    All,
    /// Rows whose column has a value.
    Equal(&'a str, &'a str),
    /// Rows whose column begins with a text. An index on the column makes it fast.
    Prefix(&'a str, &'a str),
}

impl ForeignDatabase {
    /// Opens a database.
    ///
    /// # Errors
    /// If the file is missing or no database.
    pub fn open(path: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags).map_err(|error| cannot_read(path, &error))?;
        conn.busy_timeout(MAX_LOCK_WAIT).map_err(|error| cannot_read(path, &error))?;
        // The schema comes from the file, and may name functions with side effects.
        conn.execute_batch("PRAGMA trusted_schema = OFF").map_err(|error| cannot_read(path, &error))?;
        let database = Self { path: path.to_owned(), left: Cell::new(max_read(path)), conn };
        database.tables().map(|_| database)
    }

    /// Returns the names of the tables.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn tables(&self) -> Result<Vec<String>> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement =
                self.conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        read().map_err(|error| cannot_read(&self.path, &error))
    }

    /// Calls `each` with every row of a query.
    ///
    /// # Errors
    /// If the table does not exist, the file cannot be read, or `each` fails.
    pub fn rows<E: From<StoreError>>(
        &self,
        query: &ForeignQuery<'_>,
        each: &mut dyn FnMut(Vec<Value>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let read_error = |error: rusqlite::Error| E::from(cannot_read(&self.path, &error));
        let sql = self.sql(query).map_err(read_error)?;
        let mut statement = self.conn.prepare_cached(&sql).map_err(read_error)?;
        let values: Vec<String> = match query.filter {
            RowFilter::All => Vec::new(),
            RowFilter::Equal(_, value) => vec![value.to_owned()],
            RowFilter::Prefix(_, start) => vec![start.to_owned(), format!("{start}{}", char::MAX)],
        };
        let mut rows = statement.query(rusqlite::params_from_iter(values)).map_err(read_error)?;
        while let Some(row) = rows.next().map_err(read_error)? {
            let mut values = Vec::with_capacity(query.columns.len());
            for column in 0..query.columns.len() {
                values.push(json_of(row.get_ref(column).map_err(read_error)?));
            }
            self.count(&values)?;
            each(values)?;
        }
        Ok(())
    }

    /// Returns the bytes of a column in the row whose key column has a value. `None` if there is no such row, or its value
    /// is neither text nor bytes.
    ///
    /// # Errors
    /// If the table or a column does not exist, or the file cannot be read.
    pub fn bytes(&self, table: &str, column: &str, (key, value): (&str, &str)) -> Result<Option<Vec<u8>>> {
        let sql = format!("SELECT {} FROM {} WHERE {} = ?1", quoted(column), quoted(table), quoted(key));
        let read = || -> rusqlite::Result<Option<Vec<u8>>> {
            let mut statement = self.conn.prepare_cached(&sql)?;
            let mut rows = statement.query([value])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            Ok(match row.get_ref(0)? {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
                _ => None,
            })
        };
        read().map_err(|error| cannot_read(&self.path, &error))
    }

    /// Counts a row. A file whose pages refer to a page many times has more rows than bytes.
    fn count(&self, values: &[Value]) -> Result<()> {
        let bytes = 1 + values.iter().filter_map(Value::as_str).map(|text| text.len() as u64).sum::<u64>();
        let left = self.left.get().checked_sub(bytes);
        self.left.set(left.unwrap_or(0));
        let cause = || "its pages are damaged: it yields more than it holds".to_owned();
        left.map(drop).ok_or_else(|| StoreError::CannotOpen { path: self.path.clone(), cause: cause() })
    }

    fn sql(&self, query: &ForeignQuery<'_>) -> rusqlite::Result<String> {
        let mut statement = self.conn.prepare_cached("SELECT name FROM pragma_table_info(?1)")?;
        let known: Vec<String> =
            statement.query_map([query.table], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let has = |column: &str| known.iter().any(|own| own == column);
        let columns: Vec<String> =
            query.columns.iter().map(|column| if has(column) { quoted(column) } else { "NULL".to_owned() }).collect();
        let mut sql = format!("SELECT {} FROM {}", columns.join(", "), quoted(query.table));
        match query.filter {
            RowFilter::All => {}
            RowFilter::Equal(column, _) => sql.push_str(&format!(" WHERE {} = ?1", quoted(column))),
            RowFilter::Prefix(column, _) => sql.push_str(&format!(" WHERE {0} >= ?1 AND {0} < ?2", quoted(column))),
        }
        let order: Vec<String> = query.order.iter().filter(|column| has(column)).map(|column| quoted(column)).collect();
        if !order.is_empty() {
            sql.push_str(&format!(" ORDER BY {}", order.join(", ")));
        }
        Ok(sql)
    }
}

#[cfg(any(test, fuzzing))]
impl ForeignDatabase {
    /// Makes a database of a script, whose statements end in `;` at the end of a line. Statements that fail are ignored,
    /// and so are all that neither create a table nor insert rows.
    pub(crate) fn create(path: &Path, script: &str) -> rusqlite::Result<()> {
        let conn = Connection::open(path)?;
        for statement in script.split_inclusive(";\n").map(str::trim) {
            if statement.starts_with("CREATE TABLE") || statement.starts_with("INSERT INTO") {
                let _ = conn.execute(statement.trim_end_matches(';'), []);
            }
        }
        Ok(())
    }
}

/// Returns the bytes that may be read of a database. Readers read each row a few times; text that is not UTF-8 grows.
fn max_read(path: &Path) -> u64 {
    let bytes = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
    (bytes(path) + bytes(&sidecar_path(path, "-wal"))).saturating_mul(MAX_READS)
}

/// The error of reading another program's file. The own errors name damage of the own file.
fn cannot_read(path: &Path, error: &rusqlite::Error) -> StoreError {
    let cause = error.to_string().lines().next().unwrap_or_default().to_owned();
    StoreError::CannotOpen { path: path.to_owned(), cause }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Converts a value. Bytes become text if they are text.
fn json_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned().into(),
    }
}
