//! Rows that are inserted some at a time: a statement for [`WIDE`] of them takes a fifth (nodes, with their triggers) to a half
//! (entries of the journal) less time than one for each.

use std::sync::OnceLock;

use rusqlite::{
    Connection, Statement, ToSql,
    types::{ToSqlOutput, Value, ValueRef},
};

use crate::store::{Result, StoreError};

/// Rows of the wide statement. More of them gain nothing.
pub(super) const WIDE: usize = 16;

/// An insert of any number of rows.
pub(super) struct MultiInsert {
    into: &'static str,
    columns: usize,
    wide: OnceLock<String>,
    one: OnceLock<String>,
}

impl MultiInsert {
    /// `into` is the statement up to its values, of which each row has `columns`.
    pub(super) const fn new(into: &'static str, columns: usize) -> Self {
        Self { into, columns, wide: OnceLock::new(), one: OnceLock::new() }
    }

    /// Inserts rows in their order. Where the statement says so (`OR FAIL`), those before one that fails stay.
    pub(super) fn run<R>(
        &self,
        conn: &Connection,
        rows: &[R],
        bind: impl Fn(&R, &mut RowValues<'_, '_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let wide = rows.chunks_exact(WIDE);
        let rest = wide.remainder().chunks(1);
        for rows in wide.chain(rest) {
            let mut statement = conn.prepare_cached(self.sql(rows.len()))?;
            let mut values = RowValues { statement: &mut statement, at: 0 };
            for (number, row) in rows.iter().enumerate() {
                values.at = number * self.columns;
                bind(row, &mut values)?;
            }
            statement.raw_execute()?;
        }
        Ok(())
    }

    fn sql(&self, rows: usize) -> &str {
        let kept = if rows == 1 { &self.one } else { &self.wide };
        kept.get_or_init(|| {
            let row = format!("({})", vec!["?"; self.columns].join(", "));
            format!("{} VALUES {}", self.into, vec![row; rows].join(", "))
        })
    }
}

/// The values of a row, from left to right.
pub(super) struct RowValues<'v, 'c> {
    statement: &'v mut Statement<'c>,
    at: usize,
}

impl RowValues<'_, '_> {
    /// The next one.
    pub(super) fn add(&mut self, value: &impl ToSql) -> rusqlite::Result<()> {
        self.at += 1;
        // A statement comes out of the cache with nothing bound, which is NULL: half of what most rows have.
        match value.to_sql()? {
            ToSqlOutput::Borrowed(ValueRef::Null) | ToSqlOutput::Owned(Value::Null) => Ok(()),
            value => self.statement.raw_bind_parameter(self.at, value),
        }
    }
}

/// Fails if the row that was inserted last has another number than was counted on.
pub(super) fn in_order(conn: &Connection, last: Option<i64>) -> Result<()> {
    match last {
        Some(row) if row != conn.last_insert_rowid() => Err(StoreError::Damaged {
            detail: format!("a row was to be number {row} and became {}", conn.last_insert_rowid()),
        }),
        _ => Ok(()),
    }
}
