//! Readers of the SQLite databases of `llm`, opencode and Open WebUI.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    ArchiveError, Format, Importer,
    content::{fields_of, id_of, model_of, text_of, time_of, tokens_of},
    open_webui,
    record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
};
use crate::store::{ForeignDatabase, ForeignQuery};

/// Detects the format of a database by its tables.
///
/// # Errors
/// If the file is no database.
pub fn detect_database(path: &Path) -> Result<Option<Format>, ArchiveError> {
    Ok(format_of(&ForeignDatabase::open(path)?.tables()?))
}

fn format_of(tables: &[String]) -> Option<Format> {
    let has = |names: &[&str]| names.iter().all(|name| tables.iter().any(|table| table == name));
    if has(&["responses", "conversations"]) || has(&["messages", "parts", "threads"]) {
        Some(Format::Llm)
    } else if has(&["session", "message", "part"]) {
        Some(Format::OpenCode)
    } else if has(&["chat", "user"]) {
        Some(Format::OpenWebUi)
    } else {
        None
    }
}

/// Reads a database in the format of its tables.
pub(super) fn read(path: &Path, importer: &mut Importer<'_>) -> Result<(), ArchiveError> {
    let database = ForeignDatabase::open(path)?;
    let tables = database.tables()?;
    match format_of(&tables) {
        Some(Format::OpenCode) => opencode(&database, importer),
        Some(Format::OpenWebUi) => open_webui_chats(&database, importer),
        _ if tables.iter().any(|table| table == "threads") => llm_threads(&database, importer),
        _ => llm_responses(&database, importer),
    }
}

/// Collects the rows of a small query.
fn collect(
    database: &ForeignDatabase,
    table: &str,
    columns: &[&str],
    equal: Option<(&str, &str)>,
    order: &[&str],
) -> Result<Vec<Vec<Value>>, ArchiveError> {
    let mut rows = Vec::new();
    database.rows(&ForeignQuery { table, columns, equal, order }, &mut |row| {
        rows.push(row);
        Ok::<(), ArchiveError>(())
    })?;
    Ok(rows)
}

/// Parses a column that holds JSON.
fn parsed(value: &Value) -> Value {
    value.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// Reads the table of responses, which older versions of `llm` write.
fn llm_responses(database: &ForeignDatabase, importer: &mut Importer<'_>) -> Result<(), ArchiveError> {
    let names = collect(database, "conversations", &["id", "name"], None, &["id"])?;
    let columns = [
        "id",
        "conversation_id",
        "model",
        "prompt",
        "system",
        "response",
        "datetime_utc",
        "output_tokens",
        "input_tokens",
        "options_json",
        "response_json",
    ];
    let mut number = 0;
    let mut systems = std::collections::HashMap::new();
    let query = ForeignQuery { table: "responses", columns: &columns, equal: None, order: &["id"] };
    database.rows(&query, &mut |row| {
        number += 1;
        let place = SourcePlace::Row(number);
        let [id, conversation, model, prompt, system, response, at, output, input, options, envelope] = row.as_slice()
        else {
            return Ok(());
        };
        let Some(id) = id_of(id) else {
            importer.problem(place, "it has no id");
            return Ok(());
        };
        let conversation = id_of(conversation).unwrap_or_else(|| id.clone());
        let name = names.iter().find(|name| name[0] == conversation.as_str()).and_then(|name| text_of(&name[1]));
        let at = time_of(at);
        importer.conversation(SourceConversation {
            id: conversation.clone(),
            title: name,
            started_at: at,
            ..SourceConversation::default()
        })?;
        let before: Option<String> = systems.get(&conversation).cloned();
        if let Some(text) = text_of(system).filter(|text| before.as_ref() != Some(text)) {
            systems.insert(conversation, text.clone());
            let id = format!("{id} system");
            importer
                .message(place, SourceMessage { id, role: SourceRole::System, text, at, ..SourceMessage::default() })?;
        }
        let model = text_of(model).map(|model| model_of(None, &model));
        importer.message(
            place,
            SourceMessage {
                id: format!("{id} prompt"),
                role: SourceRole::User,
                text: text_of(prompt).unwrap_or_default(),
                at,
                ..SourceMessage::default()
            },
        )?;
        importer.message(
            place,
            SourceMessage {
                id,
                role: SourceRole::Model,
                model,
                text: text_of(response).unwrap_or_default(),
                tokens: tokens_of(output),
                at,
                rest: json!({ "input_tokens": input, "options": parsed(options), "response": parsed(envelope) }),
                ..SourceMessage::default()
            },
        )
    })
}

/// Reads the graph of messages that newer versions of `llm` write. A message is identified by its hash, so a thread that
/// was forked from another one continues in that one's tree.
fn llm_threads(database: &ForeignDatabase, importer: &mut Importer<'_>) -> Result<(), ArchiveError> {
    let columns = ["id", "name", "tip_message_hash", "datetime_utc"];
    let threads = collect(database, "threads", &columns, None, &["datetime_utc", "id"])?;
    for (number, thread) in (1..).zip(threads) {
        let place = SourcePlace::Row(number);
        let (Some(id), Some(tip)) = (id_of(&thread[0]), id_of(&thread[2])) else {
            importer.left_out("thread without messages");
            continue;
        };
        importer.conversation(SourceConversation {
            id,
            title: text_of(&thread[1]),
            started_at: time_of(&thread[3]),
            has_global_ids: true,
            ..SourceConversation::default()
        })?;
        let mut path = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let mut next = Some(tip);
        while let Some(hash) = next.filter(|hash| seen.insert(hash.clone())) {
            let rows = collect(database, "messages", &["parent_hash", "role"], Some(("hash", &hash)), &[])?;
            let Some(row) = rows.into_iter().next() else {
                importer.problem(place, format!("message {hash:?} is missing"));
                break;
            };
            next = id_of(&row[0]);
            path.push((hash, row));
        }
        for (hash, row) in path.into_iter().rev() {
            llm_message(database, place, hash, &row, time_of(&thread[3]), importer)?;
        }
    }
    Ok(())
}

fn llm_message(
    database: &ForeignDatabase,
    place: SourcePlace,
    hash: String,
    row: &[Value],
    at: Option<crate::types::Timestamp>,
    importer: &mut Importer<'_>,
) -> Result<(), ArchiveError> {
    let parent: SourceParent = id_of(&row[0]).into();
    let role = match row[1].as_str() {
        Some("user") => SourceRole::User,
        Some("assistant") => SourceRole::Model,
        Some("system") => SourceRole::System,
        Some("tool") => SourceRole::Tool,
        _ => SourceRole::Note,
    };
    let mut message = SourceMessage { id: hash.clone(), parent, role, at, ..SourceMessage::default() };
    if role == SourceRole::Model {
        let columns = ["resolved_model", "model", "output_tokens"];
        let turns = collect(database, "turns", &columns, Some(("tip_message_hash", &hash)), &[])?;
        let turn = turns.into_iter().next().unwrap_or_else(|| vec![Value::Null; columns.len()]);
        message.model = text_of(&turn[0]).or_else(|| text_of(&turn[1])).map(|model| model_of(None, &model));
        message.tokens = tokens_of(&turn[2]);
    }
    let columns = ["type", "text", "tool_name", "payload"];
    let mut texts: Vec<String> = Vec::new();
    for part in collect(database, "parts", &columns, Some(("message_hash", &hash)), &["position"])? {
        let payload = parsed(&part[3]);
        let call = ["tool_call_id", "id"].iter().find_map(|name| text_of(&payload[*name]));
        match part[0].as_str().unwrap_or("") {
            "text" => texts.extend(text_of(&part[1])),
            "reasoning" => message.thoughts.extend(text_of(&part[1])),
            "tool_call" => {
                let arguments = &payload["arguments"];
                message.calls.push(json!({ "id": call, "name": part[2], "arguments": arguments }));
            }
            "tool_result" => {
                texts.extend(text_of(&part[1]).or_else(|| text_of(&payload["output"])));
                message.call_id = call;
                message.tool_name = text_of(&part[2]);
            }
            other => texts.push(format!("[{other}]")),
        }
    }
    message.text = texts.join("\n");
    importer.message(place, message)
}

fn opencode(database: &ForeignDatabase, importer: &mut Importer<'_>) -> Result<(), ArchiveError> {
    let columns = ["id", "directory", "title", "parent_id", "time_created"];
    let sessions = collect(database, "session", &columns, None, &["time_created", "id"])?;
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
            equal: Some(("session_id", &id)),
            order: &["time_created", "id"],
        };
        database.rows(&query, &mut |row| opencode_message(database, place, &row, importer))?;
    }
    Ok(())
}

fn opencode_message(
    database: &ForeignDatabase,
    place: SourcePlace,
    row: &[Value],
    importer: &mut Importer<'_>,
) -> Result<(), ArchiveError> {
    let (Some(id), data) = (id_of(&row[0]), parsed(&row[2])) else {
        importer.problem(place, "a message has no id");
        return Ok(());
    };
    let mut message = SourceMessage {
        role: if data["role"] == "user" { SourceRole::User } else { SourceRole::Model },
        at: time_of(&row[1]),
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
    let mut texts = Vec::new();
    let mut results = Vec::new();
    for part in collect(database, "part", &["id", "data"], Some(("message_id", &id)), &["id"])? {
        let data = parsed(&part[1]);
        match data["type"].as_str().unwrap_or("") {
            "text" => texts.extend(text_of(&data["text"])),
            "reasoning" => message.thoughts.extend(text_of(&data["text"])),
            "tool" => {
                let state = &data["state"];
                message.calls.push(json!({ "id": data["callID"], "name": data["tool"], "arguments": state["input"] }));
                results.push(SourceMessage {
                    id: id_of(&part[0]).unwrap_or_else(|| format!("{id}#{}", results.len())),
                    parent: SourceParent::Message(id.clone()),
                    role: SourceRole::Tool,
                    call_id: text_of(&data["callID"]),
                    tool_name: text_of(&data["tool"]),
                    has_failed: state["status"] == "error",
                    text: text_of(&state["output"]).or_else(|| text_of(&state["error"])).unwrap_or_default(),
                    at: message.at,
                    ..SourceMessage::default()
                });
            }
            "file" => texts.push(format!("[{}]", data["filename"].as_str().unwrap_or("file"))),
            other => importer.left_out(other),
        }
    }
    message.text = texts.join("\n");
    importer.message(place, message)?;
    results.into_iter().try_for_each(|result| importer.message(place, result))
}

fn open_webui_chats(database: &ForeignDatabase, importer: &mut Importer<'_>) -> Result<(), ArchiveError> {
    let columns = ["id", "title", "chat", "created_at", "updated_at", "archived", "pinned", "meta"];
    let query = ForeignQuery { table: "chat", columns: &columns, equal: None, order: &["created_at", "id"] };
    let mut number = 0;
    database.rows(&query, &mut |row| {
        number += 1;
        let entry: serde_json::Map<String, Value> =
            columns.iter().map(|column| (*column).to_owned()).zip(row).collect();
        let mut entry = fields_of(entry.into());
        for name in ["chat", "meta"] {
            let value = entry.get(name).map(parsed).unwrap_or_default();
            entry.insert(name.to_owned(), value);
        }
        open_webui::read_conversation(SourcePlace::Row(number), entry.into(), importer)
    })
}
