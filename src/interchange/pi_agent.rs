//! Reader of pi's session JSONL, versions 1 to 3.
//!
//! A tool result follows the message that made the calls, and the entry after a result continues that message. Entries
//! that are not messages become notes at their position. Version 1 has no ids: each entry follows the previous one.

use serde_json::Value;

use super::{
    Importer, InterchangeError, SourceLines,
    content::{ParsedContent, TakeField as _, id_of, model_of, text_of, time_of, tokens_of},
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
};

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let mut is_chain = true;
    let mut has_begun = false;
    while let Some(line) = lines.next()? {
        let place = SourcePlace::Line(line.number);
        let entry: Value = match serde_json::from_str(&line.text) {
            Ok(entry) => entry,
            Err(error) => {
                importer.problem(place, error);
                continue;
            }
        };
        if !has_begun {
            has_begun = true;
            is_chain = entry["version"].as_u64().unwrap_or(1) < 2;
            importer.conversation(SourceConversation {
                id: id_of(&entry["id"]).unwrap_or_else(|| lines.name.to_owned()),
                folder: text_of(&entry["cwd"]),
                started_at: time_of(&entry["timestamp"]),
                rest: entry,
                ..SourceConversation::default()
            })?;
        } else if entry["type"].is_string() {
            read_entry(entry, place, is_chain, importer)?;
        } else {
            importer.problem(place, "it has no type");
        }
    }
    Ok(())
}

fn read_entry(
    mut entry: Value,
    place: SourcePlace,
    is_chain: bool,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let mut message = SourceMessage {
        id: id_of(&entry["id"]).unwrap_or_else(|| place.to_string()),
        parent: if is_chain { SourceParent::Previous } else { id_of(&entry["parentId"]).into() },
        at: time_of(&entry["message"]["timestamp"]).or_else(|| time_of(&entry["timestamp"])),
        ..SourceMessage::default()
    };
    if entry["type"] == "message" && entry["message"].is_object() {
        read_message(&mut entry["message"], &mut message);
    } else {
        message.text = text_of_entry(&entry);
        let word = |name: &str| entry[name].as_str().unwrap_or("");
        match word("type") {
            "session_info" => importer.title(place, word("name"))?,
            "label" => importer.bookmark(place, word("targetId").to_owned(), word("label").to_owned()),
            _ => {}
        }
    }
    message.rest = entry;
    importer.message(place, message)
}

/// Moves the content of an entry's message into a record.
fn read_message(source: &mut Value, message: &mut SourceMessage) {
    let content = source.take_field("content");
    if let Some(fields) = source.as_object_mut() {
        fields.remove("content");
    }
    ParsedContent::of(&content).into_message(message);
    message.role = match source["role"].as_str().unwrap_or("") {
        "user" => SourceRole::User,
        "assistant" => SourceRole::Model,
        "toolResult" | "bashExecution" => SourceRole::Tool,
        _ => SourceRole::Note,
    };
    if message.role == SourceRole::Model {
        let provider = source["provider"].as_str().unwrap_or("unknown");
        message.model = Some(model_of(Some(provider), source["model"].as_str().unwrap_or("unknown")));
    }
    if source["role"] == "bashExecution" {
        message.tool_name = Some("bash".to_owned());
        if message.text.is_empty() {
            let word = |name: &str| source[name].as_str().unwrap_or("");
            message.text = format!("$ {}\n{}", word("command"), word("output"));
        }
    } else {
        message.tool_name = text_of(&source["toolName"]);
    }
    // A command that the user kept from the model.
    message.is_hidden = source["excludeFromContext"] == true;
    message.call_id = text_of(&source["toolCallId"]);
    message.has_failed = source["isError"].as_bool().unwrap_or(false);
    message.tokens = tokens_of(&source["usage"]["output"]);
    message.is_interrupted = matches!(source["stopReason"].as_str(), Some("aborted" | "error"));
}

/// Returns a line for an entry that is not a message.
fn text_of_entry(entry: &Value) -> String {
    let word = |name: &str| entry[name].as_str().unwrap_or("");
    match word("type") {
        "model_change" => format!("model: {}:{}", word("provider"), word("modelId")),
        "thinking_level_change" => format!("thinking level: {}", word("thinkingLevel")),
        "session_info" => format!("session name: {}", word("name")),
        "label" => format!("label: {}", word("label")),
        "compaction" | "branch_summary" => word("summary").to_owned(),
        "custom_message" => ParsedContent::of(&entry["content"]).text,
        other => other.to_owned(),
    }
}
