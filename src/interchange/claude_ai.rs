//! Reader of Claude.ai's `conversations.json`.
//!
//! Older exports have no parents: their messages are a chain. Results of tools stand in the model's message and become
//! tool nodes below it. The text of an attachment is a part of its message.

use serde_json::Value;

use super::{
    Importer, InterchangeError, SourceLines,
    content::{ParsedContent, TakeField as _, fields_of, id_of, model_of, text_of, time_of},
    json_entries,
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
    topological_order,
};

/// Parent of a message that begins a conversation.
const ROOT: &str = "00000000-0000-4000-8000-000000000000";

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    json_entries::read_entries(lines, importer, &mut read_conversation)
}

fn read_conversation(
    place: SourcePlace,
    mut conversation: Value,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let (Value::Array(sources), Some(id)) = (conversation.take_field("chat_messages"), id_of(&conversation["uuid"]))
    else {
        importer.problem(place, "it has no uuid or no messages");
        return Ok(());
    };
    let model = text_of(&conversation["model"]);
    let position = id_of(&conversation["current_leaf_message_uuid"]);
    let mut rest = fields_of(conversation);
    rest.remove("chat_messages");
    importer.conversation(SourceConversation {
        id,
        title: rest.get("name").and_then(text_of),
        started_at: rest.get("created_at").and_then(time_of),
        rest: rest.into(),
        ..SourceConversation::default()
    })?;
    if let Some(position) = position {
        importer.position(position);
    }
    let is_tree = sources.iter().any(|source| source["parent_message_uuid"].is_string());
    let mut messages = Vec::new();
    let mut previous = SourceParent::Root;
    for (number, source) in (1..).zip(sources) {
        let id = id_of(&source["uuid"]).unwrap_or_else(|| format!("message {number}"));
        let parent = match id_of(&source["parent_message_uuid"]) {
            Some(parent) if parent == ROOT => SourceParent::Root,
            Some(parent) => SourceParent::Message(parent),
            None if is_tree => SourceParent::Root,
            None => previous,
        };
        previous = SourceParent::Message(id.clone());
        read_message(source, (id, parent), model.as_deref(), &mut messages);
    }
    topological_order::write(importer, place, messages)
}

fn read_message(
    mut source: Value,
    (id, parent): (String, SourceParent),
    model: Option<&str>,
    messages: &mut Vec<SourceMessage>,
) {
    let content = source.take_field("content");
    let role = if source["sender"] == "human" { SourceRole::User } else { SourceRole::Model };
    let mut parsed = ParsedContent::of(&content);
    if parsed.text.is_empty() {
        parsed.text = text_of(&source["text"]).unwrap_or_default();
    }
    for attachment in source["attachments"].as_array().into_iter().flatten() {
        let name = attachment["file_name"].as_str().unwrap_or("attachment");
        append_line(&mut parsed.text, &format!("[{name}]"));
        append_line(&mut parsed.text, attachment["extracted_content"].as_str().unwrap_or(""));
    }
    for file in ["files", "files_v2"].iter().flat_map(|list| source[*list].as_array().into_iter().flatten()) {
        append_line(&mut parsed.text, &format!("[{}]", file["file_name"].as_str().unwrap_or("file")));
    }
    let at = time_of(&source["created_at"]);
    let results = std::mem::take(&mut parsed.results);
    let calls = parsed.calls.clone();
    let mut message = SourceMessage { id: id.clone(), parent, role, at, ..SourceMessage::default() };
    if role == SourceRole::Model {
        message.model = source["model"].as_str().or(model).map(|model| model_of(Some("anthropic"), model));
    }
    parsed.into_message(&mut message);
    for name in ["text", "content"] {
        source.as_object_mut().map(|fields| fields.remove(name));
    }
    message.rest = source;
    messages.push(message);
    for (number, result) in (1..).zip(results) {
        let parsed = ParsedContent::of(&result["content"]);
        let call_id = text_of(&result["tool_use_id"]);
        let call = calls.iter().find(|call| call_id.is_some() && call["id"].as_str() == call_id.as_deref());
        messages.push(SourceMessage {
            id: format!("{id}#{number}"),
            parent: SourceParent::Message(id.clone()),
            role: SourceRole::Tool,
            tool_name: text_of(&result["name"]).or_else(|| text_of(&call?["name"])),
            call_id,
            has_failed: result["is_error"].as_bool().unwrap_or(false),
            text: parsed.text,
            raw: parsed.raw,
            at,
            ..SourceMessage::default()
        });
    }
}

fn append_line(text: &mut String, line: &str) {
    if !text.is_empty() && !line.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}
