//! Items of the Responses API and the nodes that store them.

use std::{fmt, str::FromStr};

use serde_json::{Map, Value, json};

use crate::{
    id::NodeId,
    ops::NodeDraft,
    provider::{Message, MessagePart, Role, ToolCall},
    serve::error::{ApiError, Result},
    types::{AuthorType, EdgeKind, Json, Node, ToolCallFields},
};

/// Field of a node's metadata with its item.
const ITEM_FIELD: &str = "item";

/// Id of an item, conversation or response: a prefix for readers and a ULID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::serve) struct ItemId<I> {
    prefix: &'static str,
    pub(in crate::serve) id: I,
}

impl<I: FromStr + fmt::Display> ItemId<I> {
    pub(in crate::serve) fn new(prefix: &'static str, id: I) -> Self {
        Self { prefix, id }
    }

    /// Parses the text after the last `_`; every prefix is accepted.
    pub(in crate::serve) fn parse(what: &str, text: &str) -> Result<I> {
        let id = text.rsplit('_').next().unwrap_or_default();
        id.parse().map_err(|_| ApiError::not_found(what, text))
    }
}

impl<I: fmt::Display> fmt::Display for ItemId<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.prefix, self.id)
    }
}

/// Returns the input of a request as items: a text is one message of the user.
pub(super) fn items_of(input: Value) -> Result<Vec<Value>> {
    match input {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => normalize(json!({ "role": "user", "content": text })).map(|item| vec![item]),
        Value::Array(items) => items.into_iter().map(normalize).collect(),
        _ => Err(ApiError::invalid("input must be a text or a list of items")),
    }
}

/// Completes an item: type, status, and content as a list of parts. Other fields stay as they are.
fn normalize(item: Value) -> Result<Value> {
    let Value::Object(mut item) = item else { return Err(ApiError::invalid("an item must be an object")) };
    if !item.contains_key("type") {
        if !item.contains_key("role") {
            return Err(ApiError::invalid("an item needs a type or a role"));
        }
        item.insert("type".to_owned(), json!("message"));
    }
    if item.get("type").and_then(Value::as_str).is_none() {
        return Err(ApiError::invalid("an item's type must be a text"));
    }
    if kind(&item) == "message" {
        let role = item.get("role").and_then(Value::as_str).unwrap_or("user").to_owned();
        if let Some(Value::String(text)) = item.get("content") {
            let part = match role.as_str() {
                "assistant" => json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] }),
                _ => json!({ "type": "input_text", "text": text }),
            };
            item.insert("content".to_owned(), json!([part]));
        }
        item.insert("role".to_owned(), json!(role));
        item.entry("status").or_insert(json!("completed"));
    } else if matches!(kind(&item), "function_call" | "function_call_output") {
        item.entry("status").or_insert(json!("completed"));
    }
    item.remove("id");
    Ok(Value::Object(item))
}

fn kind(item: &Map<String, Value>) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or("message")
}

/// Returns the node of an item.
pub(super) fn draft_of(item: &Value) -> NodeDraft {
    let text = |field: &str| item[field].as_str().map(str::to_owned);
    let metadata = Some(Json::from(json!({ ITEM_FIELD: item })));
    let base = NodeDraft { kind: Some(EdgeKind::Continuation), metadata, ..NodeDraft::text(item_text(item)) };
    match item["type"].as_str().unwrap_or_default() {
        "message" => NodeDraft { author_type: Some(author_type(item["role"].as_str().unwrap_or("user"))), ..base },
        "function_call_output" => NodeDraft {
            author_type: Some(AuthorType::Tool),
            tool: ToolCallFields { call_id: text("call_id"), ..ToolCallFields::default() },
            ..base
        },
        "function_call" => {
            let function = json!({ "name": item["name"], "arguments": item["arguments"] });
            let calls = json!([{ "id": item["call_id"], "type": "function", "function": function }]);
            let tool = ToolCallFields { calls: Some(Json::from(calls)), ..ToolCallFields::default() };
            NodeDraft { author_type: Some(AuthorType::Model), tool, ..base }
        }
        _ => NodeDraft { author_type: Some(AuthorType::Model), ..base },
    }
}

fn author_type(role: &str) -> AuthorType {
    match role {
        "assistant" => AuthorType::Model,
        "system" | "developer" => AuthorType::System,
        "tool" => AuthorType::Tool,
        _ => AuthorType::Human,
    }
}

/// Returns the words of an item for search and for people.
fn item_text(item: &Value) -> String {
    match item["type"].as_str().unwrap_or_default() {
        "message" => message_text(&item["content"]),
        "function_call_output" => message_text(&item["output"]),
        "reasoning" => message_text(&item["summary"]),
        "function_call" => String::new(),
        other => format!("[{other}]"),
    }
}

/// Returns the text of a part of a content; `None` if it is no text.
pub(super) fn text_of_part(part: &Value) -> Option<&str> {
    part["text"].as_str().or(part["refusal"].as_str()).or(part.as_str())
}

/// Returns the texts of a content: a text, or a list of parts.
pub(in crate::serve) fn message_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(text_of_part).collect();
            texts.join("\n\n")
        }
        _ => String::new(),
    }
}

/// Returns the texts of a content, with the types of other parts in brackets.
fn shown_text(content: &Value) -> String {
    let Value::Array(parts) = content else { return message_text(content) };
    let shown = |part: &Value| match text_of_part(part) {
        Some(text) => text.to_owned(),
        None => format!("[{}]", part["type"].as_str().unwrap_or("unknown")),
    };
    parts.iter().map(shown).collect::<Vec<_>>().join("\n\n")
}

/// Returns the item of a node with its id. Nodes of other origin read as messages.
pub(super) fn item_of(node: &Node) -> Value {
    let stored =
        node.metadata.as_ref().and_then(|metadata| metadata.value().ok()).map(|mut data| data[ITEM_FIELD].take());
    let mut item = match stored {
        Some(item @ Value::Object(_)) if node.purged_at.is_none() => item,
        _ => message_item(node),
    };
    item["id"] = json!(item_id(&item, node.id));
    item
}

fn message_item(node: &Node) -> Value {
    let (role, part) = match node.role() {
        AuthorType::Model => {
            ("assistant", json!({ "type": "output_text", "text": node.content, "annotations": [], "logprobs": [] }))
        }
        AuthorType::System => ("system", json!({ "type": "input_text", "text": node.content })),
        AuthorType::Human | AuthorType::Tool => ("user", json!({ "type": "input_text", "text": node.content })),
    };
    json!({ "type": "message", "role": role, "status": "completed", "content": [part] })
}

/// Returns the id of an item with the prefix of its type.
pub(super) fn item_id(item: &Value, node: NodeId) -> String {
    let prefix = match item["type"].as_str().unwrap_or_default() {
        "message" => "msg",
        "reasoning" => "rs",
        "function_call" => "fc",
        "function_call_output" => "fco",
        "custom_tool_call" => "ctc",
        _ => "item",
    };
    ItemId::new(prefix, node).to_string()
}

/// Returns the messages that a model is sent for a list of items. A part that is no text, such as an image, is named in
/// brackets: a client may keep the items for other models, so a request with one is not refused.
pub(super) fn messages_of(items: &[Value]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for item in items {
        let text = |field: &str| item[field].as_str().unwrap_or_default().to_owned();
        let (role, part) = match item["type"].as_str().unwrap_or_default() {
            "message" => {
                let role = match item["role"].as_str().unwrap_or("user") {
                    "assistant" => Role::Assistant,
                    "system" | "developer" => Role::System,
                    _ => Role::User,
                };
                (role, MessagePart::Text(shown_text(&item["content"])))
            }
            "function_call" => {
                let call = ToolCall { id: text("call_id"), name: text("name"), arguments: text("arguments") };
                (Role::Assistant, MessagePart::Call(call))
            }
            "function_call_output" => {
                let text = shown_text(&item["output"]);
                let call = item["call_id"].as_str().unwrap_or_default().to_owned();
                (Role::User, MessagePart::Result { call, text, failed: false })
            }
            _ => continue,
        };
        // Text, calls and results of one turn are one message for a provider.
        match messages.last_mut() {
            Some(last) if last.role == role && !matches!(part, MessagePart::Text(_)) => last.parts.push(part),
            _ => messages.push(Message { role, parts: vec![part], cache: false }),
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_item_is_stored_and_returned_unchanged() {
        let item =
            json!({ "type": "shell_call", "call_id": "c", "action": { "commands": ["ls"], "timeout_ms": null } });
        let stored = items_of(json!([item])).unwrap().remove(0);
        assert_eq!(stored, item);
        let metadata = draft_of(&stored).metadata.unwrap().value().unwrap();
        assert_eq!(metadata["item"], item);
    }

    #[test]
    fn calls_and_results_become_parts_of_one_message_each() {
        let items = items_of(json!([
            { "role": "user", "content": "look" },
            { "type": "function_call", "call_id": "a", "name": "f", "arguments": "{}" },
            { "type": "function_call", "call_id": "b", "name": "g", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "a", "output": "1" },
            { "type": "reasoning", "summary": [] },
        ]));
        let messages = messages_of(&items.unwrap());
        let shape: Vec<_> = messages.iter().map(|message| (message.role, message.parts.len())).collect();
        assert_eq!(shape, [(Role::User, 1), (Role::Assistant, 2), (Role::User, 1)]);
    }
}
