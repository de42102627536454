//! The longest beginning of a call's messages that is stored: messages are chained by hashes of what identifies them.

use serde_json::{Value, json};

use super::{error::Result, openai::message_text, state::AppState};
use crate::id::NodeId;

/// Returns how many messages are stored, and the node of the last of them.
pub(super) fn longest_prefix(state: &AppState, sources: &[String]) -> Result<(usize, Option<NodeId>)> {
    let snapshot = state.loom().snapshot()?;
    for known in (1..=sources.len()).rev() {
        if let Some(node) = snapshot.source(&sources[known - 1])? {
            return Ok((known, Some(node)));
        }
    }
    Ok((0, None))
}

/// Returns the hash of a message and of all before it.
pub(super) fn chain(before: blake3::Hash, message: &Value) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before.as_bytes());
    hasher.update(message.to_string().as_bytes());
    hasher.finalize()
}

/// Returns what identifies a message: role, text, calls. A server's reply and the client's repetition of it differ in
/// other fields.
pub(super) fn canonical(message: &Value) -> Value {
    let calls: Vec<Value> = message["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|call| json!([call["id"], call["function"]["name"], call["function"]["arguments"]]))
        .collect();
    let blocks: Vec<Value> = message["content"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|block| match block["type"].as_str() {
            Some("tool_use") => Some(json!([block["id"], block["name"], block["input"]])),
            Some("tool_result") => Some(json!([block["tool_use_id"], message_text(&block["content"])])),
            _ => None,
        })
        .collect();
    let item = ["call_id", "name", "arguments", "output"].map(|field| message[field].clone());
    json!([message["role"], message_text(&message["content"]), message["tool_call_id"], calls, blocks, item])
}
