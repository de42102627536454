//! Reader of ChatGPT's `conversations.json`, whole or split.
//!
//! A conversation is a map of nodes with parents. Nodes without a message are passed by. What the application did not
//! show is excluded from contexts. The position is `current_node`, else the newest message.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    Importer, InterchangeError, SourceLines,
    content::{TakeField as _, fields_of, id_of, model_of, text_of, time_of},
    json_entries,
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
    topological_order,
};

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    json_entries::read_entries(lines, importer, &mut read_conversation)
}

fn read_conversation(
    place: SourcePlace,
    mut conversation: Value,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let Value::Object(mapping) = conversation.take_field("mapping") else {
        importer.problem(place, "it has no mapping");
        return Ok(());
    };
    let Some(id) = id_of(&conversation["conversation_id"]).or_else(|| id_of(&conversation["id"])) else {
        importer.problem(place, "it has no id");
        return Ok(());
    };
    let default_model = text_of(&conversation["default_model_slug"]);
    let mut known = KnownAncestors::new();
    let position = id_of(&conversation["current_node"]).map(|node| ancestor_with_message(&mapping, node, &mut known));
    importer.conversation(SourceConversation {
        id,
        title: text_of(&conversation["title"]),
        started_at: time_of(&conversation["create_time"]),
        rest: fields_without(conversation, "mapping"),
        ..SourceConversation::default()
    })?;
    if let Some(Some(position)) = position {
        importer.position(position);
    }
    let parents: Vec<Option<String>> = mapping
        .values()
        .map(|node| id_of(&node["parent"]).and_then(|parent| ancestor_with_message(&mapping, parent, &mut known)))
        .collect();
    let mut messages = Vec::new();
    for ((id, mut node), parent) in mapping.into_iter().zip(parents) {
        let source = node.take_field("message");
        if !source.is_object() {
            continue;
        }
        let mut message = read_message(&id, source, default_model.as_deref());
        message.parent = parent.into();
        if message.role == SourceRole::Tool
            && let SourceParent::Message(caller) = &message.parent
        {
            message.call_id = Some(caller.clone());
        }
        message.id = id;
        messages.push(message);
    }
    topological_order::write(importer, place, messages)
}

fn fields_without(value: Value, name: &str) -> Value {
    let mut fields = fields_of(value);
    fields.remove(name);
    fields.into()
}

/// Nearest node with a message, by a node without one from which it was searched.
type KnownAncestors = HashMap<String, Option<String>>;

/// Returns the nearest node with a message, from `id` upwards. A missing node is returned as it is, and reported later.
/// `None` if the nodes end without one, or in a circle.
fn ancestor_with_message(mapping: &Map<String, Value>, id: String, known: &mut KnownAncestors) -> Option<String> {
    let (mut passed, mut next) = (Vec::new(), Some(id));
    let found = loop {
        let Some(id) = next else { break None };
        if let Some(found) = known.get(&id) {
            break found.clone();
        }
        match mapping.get(&id) {
            Some(node) if !node["message"].is_object() => {
                // A node that is met again, in a circle, has none.
                known.insert(id.clone(), None);
                next = id_of(&node["parent"]);
                passed.push(id);
            }
            _ => break Some(id),
        }
    };
    known.extend(passed.into_iter().map(|id| (id, found.clone())));
    found
}

fn read_message(id: &str, mut source: Value, default_model: Option<&str>) -> SourceMessage {
    let content = source.take_field("content");
    let metadata = &source["metadata"];
    let role = match source["author"]["role"].as_str().unwrap_or("") {
        "user" => SourceRole::User,
        "assistant" => SourceRole::Model,
        "tool" => SourceRole::Tool,
        "system" => SourceRole::System,
        _ => SourceRole::Note,
    };
    let mut message = SourceMessage { role, at: time_of(&source["create_time"]), ..SourceMessage::default() };
    read_content(&content, &mut message);
    let is_empty = message.text.trim().is_empty() && message.thoughts.is_empty();
    message.is_hidden = metadata["is_visually_hidden_from_conversation"] == true
        || source["weight"].as_f64() == Some(0.0)
        || role == SourceRole::Model && message.text.is_empty();
    message.is_interrupted = source["status"] == "in_progress" || metadata["finish_details"]["type"] == "interrupted";
    if role == SourceRole::Model {
        let model = metadata["model_slug"].as_str().or(default_model);
        message.model = model.map(|model| model_of(Some("openai"), model));
        if let Some(tool) = source["recipient"].as_str().filter(|recipient| *recipient != "all") {
            message.calls.push(serde_json::json!({ "id": id, "name": tool, "arguments": message.text }));
        }
    }
    if role == SourceRole::Tool {
        message.tool_name = text_of(&source["author"]["name"]);
    }
    if is_empty && role == SourceRole::System || content["content_type"] == "reasoning_recap" {
        message.role = SourceRole::Note;
    }
    message.rest = source;
    message
}

/// Parses a content by its type.
fn read_content(content: &Value, message: &mut SourceMessage) {
    let kind = content["content_type"].as_str().unwrap_or("text");
    let field = |name: &str| text_of(&content[name]);
    match kind {
        "thoughts" => {
            for thought in content["thoughts"].as_array().into_iter().flatten() {
                let parts = [&thought["summary"], &thought["content"]].map(|part| part.as_str().unwrap_or(""));
                message.thoughts.push(parts.join("\n").trim().to_owned());
            }
        }
        "user_editable_context" => {
            let parts = [field("user_profile"), field("user_instructions")];
            message.text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n");
        }
        _ => {
            let parts: Vec<String> = content["parts"].as_array().into_iter().flatten().filter_map(part_text).collect();
            let other = || ["text", "result", "content"].iter().find_map(|name| field(name));
            message.text = if parts.is_empty() { other().unwrap_or_default() } else { parts.join("\n") };
        }
    }
    let is_plain = kind == "text" && content["parts"].as_array().is_some_and(|p| p.iter().all(Value::is_string));
    message.raw = (!is_plain && content.is_object()).then(|| content.to_string());
}

fn part_text(part: &Value) -> Option<String> {
    match part {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Object(_) => {
            text_of(&part["text"]).or_else(|| Some(format!("[{}]", part["content_type"].as_str().unwrap_or("part"))))
        }
        _ => None,
    }
}
