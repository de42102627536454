//! Reader of the database of Cursor's desktop application, `state.vscdb`.
//!
//! A session is a document with the order of its messages, each of which is a document of its own. A message that makes
//! a call holds the result too. Sessions are chains.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{
    Importer, InterchangeError,
    content::{TakeField as _, fields_of, id_of, model_of, text_of, time_of, tokens_of},
    database_rows::{collect, parsed},
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
};
use crate::store::{ForeignDatabase, RowFilter};

/// Table of keys and documents.
const TABLE: &str = "cursorDiskKV";
/// Beginning of the key of a session's document.
const SESSION_KEY: &str = "composerData:";
/// Name of the model in sessions that let the application choose one.
const UNNAMED_MODEL: &str = "default";

pub(super) fn read_database(
    database: &ForeignDatabase,
    tables: &[String],
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let mut headers = HashMap::new();
    if tables.iter().any(|table| table == "composerHeaders") {
        for row in collect(database, "composerHeaders", &["composerId", "value"], RowFilter::All, &["composerId"])? {
            id_of(&row[0]).map(|id| headers.insert(id, parsed(&row[1])));
        }
    }
    let keys = collect(database, TABLE, &["key"], RowFilter::Prefix("key", SESSION_KEY), &["key"])?;
    for (number, row) in (1..).zip(keys) {
        let place = SourcePlace::Row(number);
        let Some(id) = row[0].as_str().and_then(|key| key.strip_prefix(SESSION_KEY)) else { continue };
        match document(database, &format!("{SESSION_KEY}{id}"))? {
            Some(session) => {
                let header = headers.remove(id).unwrap_or_default();
                read_session(database, place, (id, &header), session, importer)?;
            }
            None => importer.problem(place, format!("session {id:?} is no document")),
        }
    }
    Ok(())
}

/// Reads the document of a key. `None` if it is missing or malformed.
fn document(database: &ForeignDatabase, key: &str) -> Result<Option<Value>, InterchangeError> {
    let rows = collect(database, TABLE, &["value"], RowFilter::Equal("key", key), &[])?;
    Ok(rows.first().map(|row| parsed(&row[0])).filter(Value::is_object))
}

fn read_session(
    database: &ForeignDatabase,
    place: SourcePlace,
    (id, header): (&str, &Value),
    mut session: Value,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    // The oldest sessions hold their messages themselves.
    let list = ["fullConversationHeadersOnly", "conversation"].map(|name| session.take_field(name));
    let messages = list.into_iter().find_map(|list| match list {
        Value::Array(messages) if !messages.is_empty() => Some(messages),
        _ => None,
    });
    let Some(messages) = messages else {
        importer.left_out("session without messages");
        return Ok(());
    };
    let about = |name: &str| if header[name].is_null() { &session[name] } else { &header[name] };
    let folder = text_of(&about("workspaceIdentifier")["uri"]["fsPath"])
        .or_else(|| text_of(&about("trackedGitRepos")[0]["repoPath"]));
    importer.conversation(SourceConversation {
        id: id.to_owned(),
        title: text_of(about("name")),
        folder,
        started_at: time_of(about("createdAt")),
        ..SourceConversation::default()
    })?;
    let model = text_of(&session["modelConfig"]["modelName"]).filter(|model| model != UNNAMED_MODEL);
    let mut thoughts = Vec::new();
    for entry in messages {
        let Some(bubble) = id_of(&entry["bubbleId"]) else {
            importer.problem(place, "a message has no id");
            continue;
        };
        let is_whole = entry["text"].is_string() || entry["toolFormerData"].is_object();
        let source = if is_whole { Some(entry) } else { document(database, &format!("bubbleId:{id}:{bubble}"))? };
        match source {
            Some(source) => write_message(place, bubble, source, model.as_deref(), &mut thoughts, importer)?,
            None => importer.problem(place, format!("message {bubble:?} of session {id:?} is missing")),
        }
    }
    if !thoughts.is_empty() {
        importer.left_out("thinking without an answer");
    }
    Ok(())
}

/// Imports a message. Thinking is a message of its own in the source, and becomes a thought of the next answer.
fn write_message(
    place: SourcePlace,
    id: String,
    mut source: Value,
    model: Option<&str>,
    thoughts: &mut Vec<String>,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let role = match source["type"].as_u64() {
        Some(1) => SourceRole::User,
        Some(2) => SourceRole::Model,
        _ => SourceRole::Note,
    };
    let text = text_of(&source.take_field("text")).unwrap_or_default();
    let mut call = source.take_field("toolFormerData");
    thoughts.extend(text_of(&source["thinking"]["text"]).filter(|_| role == SourceRole::Model));
    if text.trim().is_empty() && !call.is_object() {
        if role != SourceRole::Model || source["thinking"].is_null() {
            importer.left_out("empty message");
        }
        return Ok(());
    }
    let at = time_of(&source["createdAt"]).or_else(|| time_of(&source["timingInfo"]["clientStartTime"]));
    let own = text_of(&source["modelInfo"]["modelName"]).filter(|model| model != UNNAMED_MODEL);
    let mut message = SourceMessage {
        role,
        text,
        at,
        tokens: tokens_of(&source["tokenCount"]["outputTokens"]),
        id: id.clone(),
        ..SourceMessage::default()
    };
    if role == SourceRole::Model {
        message.model = own.as_deref().or(model).map(|model| model_of(None, model));
        message.thoughts = std::mem::take(thoughts);
    }
    let mut result = None;
    if call.is_object() {
        let call_id = id_of(&call["toolCallId"]).unwrap_or_else(|| id.clone());
        let parameters = call.take_field("params");
        let parameters = Some(parsed(&parameters)).filter(|value| !value.is_null()).unwrap_or(parameters);
        message.calls.push(json!({ "id": call_id, "name": call["name"], "arguments": parameters }));
        let status = call["status"].as_str().unwrap_or("");
        result = matches!(status, "completed" | "error").then(|| SourceMessage {
            id: format!("{id}#result"),
            parent: SourceParent::Message(id),
            role: SourceRole::Tool,
            tool_name: text_of(&call["name"]),
            has_failed: status == "error",
            text: text_of(&call["result"]).unwrap_or_default(),
            call_id: Some(call_id),
            at,
            ..SourceMessage::default()
        });
    }
    let mut rest = fields_of(source);
    // Every message has dozens of fields for what it does not hold.
    rest.retain(|name, value| name != "richText" && !is_blank(value));
    message.rest = rest.into();
    importer.message(place, message)?;
    result.map_or(Ok(()), |result| importer.message(place, result))
}

/// True for null, false and whatever is empty.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.values().all(is_blank),
        _ => false,
    }
}
