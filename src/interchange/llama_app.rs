//! Reader of llama.cpp's web interface: JSON lines with a line for each session, followed by its messages in any order, and
//! the JSON export of older versions, a list of `{"conv": …, "messages": […]}`.
//!
//! Texts of attachments are a part of their message.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    Importer, InterchangeError, SourceLines,
    content::{ParsedContent, TakeField as _, id_of, model_of, text_of, time_of},
    json_entries,
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
    topological_order,
};

/// Messages of the current conversation.
#[derive(Default)]
struct LlamaMessages {
    messages: Vec<SourceMessage>,
    /// Messages without content, which are the roots of their conversations.
    roots: Vec<String>,
}

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let mut messages = LlamaMessages::default();
    let mut begun = SourcePlace::Line(0);
    let mut is_first = true;
    while let Some(line) = lines.next()? {
        let place = SourcePlace::Line(line.number);
        match serde_json::from_str::<Value>(&line.text) {
            Ok(value) if value.is_array() || value["conv"].is_object() => {
                read_export(place, value, lines.name, importer)?;
            }
            Ok(mut value) => match value["type"].as_str() {
                Some("session") => {
                    messages.write(begun, importer)?;
                    begun = place;
                    begin(place, value, lines.name, importer)?;
                }
                Some("message") if value["message"].is_object() => messages.add(place, value.take_field("message")),
                _ => importer.problem(place, "it is neither a session nor a message"),
            },
            // A JSON document over several lines.
            Err(error) if is_first && error.is_eof() => {
                let name = lines.name;
                return json_entries::read_entries_after(line.text, lines, importer, &mut |place, entry, importer| {
                    read_export(place, entry, name, importer)
                });
            }
            Err(error) => importer.problem(place, error),
        }
        is_first = false;
    }
    messages.write(begun, importer)
}

/// Reads a conversation of the JSON export, or a list of them.
fn read_export(
    place: SourcePlace,
    mut entry: Value,
    name: &str,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    if let Value::Array(entries) = entry {
        return entries.into_iter().try_for_each(|entry| read_export(place, entry, name, importer));
    }
    let (conversation, Value::Array(sources)) = (entry.take_field("conv"), entry.take_field("messages")) else {
        importer.problem(place, "it has no messages");
        return Ok(());
    };
    begin(place, conversation, name, importer)?;
    let mut messages = LlamaMessages::default();
    sources.into_iter().filter(Value::is_object).for_each(|source| messages.add(place, source));
    messages.write(place, importer)
}

fn begin(
    place: SourcePlace,
    conversation: Value,
    name: &str,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let position = id_of(&conversation["currNode"]);
    importer.conversation(SourceConversation {
        id: id_of(&conversation["id"]).unwrap_or_else(|| format!("{name} {place}")),
        title: text_of(&conversation["name"]),
        rest: conversation,
        ..SourceConversation::default()
    })?;
    position.into_iter().for_each(|position| importer.position(position));
    Ok(())
}

impl LlamaMessages {
    fn add(&mut self, place: SourcePlace, message: Value) {
        if message["type"] == "root" {
            self.roots.extend(id_of(&message["id"]));
        } else {
            self.messages.push(read_message(place, message));
        }
    }

    /// Imports the messages, parents first.
    fn write(&mut self, place: SourcePlace, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
        let (mut messages, roots) = (std::mem::take(&mut self.messages), std::mem::take(&mut self.roots));
        let calls = messages.iter().flat_map(|message| &message.calls);
        let tools: HashMap<String, String> =
            calls.filter_map(|call| Some((id_of(&call["id"])?, text_of(&call["function"]["name"])?))).collect();
        for message in &mut messages {
            message.tool_name = message.call_id.as_ref().and_then(|call| tools.get(call)).cloned();
            if matches!(&message.parent, SourceParent::Message(parent) if roots.contains(parent)) {
                message.parent = SourceParent::Root;
            }
        }
        topological_order::write(importer, place, messages)
    }
}

fn read_message(place: SourcePlace, mut source: Value) -> SourceMessage {
    let content = source.take_field("content");
    let role = match source["role"].as_str() {
        Some("user") => SourceRole::User,
        Some("assistant") => SourceRole::Model,
        Some("system") => SourceRole::System,
        Some("tool") => SourceRole::Tool,
        _ => SourceRole::Note,
    };
    let mut message = SourceMessage {
        id: id_of(&source["id"]).unwrap_or_else(|| place.to_string()),
        parent: id_of(&source["parent"]).into(),
        role,
        model: text_of(&source["model"]).filter(|_| role == SourceRole::Model).map(|model| model_of(None, &model)),
        at: time_of(&source["timestamp"]),
        ..SourceMessage::default()
    };
    ParsedContent::of(&content).into_message(&mut message);
    let mut parts: Vec<String> = Some(message.text).filter(|text| !text.is_empty()).into_iter().collect();
    for extra in source.get_mut("extra").and_then(Value::as_array_mut).into_iter().flatten() {
        parts.push(format!("[{}]", extra["name"].as_str().unwrap_or("attachment")));
        parts.extend(text_of(&extra.take_field("content")));
    }
    message.text = parts.join("\n");
    let thought = ["reasoning_content", "reasoningContent", "thinking"].iter().find_map(|name| text_of(&source[*name]));
    message.thoughts.extend(thought);
    message.call_id = id_of(&source["toolCallId"]);
    // The JSON export has the calls as a string of JSON.
    let calls = match &source["toolCalls"] {
        Value::String(text) => serde_json::from_str(text).ok(),
        calls => calls.as_array().cloned(),
    };
    if let Some(calls) = calls {
        source["toolCalls"].take();
        message.calls.extend(calls);
    }
    message.rest = source;
    message
}
