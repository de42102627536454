//! Reader of the JSONL of llama.cpp's web interface: a line for each session, followed by its messages in any order.

use serde_json::Value;

use super::{
    Importer, InterchangeError, SourceLines,
    content::{ParsedContent, TakeField as _, id_of, model_of, text_of, time_of},
    source_record::{SourceConversation, SourceMessage, SourcePlace, SourceRole},
    topological_order,
};

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let mut messages: Vec<SourceMessage> = Vec::new();
    // Messages without content are the roots of their conversations.
    let mut roots: Vec<String> = Vec::new();
    let mut begun = SourcePlace::Line(0);
    while let Some(line) = lines.next()? {
        let place = SourcePlace::Line(line.number);
        let mut value: Value = match serde_json::from_str(&line.text) {
            Ok(value) => value,
            Err(error) => {
                importer.problem(place, error);
                continue;
            }
        };
        match value["type"].as_str() {
            Some("session") => {
                write(importer, begun, &mut messages, &mut roots)?;
                begun = place;
                importer.conversation(SourceConversation {
                    id: id_of(&value["id"]).unwrap_or_else(|| format!("{} {place}", lines.name)),
                    title: text_of(&value["name"]),
                    rest: value.clone(),
                    ..SourceConversation::default()
                })?;
                id_of(&value["currNode"]).into_iter().for_each(|position| importer.position(position));
            }
            Some("message") if value["message"].is_object() => {
                let message = value.take_field("message");
                if message["type"] == "root" {
                    roots.extend(id_of(&message["id"]));
                } else {
                    messages.push(read_message(place, message));
                }
            }
            _ => importer.problem(place, "it is neither a session nor a message"),
        }
    }
    write(importer, begun, &mut messages, &mut roots)
}

/// Imports the messages of the current conversation.
fn write(
    importer: &mut Importer<'_>,
    place: SourcePlace,
    messages: &mut Vec<SourceMessage>,
    roots: &mut Vec<String>,
) -> Result<(), InterchangeError> {
    let roots = std::mem::take(roots);
    for message in messages.iter_mut() {
        if matches!(&message.parent, super::source_record::SourceParent::Message(parent) if roots.contains(parent)) {
            message.parent = super::source_record::SourceParent::Root;
        }
    }
    topological_order::write(importer, place, std::mem::take(messages))
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
    let thought = ["reasoning_content", "reasoningContent", "thinking"].iter().find_map(|name| text_of(&source[*name]));
    message.thoughts.extend(thought);
    message.rest = source;
    message
}
