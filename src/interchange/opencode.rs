//! Reader of opencode: its database, and the folder of JSON files that older versions write.
//!
//! Both have the same ids, so a conversation that an update moved from one to the other is imported once.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{
    Importer, InterchangeError,
    content::{TakeField as _, fields_of, id_of, model_of, text_of, time_of, tokens_of},
    database_rows::{collect, parsed},
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
};
use crate::{
    store::{ForeignDatabase, ForeignQuery, RowFilter},
    types::Timestamp,
};

/// Maximum bytes of a JSON file of the folder.
const MAX_FILE_BYTES: u64 = 256 << 20;

pub(super) fn read_database(database: &ForeignDatabase, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let columns = ["id", "directory", "title", "parent_id", "time_created"];
    let sessions = collect(database, "session", &columns, RowFilter::All, &["time_created", "id"])?;
    for (number, session) in (1..).zip(sessions) {
        let place = SourcePlace::Row(number);
        let Some(id) = id_of(&session[0]) else { continue };
        importer.conversation(SourceConversation {
            id: id.clone(),
            folder: text_of(&session[1]),
            title: text_of(&session[2]),
            parent: id_of(&session[3]).map(|parent| (parent, None)),
            started_at: time_of(&session[4]),
            ..SourceConversation::default()
        })?;
        let query = ForeignQuery {
            table: "message",
            columns: &["id", "time_created", "data"],
            filter: RowFilter::Equal("session_id", &id),
            order: &["time_created", "id"],
        };
        database.rows(&query, &mut |row| {
            let Some(id) = id_of(&row[0]) else {
                importer.problem(place, "a message has no id");
                return Ok(());
            };
            let parts = collect(database, "part", &["id", "data"], RowFilter::Equal("message_id", &id), &["id"])?;
            let parts = parts.iter().map(|part| (id_of(&part[0]), parsed(&part[1]))).collect();
            write_message(importer, place, (id, time_of(&row[1]), parsed(&row[2])), parts)
        })?;
    }
    Ok(())
}

/// True if a folder is the storage of an older version.
pub(super) fn is_storage(folder: &Path) -> bool {
    ["session", "message", "part"].iter().all(|name| folder.join(name).is_dir())
}

/// Reads the storage of an older version: `session/PROJECT/SESSION.json`, `message/SESSION/MESSAGE.json` and
/// `part/MESSAGE/PART.json`.
pub(super) fn read_folder(folder: &Path, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let mut sessions: Vec<(Option<Timestamp>, String, Value)> = Vec::new();
    for project in entries(&folder.join("session"))? {
        for file in entries(&project)? {
            let session = read_file(&file).and_then(|session| {
                let id = id_of(&session["id"]).filter(|id| is_file_name(id)).ok_or("it has no id")?;
                Ok((time_of(&session["time"]["created"]), id, session))
            });
            match session {
                Ok(session) => sessions.push(session),
                Err(error) => importer.problem(SourcePlace::Whole, format!("{}: {error}", file.display())),
            }
        }
    }
    sessions.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    for (number, (started_at, id, session)) in (1..).zip(sessions) {
        let place = SourcePlace::Entry(number);
        importer.conversation(SourceConversation {
            folder: text_of(&session["directory"]),
            title: text_of(&session["title"]),
            parent: id_of(&session["parentID"]).map(|parent| (parent, None)),
            started_at,
            id: id.clone(),
            ..SourceConversation::default()
        })?;
        let mut messages = Vec::new();
        for (file, message) in read_files(&folder.join("message").join(&id), place, importer)? {
            match id_of(&message["id"]).or_else(|| stem(&file)).filter(|id| is_file_name(id)) {
                Some(id) => messages.push((time_of(&message["time"]["created"]), id, message)),
                None => importer.problem(place, format!("{} has no id", file.display())),
            }
        }
        messages.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        for (at, id, message) in messages {
            let parts = read_files(&folder.join("part").join(&id), place, importer)?;
            let parts = parts.into_iter().map(|(file, part)| (id_of(&part["id"]).or_else(|| stem(&file)), part));
            write_message(importer, place, (id, at, message), parts.collect())?;
        }
    }
    Ok(())
}

/// Returns the entries of a folder in the order of their names. A missing folder has none.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, InterchangeError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut entries = folder.read_dir()?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}

/// Reads the JSON files of a folder. Unreadable ones are problems of the import.
fn read_files(
    folder: &Path,
    place: SourcePlace,
    importer: &mut Importer<'_>,
) -> Result<Vec<(PathBuf, Value)>, InterchangeError> {
    let mut files = Vec::new();
    for file in entries(folder)? {
        match read_file(&file) {
            Ok(value) => files.push((file, value)),
            Err(error) => importer.problem(place, format!("{}: {error}", file.display())),
        }
    }
    Ok(files)
}

fn read_file(file: &Path) -> Result<Value, String> {
    let metadata = fs::metadata(file).map_err(|error| error.to_string())?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return Err("it is not a file, or too large".to_owned());
    }
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}

fn stem(file: &Path) -> Option<String> {
    file.file_stem().map(|stem| stem.to_string_lossy().into_owned())
}

/// True if an id names a file or folder of the storage and no place outside of it.
fn is_file_name(id: &str) -> bool {
    !id.is_empty() && id.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-'))
}

/// Imports a message with its parts. Calls of tools become results beside it; what the program added to the words of its user,
/// such as the text of a file that they name, becomes notes.
fn write_message(
    importer: &mut Importer<'_>,
    place: SourcePlace,
    (id, at, data): (String, Option<Timestamp>, Value),
    parts: Vec<(Option<String>, Value)>,
) -> Result<(), InterchangeError> {
    let mut message = SourceMessage {
        role: if data["role"] == "user" { SourceRole::User } else { SourceRole::Model },
        at,
        tokens: tokens_of(&data["tokens"]["output"]),
        model: text_of(&data["modelID"]).map(|model| model_of(data["providerID"].as_str(), &model)),
        is_interrupted: !data["error"].is_null(),
        id: id.clone(),
        rest: data,
        ..SourceMessage::default()
    };
    if message.role == SourceRole::User {
        message.model = None;
    }
    let (mut texts, mut content, mut notes, mut results) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (part, data) in parts {
        let part = || part.unwrap_or_else(|| format!("{id}#{}", results.len() + notes.len()));
        match data["type"].as_str().unwrap_or("") {
            "text" if data["synthetic"] == true && message.role == SourceRole::User => {
                notes.extend(text_of(&data["text"]).map(|text| SourceMessage {
                    id: part(),
                    parent: SourceParent::Message(id.clone()),
                    text,
                    at,
                    ..SourceMessage::default()
                }));
                continue;
            }
            "text" => texts.extend(text_of(&data["text"])),
            "reasoning" => {
                message.thoughts.extend(text_of(&data["text"]));
                continue;
            }
            "tool" => {
                let result = read_result(data, part(), &message);
                message.calls.push(result.0);
                results.push(result.1);
                continue;
            }
            "file" => texts.push(format!("[{}]", data["filename"].as_str().unwrap_or("file"))),
            "subtask" => texts.extend(text_of(&data["prompt"])),
            other => {
                importer.left_out(other);
                continue;
            }
        }
        content.push(data);
    }
    message.text = texts.join("\n");
    message.raw = content.iter().any(|part| part["type"] != "text").then(|| Value::from(content).to_string());
    if message.text.is_empty() && message.raw.is_none() && !notes.is_empty() {
        // The program itself wrote the message.
        message.role = SourceRole::Note;
        message.text = notes.drain(..).map(|note| note.text).collect::<Vec<_>>().join("\n");
    }
    importer.message(place, message)?;
    notes.into_iter().chain(results).try_for_each(|side| importer.message(place, side))
}

/// Returns a call, and its result. Attachments, times and other fields of the result are its metadata.
fn read_result(mut part: Value, id: String, caller: &SourceMessage) -> (Value, SourceMessage) {
    let (call_id, tool_name) = (text_of(&part["callID"]), text_of(&part["tool"]));
    let mut state = part.take_field("state");
    let call = json!({ "id": call_id, "name": tool_name, "arguments": state.take_field("input") });
    let has_failed = state["status"] == "error";
    let output = ["output", "error"].into_iter().find(|name| text_of(&state[*name]).is_some());
    let text = output.and_then(|name| text_of(&state.take_field(name))).unwrap_or_default();
    let mut rest = fields_of(state);
    rest.retain(|_, value| !value.is_null());
    let result = SourceMessage {
        id,
        parent: SourceParent::Message(caller.id.clone()),
        role: SourceRole::Tool,
        call_id,
        tool_name,
        has_failed,
        text,
        at: caller.at,
        rest: rest.into(),
        ..SourceMessage::default()
    };
    (call, result)
}
