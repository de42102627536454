//! Reader of the database of `llm`: the table of responses of older versions, and the graph of messages of newer ones. A
//! database that was upgraded has both.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::{
    Importer, InterchangeError,
    content::{id_of, model_of, text_of, time_of, tokens_of},
    database_rows::{collect, parsed},
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
};
use crate::{
    store::{ForeignDatabase, ForeignQuery, RowFilter},
    types::Timestamp,
};

/// Reads both kinds of history, the older one first.
pub(super) fn read(
    database: &ForeignDatabase,
    tables: &[String],
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let has = |name: &str| tables.iter().any(|table| table == name);
    let has_graph = has("threads");
    if has("responses") && has("conversations") {
        let reader = ResponseReader {
            database,
            has_graph,
            has_fragments: has("prompt_fragments") && has("fragments"),
            has_calls: has("tool_calls") && has("tool_results"),
            systems: HashMap::new(),
        };
        reader.read(importer)?;
    }
    if has_graph { read_threads(database, importer) } else { Ok(()) }
}

/// Reader of the table of responses.
struct ResponseReader<'a> {
    database: &'a ForeignDatabase,
    /// True if newer versions wrote into the file: a response that is also a turn is read there.
    has_graph: bool,
    has_fragments: bool,
    has_calls: bool,
    /// Last system prompt of each conversation.
    systems: HashMap<String, String>,
}

const RESPONSE_COLUMNS: &[&str] = &[
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
    "resolved_model",
    "reasoning",
];

impl ResponseReader<'_> {
    fn read(mut self, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
        let names = collect(self.database, "conversations", &["id", "name"], RowFilter::All, &["id"])?;
        let names: HashMap<String, String> =
            names.iter().filter_map(|row| Some((id_of(&row[0])?, text_of(&row[1])?))).collect();
        let query =
            ForeignQuery { table: "responses", columns: RESPONSE_COLUMNS, filter: RowFilter::All, order: &["id"] };
        let mut number = 0;
        let database = self.database;
        database.rows(&query, &mut |row| {
            number += 1;
            self.response(SourcePlace::Row(number), &row, &names, importer)
        })
    }

    fn response(
        &mut self,
        place: SourcePlace,
        row: &[Value],
        names: &HashMap<String, String>,
        importer: &mut Importer<'_>,
    ) -> Result<(), InterchangeError> {
        let column =
            |name: &str| RESPONSE_COLUMNS.iter().position(|own| *own == name).map_or(&Value::Null, |at| &row[at]);
        let Some(id) = id_of(column("id")) else {
            importer.problem(place, "it has no id");
            return Ok(());
        };
        if self.has_graph && !self.rows("turns", &["id"], "id", &id, &[])?.is_empty() {
            return Ok(());
        }
        let conversation = id_of(column("conversation_id")).unwrap_or_else(|| id.clone());
        let at = time_of(column("datetime_utc"));
        importer.conversation(SourceConversation {
            id: conversation.clone(),
            title: names.get(&conversation).cloned(),
            started_at: at,
            ..SourceConversation::default()
        })?;
        let system = self.with_fragments("system_fragments", &id, text_of(column("system")))?;
        if let Some(text) = system.filter(|text| self.systems.get(&conversation) != Some(text)) {
            self.systems.insert(conversation, text.clone());
            let id = format!("{id} system");
            importer
                .message(place, SourceMessage { id, role: SourceRole::System, text, at, ..SourceMessage::default() })?;
        }
        let results = self.results(&id, at)?;
        let prompt = self.with_fragments("prompt_fragments", &id, text_of(column("prompt")))?;
        let has_prompt = prompt.is_some() || results.is_empty();
        for result in results {
            importer.message(place, result)?;
        }
        if has_prompt {
            let message = SourceMessage {
                id: format!("{id} prompt"),
                role: SourceRole::User,
                text: prompt.unwrap_or_default(),
                at,
                ..SourceMessage::default()
            };
            importer.message(place, message)?;
        }
        let model = text_of(column("resolved_model")).or_else(|| text_of(column("model")));
        let [input, options, envelope] = ["input_tokens", "options_json", "response_json"].map(column);
        let message = SourceMessage {
            role: SourceRole::Model,
            model: model.map(|model| model_of(None, &model)),
            text: text_of(column("response")).unwrap_or_default(),
            thoughts: text_of(column("reasoning")).into_iter().collect(),
            calls: self.calls(&id)?,
            tokens: tokens_of(column("output_tokens")),
            at,
            rest: json!({ "input_tokens": input, "options": parsed(options), "response": parsed(envelope) }),
            id,
            ..SourceMessage::default()
        };
        importer.message(place, message)
    }

    /// Rows of a table in which a column has a value.
    fn rows(
        &self,
        table: &str,
        columns: &[&str],
        key: &str,
        value: &str,
        order: &[&str],
    ) -> Result<Vec<Vec<Value>>, InterchangeError> {
        collect(self.database, table, columns, RowFilter::Equal(key, value), order)
    }

    /// Puts the fragments of a response before a text.
    fn with_fragments(&self, table: &str, id: &str, text: Option<String>) -> Result<Option<String>, InterchangeError> {
        if !self.has_fragments {
            return Ok(text);
        }
        let mut parts = Vec::new();
        for row in self.rows(table, &["fragment_id"], "response_id", id, &["order"])? {
            parts.extend(fragment(self.database, &row[0])?);
        }
        parts.extend(text);
        Ok((!parts.is_empty()).then(|| parts.join("\n")))
    }

    fn calls(&self, id: &str) -> Result<Vec<Value>, InterchangeError> {
        if !self.has_calls {
            return Ok(Vec::new());
        }
        let rows = self.rows("tool_calls", &["tool_call_id", "name", "arguments"], "response_id", id, &["id"])?;
        Ok(rows.iter().map(|row| json!({ "id": row[0], "name": row[1], "arguments": parsed(&row[2]) })).collect())
    }

    /// Results of tools that a response continues from.
    fn results(&self, id: &str, at: Option<Timestamp>) -> Result<Vec<SourceMessage>, InterchangeError> {
        if !self.has_calls {
            return Ok(Vec::new());
        }
        let columns = ["id", "tool_call_id", "name", "output", "exception"];
        let rows = self.rows("tool_results", &columns, "response_id", id, &["id"])?;
        let result = |row: &Vec<Value>| SourceMessage {
            id: format!("{id} result {}", row[0]),
            role: SourceRole::Tool,
            call_id: text_of(&row[1]),
            tool_name: text_of(&row[2]),
            text: text_of(&row[3]).unwrap_or_default(),
            has_failed: text_of(&row[4]).is_some(),
            at,
            ..SourceMessage::default()
        };
        Ok(rows.iter().map(result).collect())
    }
}

/// Returns the content of a fragment, a text that several messages share.
fn fragment(database: &ForeignDatabase, id: &Value) -> Result<Option<String>, InterchangeError> {
    let Some(id) = id_of(id) else { return Ok(None) };
    let rows = collect(database, "fragments", &["content"], RowFilter::Equal("id", &id), &[])?;
    Ok(rows.first().and_then(|row| text_of(&row[0])))
}

/// A turn of a thread: the messages up to one reply.
struct LoggedTurn {
    tip: String,
    model: Option<String>,
    tokens: Option<u32>,
    at: Option<Timestamp>,
    rest: Value,
}

/// Turns of all threads, by the hash of their last message.
struct LoggedTurns {
    turns: Vec<LoggedTurn>,
    by_tip: HashMap<String, usize>,
    by_thread: HashMap<String, Vec<usize>>,
}

impl LoggedTurns {
    fn read(database: &ForeignDatabase) -> Result<Self, InterchangeError> {
        let columns = [
            "thread_id",
            "tip_message_hash",
            "resolved_model",
            "model",
            "output_tokens",
            "input_tokens",
            "options_json",
            "datetime_utc",
        ];
        let mut all = Self { turns: Vec::new(), by_tip: HashMap::new(), by_thread: HashMap::new() };
        for row in collect(database, "turns", &columns, RowFilter::All, &["datetime_utc", "id"])? {
            let Some(tip) = id_of(&row[1]) else { continue };
            let index = all.turns.len();
            all.by_tip.entry(tip.clone()).or_insert(index);
            all.by_thread.entry(id_of(&row[0]).unwrap_or_default()).or_default().push(index);
            all.turns.push(LoggedTurn {
                tip,
                model: text_of(&row[2]).or_else(|| text_of(&row[3])).map(|model| model_of(None, &model)),
                tokens: tokens_of(&row[4]),
                at: time_of(&row[7]),
                rest: json!({ "input_tokens": row[5], "options": parsed(&row[6]) }),
            });
        }
        Ok(all)
    }
}

/// Reads the graph of messages that newer versions of `llm` write. A message is identified by its hash, so a thread that
/// was forked from another one continues in that one's tree. Each turn of a thread is followed, not only its last one:
/// replies that the thread's user left are branches.
fn read_threads(database: &ForeignDatabase, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let turns = LoggedTurns::read(database)?;
    let columns = ["id", "name", "tip_message_hash", "datetime_utc"];
    let threads = collect(database, "threads", &columns, RowFilter::All, &["datetime_utc", "id"])?;
    for (number, thread) in (1..).zip(threads) {
        let place = SourcePlace::Row(number);
        let at = time_of(&thread[3]);
        let (Some(id), Some(tip)) = (id_of(&thread[0]), id_of(&thread[2])) else {
            importer.left_out("thread without messages");
            continue;
        };
        let own = turns.by_thread.get(&id).into_iter().flatten().map(|index| &turns.turns[*index]);
        let tips: Vec<(&str, Option<Timestamp>)> =
            own.map(|turn| (turn.tip.as_str(), turn.at)).chain([(tip.as_str(), at)]).collect();
        importer.conversation(SourceConversation {
            id,
            title: text_of(&thread[1]),
            started_at: at,
            has_global_ids: true,
            ..SourceConversation::default()
        })?;
        let mut seen = HashSet::new();
        for (tip, turn_at) in tips {
            let mut path = Vec::new();
            let mut next = Some(tip.to_owned());
            while let Some(hash) = next.filter(|hash| seen.insert(hash.clone())) {
                let rows =
                    collect(database, "messages", &["parent_hash", "role"], RowFilter::Equal("hash", &hash), &[])?;
                let Some(row) = rows.into_iter().next() else {
                    importer.problem(place, format!("message {hash:?} is missing"));
                    break;
                };
                next = id_of(&row[0]);
                path.push((hash, row));
            }
            for (hash, row) in path.into_iter().rev() {
                read_message(database, place, (hash, &row), turn_at.or(at), &turns, importer)?;
            }
        }
        importer.position(tip);
    }
    Ok(())
}

fn read_message(
    database: &ForeignDatabase,
    place: SourcePlace,
    (hash, row): (String, &[Value]),
    at: Option<Timestamp>,
    turns: &LoggedTurns,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let parent: SourceParent = id_of(&row[0]).into();
    let role = match row[1].as_str() {
        Some("user") => SourceRole::User,
        Some("assistant") => SourceRole::Model,
        Some("system") => SourceRole::System,
        Some("tool") => SourceRole::Tool,
        _ => SourceRole::Note,
    };
    let mut message = SourceMessage { id: hash.clone(), parent, role, at, ..SourceMessage::default() };
    if let Some(turn) = turns.by_tip.get(&hash).map(|index| &turns.turns[*index]) {
        (message.model, message.tokens) = (turn.model.clone(), turn.tokens);
        (message.at, message.rest) = (turn.at.or(at), turn.rest.clone());
    }
    let columns = ["type", "text", "tool_name", "payload"];
    let mut texts: Vec<String> = Vec::new();
    for part in collect(database, "parts", &columns, RowFilter::Equal("message_hash", &hash), &["position"])? {
        let payload = parsed(&part[3]);
        let text = match text_of(&part[1]) {
            Some(text) => Some(text),
            None => text_with_fragments(database, &payload["text_ref"])?,
        };
        let call = ["tool_call_id", "id"].iter().find_map(|name| text_of(&payload[*name]));
        match part[0].as_str().unwrap_or("") {
            "text" => texts.extend(text),
            "reasoning" => message.thoughts.extend(text),
            "tool_call" => {
                let arguments = &payload["arguments"];
                message.calls.push(json!({ "id": call, "name": part[2], "arguments": arguments }));
            }
            "tool_result" => {
                texts.extend(text.or_else(|| text_of(&payload["output"])));
                message.call_id = call;
                message.tool_name = text_of(&part[2]);
            }
            other => texts.push(format!("[{other}]")),
        }
    }
    message.text = texts.join("\n");
    importer.message(place, message)
}

/// Joins a text that is stored as literals and fragments. `None` if it is not.
fn text_with_fragments(database: &ForeignDatabase, pieces: &Value) -> Result<Option<String>, InterchangeError> {
    let Some(pieces) = pieces.as_array() else { return Ok(None) };
    let mut text = String::new();
    for piece in pieces {
        match piece["literal"].as_str() {
            Some(literal) => text.push_str(literal),
            None => text.push_str(&fragment(database, &piece["fragment"])?.unwrap_or_default()),
        }
    }
    Ok(Some(text))
}
