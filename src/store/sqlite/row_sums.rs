//! Checksums of rows, in the column `row_sum` of each table whose rows nothing else in the file vouches for.
//!
//! A checksum covers all other columns of its row, in the order of the table; that of a node leaves out the content,
//! which the node's hash covers. SQL computes it with the function `row_sum`. Statements that insert many rows compute it
//! here, since passing each column to SQLite twice would cost more.

use rusqlite::{
    Connection,
    functions::{Context, FunctionFlags},
    types::{ToSql, ToSqlOutput, ValueRef},
};

use crate::store::Result;

/// Registers the SQL function on a connection.
pub(super) fn register(conn: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    conn.create_scalar_function("row_sum", -1, flags, |context: &Context<'_>| {
        let mut sum = RowSum::default();
        (0..context.len()).for_each(|column| sum.add_value(context.get_raw(column)));
        Ok(sum.finish())
    })
}

/// A checksum that is being computed. Each value follows its type, and texts follow their length.
#[derive(Default)]
pub(super) struct RowSum(blake3::Hasher);

impl RowSum {
    /// Adds the next column.
    pub(super) fn add(&mut self, value: &impl ToSql) -> rusqlite::Result<()> {
        match value.to_sql()? {
            ToSqlOutput::Borrowed(value) => self.add_value(value),
            ToSqlOutput::Owned(value) => self.add_value(ValueRef::from(&value)),
            _ => return Err(rusqlite::Error::InvalidQuery),
        }
        Ok(())
    }

    fn add_value(&mut self, value: ValueRef<'_>) {
        let mut bytes = |kind: u8, bytes: &[u8]| {
            self.0.update(&[kind]).update(&bytes.len().to_le_bytes()).update(bytes);
        };
        match value {
            ValueRef::Null => bytes(0, &[]),
            ValueRef::Integer(number) => bytes(1, &number.to_le_bytes()),
            ValueRef::Real(number) => bytes(2, &number.to_bits().to_le_bytes()),
            ValueRef::Text(text) => bytes(3, text),
            ValueRef::Blob(blob) => bytes(4, blob),
        }
    }

    /// The checksum: the first 8 bytes of the hash.
    pub(super) fn finish(&self) -> i64 {
        let hash = self.0.finalize();
        hash.as_bytes()[..8].iter().fold(0, |sum, byte| sum << 8 | i64::from(*byte))
    }
}

/// Lists the rows that do not match their checksum.
pub(super) fn problems(conn: &Connection) -> Result<Vec<String>> {
    let mut tables = conn.prepare(
        "SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
         WHERE m.type = 'table' AND c.name = 'row_sum' ORDER BY m.name",
    )?;
    let mut problems = Vec::new();
    let mut rows = tables.query([])?;
    while let Some(row) = rows.next()? {
        let table: String = row.get(0)?;
        if let Err(error) = check_table(conn, &table, &mut problems) {
            problems.push(format!("the checksums of {table} cannot be read: {error}"));
        }
    }
    Ok(problems)
}

fn check_table(conn: &Connection, table: &str, problems: &mut Vec<String>) -> Result<()> {
    let mut columns = conn.prepare("SELECT name FROM pragma_table_info(?1) WHERE name <> 'row_sum' ORDER BY cid")?;
    let mut columns: Vec<String> = columns.query_map([table], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    columns.retain(|column| table != "nodes" || column != "content");
    let (first, all) = (columns.first().map_or("1", String::as_str), columns.join(", "));
    // The unary plus keeps SQLite from reading an index in place of the table.
    let mut wrong =
        conn.prepare(&format!("SELECT quote({first}) FROM {table} NOT INDEXED WHERE +row_sum IS NOT row_sum({all})"))?;
    let mut rows = wrong.query([])?;
    while let Some(row) = rows.next()? {
        problems.push(format!("row {} of {table} does not match its checksum", row.get::<_, String>(0)?));
    }
    Ok(())
}
