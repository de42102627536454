//! Reader of goose: its database, the JSON lines that older versions write, and the JSON export of a session.
//!
//! A session is a chain. Results of tools stand in messages of the user and hang below the call. The summary of a
//! compaction, which goose hides from the user, is a note. The ids are those of the provider, which may repeat in a
//! session; each row is a message of its own.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{
    Importer, InterchangeError, SourceLines,
    content::{ParsedContent, TakeField as _, fields_of, id_of, model_of, text_of, time_of, tokens_of},
    database_rows::{collect, parsed},
    json_entries,
    source_record::{SourceConversation, SourceMessage, SourcePlace, SourceRole},
};
use crate::store::{ForeignDatabase, ForeignQuery, RowFilter};

const SESSION_COLUMNS: &[&str] = &[
    "id",
    "name",
    "description",
    "working_dir",
    "created_at",
    "provider_name",
    "model_config_json",
    "parent_session_id",
    "session_type",
];

const MESSAGE_COLUMNS: &[&str] =
    &["message_id", "role", "content_json", "created_timestamp", "tokens", "metadata_json"];

pub(super) fn read_database(database: &ForeignDatabase, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let sessions = collect(database, "sessions", SESSION_COLUMNS, RowFilter::All, &["created_at", "id"])?;
    for (number, row) in (1..).zip(sessions) {
        let place = SourcePlace::Row(number);
        let mut session: Value = SESSION_COLUMNS.iter().map(|name| (*name).to_owned()).zip(row).collect();
        let Some(id) = id_of(&session["id"]) else {
            importer.problem(place, "it has no id");
            continue;
        };
        let config = parsed(&session.take_field("model_config_json"));
        let model = text_of(&config["model_name"]).map(|model| model_of(session["provider_name"].as_str(), &model));
        let mut reader = GooseReader { model, ..GooseReader::default() };
        reader.begin(id.clone(), session, importer)?;
        let filter = RowFilter::Equal("session_id", &id);
        let query = ForeignQuery { table: "messages", columns: MESSAGE_COLUMNS, filter, order: &["id"] };
        database.rows(&query, &mut |row| {
            let [id, role, content, created, tokens, metadata] = row.as_slice() else { return Ok(()) };
            let message = json!({
                "id": id, "role": role, "content": parsed(content), "created": created,
                "tokens": tokens, "metadata": parsed(metadata),
            });
            reader.message(place, message, importer)
        })?;
    }
    Ok(())
}

/// Reads JSON lines, the first of which describes the session, or the JSON document of an export.
pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let mut reader: Option<GooseReader> = None;
    while let Some(line) = lines.next()? {
        let place = SourcePlace::Line(line.number);
        match (serde_json::from_str::<Value>(&line.text), &mut reader) {
            (Ok(value), Some(reader)) => reader.message(place, value, importer)?,
            (Ok(value), None) if value["conversation"].is_array() => read_session(place, value, lines.name, importer)?,
            (Ok(mut value), None) => {
                let is_message = value["role"].is_string();
                let about = if is_message { Value::Null } else { value.take() };
                let new = reader.insert(GooseReader::default());
                let stem = std::path::Path::new(lines.name).file_stem();
                new.begin(stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()), about, importer)?;
                if is_message {
                    new.message(place, value, importer)?;
                }
            }
            (Err(_), None) => {
                let name = lines.name;
                return json_entries::read_entries_after(line.text, lines, importer, &mut |place, entry, importer| {
                    read_session(place, entry, name, importer)
                });
            }
            (Err(error), Some(_)) => importer.problem(place, error),
        }
    }
    Ok(())
}

/// Reads the export of a session.
fn read_session(
    place: SourcePlace,
    mut session: Value,
    name: &str,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let Value::Array(messages) = session.take_field("conversation") else {
        importer.problem(place, "it has no conversation");
        return Ok(());
    };
    let model = text_of(&session["model_config"]["model_name"]);
    let mut reader = GooseReader {
        model: model.map(|model| model_of(session["provider_name"].as_str(), &model)),
        ..GooseReader::default()
    };
    reader.begin(id_of(&session["id"]).unwrap_or_else(|| name.to_owned()), session, importer)?;
    messages.into_iter().try_for_each(|message| reader.message(place, message, importer))
}

#[derive(Default)]
struct GooseReader {
    /// Model of the session.
    model: Option<String>,
    /// Messages so far, which identify those without an id.
    count: u64,
    /// Occurrences of each id.
    ids: HashMap<String, u64>,
}

impl GooseReader {
    fn begin(&mut self, id: String, session: Value, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
        importer.conversation(SourceConversation {
            id,
            title: text_of(&session["name"]).or_else(|| text_of(&session["description"])),
            folder: text_of(&session["working_dir"]),
            started_at: time_of(&session["created_at"]),
            parent: id_of(&session["parent_session_id"]).map(|parent| (parent, None)),
            rest: session,
            ..SourceConversation::default()
        })
    }

    /// Returns an id that no earlier message of the session has. Rows are ordered, so it is the same in each import.
    fn unique_id(&mut self, id: String) -> String {
        let count = self.ids.entry(id.clone()).or_default();
        *count += 1;
        if *count == 1 { id } else { format!("{id}~{count}") }
    }

    fn message(
        &mut self,
        place: SourcePlace,
        mut source: Value,
        importer: &mut Importer<'_>,
    ) -> Result<(), InterchangeError> {
        self.count += 1;
        let role = match source["role"].as_str().map(str::to_lowercase).as_deref() {
            Some("user") => SourceRole::User,
            Some("assistant") => SourceRole::Model,
            _ => {
                importer.problem(place, "a message has no role");
                return Ok(());
            }
        };
        let Value::Array(mut blocks) = source.take_field("content") else {
            importer.problem(place, "a message has no content");
            return Ok(());
        };
        let number = self.count;
        let id = id_of(&source["id"]).map_or_else(|| format!("#{number}"), |id| self.unique_id(id));
        let at = time_of(&source["created"]);
        let mut results = Vec::new();
        blocks.retain_mut(|block| {
            let is_result = block["type"] == "toolResponse";
            if is_result {
                results.push(read_result(block.take(), &id, results.len()));
            }
            !is_result
        });
        let is_note = source["metadata"]["userVisible"] == false;
        let mut message = SourceMessage {
            id,
            role: if is_note { SourceRole::Note } else { role },
            at,
            tokens: tokens_of(&source["metadata"]["usage"]["outputTokens"]).or_else(|| tokens_of(&source["tokens"])),
            ..SourceMessage::default()
        };
        if role == SourceRole::Model {
            let model = text_of(&source["metadata"]["inference"]["resolvedModel"]).map(|model| model_of(None, &model));
            message.model = model.or_else(|| self.model.clone());
        }
        let is_empty = blocks.is_empty() && !results.is_empty();
        let requests = blocks.iter().filter(|block| block["type"] == "toolRequest").map(read_request).collect();
        blocks.retain(|block| block["type"] != "toolRequest");
        ParsedContent::of(&blocks.into()).into_message(&mut message);
        message.calls = requests;
        let mut rest = fields_of(source);
        rest.retain(|name, value| !matches!(name.as_str(), "id" | "role" | "content" | "created") && !value.is_null());
        if !rest.is_empty() {
            message.rest = rest.into();
        }
        if !is_empty {
            importer.message(place, message)?;
        }
        results.into_iter().try_for_each(|result| importer.message(place, SourceMessage { at, ..result }))
    }
}

/// Reads a call; its arguments are missing where the model wrote none that could be parsed.
fn read_request(block: &Value) -> Value {
    let call = &block["toolCall"];
    let call = if call["value"].is_null() { call } else { &call["value"] };
    json!({ "id": block["id"], "name": call["name"], "arguments": call["arguments"] })
}

fn read_result(mut block: Value, message: &str, index: usize) -> SourceMessage {
    let mut result = block.take_field("toolResult");
    let error = text_of(&result["error"]);
    let has_failed = result["status"] == "error" || result["value"]["isError"] == true;
    let mut value = result.take_field("value");
    if value["content"].is_array() {
        value = value.take_field("content");
    }
    let mut result = SourceMessage {
        id: format!("{message}#{index}"),
        role: SourceRole::Tool,
        call_id: id_of(&block["id"]),
        has_failed,
        ..SourceMessage::default()
    };
    let parsed = ParsedContent::of(&value);
    (result.text, result.raw) = (error.unwrap_or(parsed.text), parsed.raw);
    result
}
