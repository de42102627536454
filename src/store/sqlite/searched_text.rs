//! The text of a node for searches: its content and its tool calls. The index, the search of unindexed nodes and the
//! search of literal text read the same text.

use std::borrow::Cow;

use rusqlite::Row;

use crate::{
    text_index::{call_text, command_text},
    types::{Json, NewNode},
};

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
    Ok(text(column(0)?.unwrap_or(""), column(1)?, column(2)?.zip(column(3)?)))
}

/// The text of a new node.
pub(super) fn of_new(node: &NewNode) -> Cow<'_, str> {
    let metadata = node.metadata.as_ref().filter(|_| node.tool.call_id.is_none());
    let uncalled = node.tool.name.as_deref().zip(metadata.map(Json::as_str));
    text(&node.content, node.tool.calls.as_ref().map(Json::as_str), uncalled)
}

/// `uncalled` is the tool and the metadata of a result that does not name its call: it stands for the call.
fn text<'t>(content: &'t str, calls: Option<&str>, uncalled: Option<(&str, &str)>) -> Cow<'t, str> {
    let command = uncalled.and_then(|(tool, metadata)| command_text(tool, metadata));
    let calls = calls.map(call_text).filter(|calls| !calls.is_empty());
    if calls.is_none() && command.is_none() {
        return Cow::Borrowed(content);
    }
    let all = std::iter::once(content).chain(calls.as_deref()).chain(command.as_deref());
    Cow::Owned(all.collect::<Vec<_>>().join("\n"))
}
