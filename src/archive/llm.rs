//! Reader of the database of `llm`: the table of responses of older versions, or the graph of messages of newer ones.

use serde_json::{Value, json};

use super::{
    ArchiveError, Importer,
    content::{id_of, model_of, text_of, time_of, tokens_of},
    record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
    rows::{collect, parsed},
};
use crate::store::{ForeignDatabase, ForeignQuery, RowFilter};

/// Reads the table of responses, which older versions of `llm` write.
pub(super) fn read_responses(database: &ForeignDatabase, importer: &mut Importer<'_>) -> Result<(), ArchiveError> {
    let names = collect(database, "conversations", &["id", "name"], RowFilter::All, &["id"])?;
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
    let query = ForeignQuery { table: "responses", columns: &columns, filter: RowFilter::All, order: &["id"] };
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
pub(super) fn read_threads(database: &ForeignDatabase, importer: &mut Importer<'_>) -> Result<(), ArchiveError> {
    let columns = ["id", "name", "tip_message_hash", "datetime_utc"];
    let threads = collect(database, "threads", &columns, RowFilter::All, &["datetime_utc", "id"])?;
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
            let rows = collect(database, "messages", &["parent_hash", "role"], RowFilter::Equal("hash", &hash), &[])?;
            let Some(row) = rows.into_iter().next() else {
                importer.problem(place, format!("message {hash:?} is missing"));
                break;
            };
            next = id_of(&row[0]);
            path.push((hash, row));
        }
        for (hash, row) in path.into_iter().rev() {
            read_message(database, place, hash, &row, time_of(&thread[3]), importer)?;
        }
    }
    Ok(())
}

fn read_message(
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
        let turns = collect(database, "turns", &columns, RowFilter::Equal("tip_message_hash", &hash), &[])?;
        let turn = turns.into_iter().next().unwrap_or_else(|| vec![Value::Null; columns.len()]);
        message.model = text_of(&turn[0]).or_else(|| text_of(&turn[1])).map(|model| model_of(None, &model));
        message.tokens = tokens_of(&turn[2]);
    }
    let columns = ["type", "text", "tool_name", "payload"];
    let mut texts: Vec<String> = Vec::new();
    for part in collect(database, "parts", &columns, RowFilter::Equal("message_hash", &hash), &["position"])? {
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
