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

/// A checksum that is being computed: a few nanoseconds a column, since every append computes two.
///
/// Each word is mixed in by steps that lose nothing, so a change within one word, such as a flipped byte, always changes the
/// checksum. It protects against damage and not against forgery.
pub(super) struct RowSum(u64);

impl Default for RowSum {
    fn default() -> Self {
        Self(0x6c6f_6f6d_7472_6565)
    }
}

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
        match value {
            ValueRef::Null => self.mix(0),
            ValueRef::Integer(number) => {
                self.mix(1);
                self.mix(number.cast_unsigned());
            }
            ValueRef::Real(number) => {
                self.mix(2);
                self.mix(number.to_bits());
            }
            ValueRef::Text(bytes) => self.add_bytes(3, bytes),
            ValueRef::Blob(bytes) => self.add_bytes(4, bytes),
        }
    }

    /// Adds the type and length, then the bytes in words of 8.
    fn add_bytes(&mut self, kind: u64, bytes: &[u8]) {
        self.mix(kind | (bytes.len() as u64) << 8);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    /// Mixes in a word. An odd factor and a shifted copy are reversible.
    fn mix(&mut self, word: u64) {
        let product = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 29;
    }

    /// The checksum.
    pub(super) fn finish(&self) -> i64 {
        self.0.cast_signed()
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

/// The columns that a table's checksum covers, in order. Empty if the table has none.
pub(in crate::store) fn summed_columns(conn: &Connection, table: &str) -> Result<Vec<String>> {
    let mut columns = conn.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?;
    let mut columns: Vec<String> = columns.query_map([table], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    if !columns.iter().any(|column| column == "row_sum") {
        return Ok(Vec::new());
    }
    columns.retain(|column| column != "row_sum" && (table != "nodes" || column != "content"));
    Ok(columns)
}

fn check_table(conn: &Connection, table: &str, problems: &mut Vec<String>) -> Result<()> {
    let columns = summed_columns(conn, table)?;
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
