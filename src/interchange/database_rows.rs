//! Rows of other programs' databases as JSON.

use serde_json::Value;

use super::InterchangeError;
use crate::store::{ForeignDatabase, ForeignQuery, RowFilter};

/// Collects the rows of a small query.
pub(super) fn collect(
    database: &ForeignDatabase,
    table: &str,
    columns: &[&str],
    filter: RowFilter<'_>,
    order: &[&str],
) -> Result<Vec<Vec<Value>>, InterchangeError> {
    let mut rows = Vec::new();
    database.rows(&ForeignQuery { table, columns, filter, order }, &mut |row| {
        rows.push(row);
        Ok::<(), InterchangeError>(())
    })?;
    Ok(rows)
}

/// Parses a column that holds JSON; null if it holds none.
pub(super) fn parsed(value: &Value) -> Value {
    value.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
