//! The columns of a node's text for searches.

use std::borrow::Cow;

use rusqlite::Row;

use crate::store::searched_text;

/// Columns for [`read`]. The last one is the metadata of a result that does not name its call.
macro_rules! searched_columns {
    () => {
        "n.content, n.tool_calls, n.tool_name,
         CASE WHEN n.tool_name IS NOT NULL AND n.tool_call_id IS NULL THEN n.metadata END"
    };
}
pub(super) use searched_columns;

/// Reads the text from the columns that start at `first`.
pub(super) fn read<'r>(row: &'r Row<'_>, first: usize) -> rusqlite::Result<Cow<'r, str>> {
    let column = |at: usize| -> rusqlite::Result<Option<&'r str>> { Ok(row.get_ref(first + at)?.as_str_or_null()?) };
    Ok(searched_text::of(column(0)?.unwrap_or(""), column(1)?, column(2)?.zip(column(3)?)))
}
