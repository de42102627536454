//! The text of a node for searches: its content and its tool calls. The index, the search of unindexed nodes and the
//! search of literal text read the same text.

use std::borrow::Cow;

use crate::{
    text_index::{call_text, command_text},
    types::{Json, NewNode},
};

/// The text of a new node.
pub(super) fn of_new(node: &NewNode) -> Cow<'_, str> {
    let metadata = node.metadata.as_ref().filter(|_| node.tool.call_id.is_none());
    let uncalled = node.tool.name.as_deref().zip(metadata.map(Json::as_str));
    of(&node.content, node.tool.calls.as_ref().map(Json::as_str), uncalled)
}

/// The text of a node's columns. `uncalled` is the tool and the metadata of a result that does not name its call: it stands for the call.
pub(super) fn of<'t>(content: &'t str, calls: Option<&str>, uncalled: Option<(&str, &str)>) -> Cow<'t, str> {
    let command = uncalled.and_then(|(tool, metadata)| command_text(tool, metadata));
    let calls = calls.map(call_text).filter(|calls| !calls.is_empty());
    if calls.is_none() && command.is_none() {
        return Cow::Borrowed(content);
    }
    let all = std::iter::once(content).chain(calls.as_deref()).chain(command.as_deref());
    Cow::Owned(all.collect::<Vec<_>>().join("\n"))
}
