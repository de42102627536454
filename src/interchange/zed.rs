//! Reader of Zed's `threads.db`: a thread a row, as JSON that is usually compressed.
//!
//! A thread is a chain. Only messages of the user have ids; an answer is identified by the message before it and its
//! place after that. A message that the user edits gets a new id, so an import of the edited thread adds a branch.

use serde_json::{Value, json};

use super::{
    Importer, InterchangeError,
    content::{TakeField as _, id_of, model_of, text_of, time_of},
    database_rows::collect,
    source_record::{SourceConversation, SourceMessage, SourcePlace, SourceRole},
    zstd,
};
use crate::store::{ForeignDatabase, RowFilter};

/// Maximum bytes of a thread.
const MAX_THREAD_BYTES: usize = 256 << 20;

pub(super) fn read_database(database: &ForeignDatabase, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let columns = ["id", "summary", "updated_at", "created_at", "parent_id", "folder_paths"];
    let threads = collect(database, "threads", &columns, RowFilter::All, &["created_at", "updated_at", "id"])?;
    for (number, row) in (1..).zip(threads) {
        let place = SourcePlace::Row(number);
        let Some(id) = id_of(&row[0]) else {
            importer.problem(place, "it has no id");
            continue;
        };
        let data = database.bytes("threads", "data", ("id", &id))?.unwrap_or_default();
        let thread = match read_thread(&data) {
            Ok(thread) => thread,
            Err(error) => {
                importer.problem(place, error);
                continue;
            }
        };
        importer.conversation(SourceConversation {
            id,
            title: [&row[1], &thread["title"], &thread["summary"]].into_iter().find_map(text_of),
            folder: row[5].as_str().and_then(|paths| paths.lines().next()).map(str::to_owned),
            started_at: time_of(&row[3]).or_else(|| time_of(&row[2])),
            parent: id_of(&row[4]).map(|parent| (parent, None)),
            ..SourceConversation::default()
        })?;
        write_thread(place, thread, importer)?;
    }
    Ok(())
}

/// Parses a thread, compressed or not.
fn read_thread(data: &[u8]) -> Result<Value, String> {
    let unpacked = zstd::is_compressed(data).then(|| zstd::decompress(data, MAX_THREAD_BYTES)).transpose();
    let unpacked = unpacked.map_err(|error| error.to_string())?;
    serde_json::from_slice(unpacked.as_deref().unwrap_or(data)).map_err(|error| error.to_string())
}

fn write_thread(place: SourcePlace, mut thread: Value, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let model = &thread["model"];
    let model = text_of(&model["model"]).map(|name| model_of(model["provider"].as_str(), &name));
    let Value::Array(messages) = thread.take_field("messages") else {
        importer.problem(place, "it has no messages");
        return Ok(());
    };
    // Id of the newest message of the user, and the number of messages after it.
    let (mut prompt, mut number) = ("start".to_owned(), 0);
    for mut source in messages {
        number += 1;
        let is_old = source["role"].is_string();
        let (role, mut body) = match source.as_object().and_then(|fields| fields.keys().next()).map(String::as_str) {
            Some("User") => (SourceRole::User, source.take_field("User")),
            Some("Agent") => (SourceRole::Model, source.take_field("Agent")),
            _ if is_old && source["role"] == "user" => (SourceRole::User, source),
            _ if is_old && source["role"] == "assistant" => (SourceRole::Model, source),
            _ if is_old => (SourceRole::System, source),
            _ => {
                importer.left_out(source.as_str().unwrap_or("message of an unknown kind"));
                continue;
            }
        };
        if role == SourceRole::User
            && let Some(id) = id_of(&body["id"])
        {
            (prompt, number) = (id, 0);
        }
        let mut message = SourceMessage {
            id: if number == 0 { prompt.clone() } else { format!("{prompt}#{number}") },
            role,
            model: model.clone().filter(|_| role == SourceRole::Model),
            ..SourceMessage::default()
        };
        let results = read_results(&mut body, &message.id);
        read_content(body, &mut message);
        let is_only_results = message.text.is_empty() && role == SourceRole::User && !results.is_empty();
        if !is_only_results {
            importer.message(place, message)?;
        }
        results.into_iter().try_for_each(|result| importer.message(place, result))?;
    }
    Ok(())
}

/// Moves the content of a message into a record: a list of parts in the current form, `segments` and `tool_uses` or a
/// `text` in older ones.
fn read_content(mut body: Value, message: &mut SourceMessage) {
    let content = [body.take_field("content"), body.take_field("segments")].into_iter().find(Value::is_array);
    let mut texts: Vec<String> = Vec::new();
    let mut is_plain = true;
    for part in content.as_ref().and_then(Value::as_array).into_iter().flatten() {
        if let Some(text) = part["Text"].as_str().or_else(|| part["text"].as_str().filter(|_| part["type"] == "text")) {
            texts.push(text.to_owned());
            continue;
        }
        is_plain = false;
        let thinking = if part["type"] == "thinking" { part } else { &part["Thinking"] };
        let used = &part["ToolUse"];
        if let Some(thought) = text_of(&thinking["text"]) {
            message.thoughts.push(thought);
        } else if used.is_object() {
            message.calls.push(json!({ "id": used["id"], "name": used["name"], "arguments": used["input"] }));
        } else if let Some(attached) = text_of(&part["Mention"]["content"]) {
            texts.push(attached);
        } else if let Some(kind) = part.as_object().and_then(|fields| fields.keys().next())
            && matches!(kind.as_str(), "Mention" | "Image")
        {
            texts.push(format!("[{}]", kind.to_lowercase()));
        }
    }
    for used in body["tool_uses"].as_array().into_iter().flatten() {
        message.calls.push(json!({ "id": used["id"], "name": used["name"], "arguments": used["input"] }));
    }
    texts.extend(text_of(&body["text"]));
    message.text = texts.join("\n");
    message.raw = content.filter(|_| !is_plain).map(|content| content.to_string());
}

/// Takes the results of tools out of a message: a map by call, or a list in older threads.
fn read_results(body: &mut Value, message: &str) -> Vec<SourceMessage> {
    let results: Vec<Value> = match body.take_field("tool_results") {
        Value::Object(results) => results.into_iter().map(|(_, result)| result).collect(),
        Value::Array(results) => results,
        _ => Vec::new(),
    };
    let read = |(index, result): (usize, Value)| SourceMessage {
        id: format!("{message}#{}", id_of(&result["tool_use_id"]).unwrap_or_else(|| index.to_string())),
        role: SourceRole::Tool,
        call_id: id_of(&result["tool_use_id"]),
        tool_name: text_of(&result["tool_name"]),
        has_failed: result["is_error"] == true,
        text: text_of_result(&result["content"]),
        ..SourceMessage::default()
    };
    results.into_iter().enumerate().map(read).collect()
}

/// Returns the text of a result's content, which Zed has written in several forms.
fn text_of_result(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of_result).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => {
            let text = ["Text", "text"].iter().find_map(|name| text_of(fields.get(*name)?));
            text.unwrap_or_else(|| "[image]".to_owned())
        }
        _ => String::new(),
    }
}
