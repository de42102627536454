//! Reader of Open WebUI's chat export and of its database.
//!
//! Reasoning and calls stand as `<details>` in the text of a message, and in newer versions also in its list `output`. They
//! become thoughts, calls and results. The list of messages beside the tree repeats the active path and is left out. Newer
//! databases have a row for each message; older chats are in one value.

use serde_json::{Map, Value, json};

use super::{
    Importer, InterchangeError, SourceLines,
    content::{ParsedContent, TakeField as _, fields_of, id_of, model_of, text_of, time_of, tokens_of},
    database_rows::{collect, parsed},
    json_entries,
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
    topological_order,
};
use crate::{
    store::{ForeignDatabase, ForeignQuery, RowFilter},
    types::Timestamp,
};

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    json_entries::read_entries(lines, importer, &mut read_conversation)
}

/// Columns of a message's row that are not its id.
const MESSAGE_COLUMNS: &[&str] = &[
    "role",
    "parent_id",
    "content",
    "output",
    "model_id",
    "files",
    "sources",
    "meta",
    "done",
    "error",
    "usage",
    "context_summary",
    "created_at",
];

/// Reads the chats of `webui.db`.
pub(super) fn read_database(
    database: &ForeignDatabase,
    tables: &[String],
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let columns = ["id", "title", "chat", "created_at", "updated_at", "archived", "pinned", "meta"];
    let query = ForeignQuery { table: "chat", columns: &columns, filter: RowFilter::All, order: &["created_at", "id"] };
    let has_rows = tables.iter().any(|table| table == "chat_message");
    let mut number = 0;
    database.rows(&query, &mut |row| {
        number += 1;
        let entry: Map<String, Value> = columns.iter().map(|column| (*column).to_owned()).zip(row).collect();
        let mut entry = Value::from(entry);
        for name in ["chat", "meta"] {
            entry[name] = parsed(&entry[name]);
        }
        let messages = match id_of(&entry["id"]).filter(|_| has_rows) {
            Some(chat) => message_rows(database, &chat)?,
            None => Map::new(),
        };
        if !messages.is_empty() && (entry["chat"].is_null() || entry["chat"].is_object()) {
            if !entry["chat"]["history"].is_object() {
                entry["chat"]["history"] = json!({});
            }
            entry["chat"]["history"]["messages"] = messages.into();
        }
        read_conversation(SourcePlace::Row(number), entry, importer)
    })
}

/// Returns the messages of a chat as an export has them.
fn message_rows(database: &ForeignDatabase, chat: &str) -> Result<Map<String, Value>, InterchangeError> {
    let columns = [&["id"], MESSAGE_COLUMNS].concat();
    let rows = collect(database, "chat_message", &columns, RowFilter::Equal("chat_id", chat), &["created_at", "id"])?;
    let mut messages = Map::new();
    for mut row in rows {
        let Some(id) = row.first().and_then(id_of) else { continue };
        // The key of a row is that of its chat and its own.
        let id = id.strip_prefix(chat).and_then(|rest| rest.strip_prefix('-')).unwrap_or(&id).to_owned();
        let mut message = Map::new();
        for (name, value) in MESSAGE_COLUMNS.iter().zip(row.drain(1..)) {
            // JSON columns hold JSON texts, a plain content too.
            let value = match (*name, parsed(&value)) {
                ("done", _) if value.is_number() => (value != 0).into(),
                ("role" | "parent_id" | "model_id" | "context_summary", _) | (_, Value::Null) => value,
                (_, parsed) => parsed,
            };
            let name = match *name {
                "parent_id" => "parentId",
                "model_id" => "model",
                "created_at" => "timestamp",
                name => name,
            };
            if !value.is_null() {
                message.insert(name.to_owned(), value);
            }
        }
        messages.insert(id, message.into());
    }
    Ok(messages)
}

fn read_conversation(
    place: SourcePlace,
    mut entry: Value,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let mut chat = if entry["chat"].is_object() { entry.take_field("chat") } else { std::mem::take(&mut entry) };
    let (Value::Object(sources), Some(id)) = (
        chat.get_mut("history").map(|history| history.take_field("messages")).unwrap_or_default(),
        id_of(&entry["id"]).or_else(|| id_of(&chat["id"])),
    ) else {
        importer.problem(place, "it has no id or no history");
        return Ok(());
    };
    let position = id_of(&chat["history"]["currentId"]);
    let title = text_of(&entry["title"]).or_else(|| text_of(&chat["title"]));
    let started_at = [&entry["created_at"], &chat["timestamp"]].into_iter().find_map(time_of);
    let mut chat = fields_of(chat);
    chat.retain(|name, _| name != "messages" && name != "history");
    let mut rest = fields_of(entry);
    rest.insert("chat".to_owned(), chat.into());
    importer.conversation(SourceConversation {
        id,
        title,
        started_at,
        rest: rest.into(),
        ..SourceConversation::default()
    })?;
    if let Some(position) = position {
        importer.position(position);
    }
    let is_tree = sources.values().any(|source| source["parentId"].is_string());
    let mut previous = SourceParent::Root;
    let mut messages = Vec::new();
    for (id, source) in sources {
        let parent = match id_of(&source["parentId"]) {
            None if !is_tree => std::mem::replace(&mut previous, SourceParent::Message(id.clone())),
            parent => parent.into(),
        };
        read_message(source, id, parent, &mut messages);
    }
    topological_order::write(importer, place, messages)
}

fn read_message(mut source: Value, id: String, parent: SourceParent, messages: &mut Vec<SourceMessage>) {
    let content = source.take_field("content");
    let mut parsed = ParsedContent::of(&content);
    let mut details = MessageDetails::split(&parsed.text);
    if let Some(details) = &mut details {
        parsed.raw = Some(content.to_string());
        parsed.text = std::mem::take(&mut details.text);
    }
    // The list of newer versions is exact; the text repeats it.
    let mut details = details.unwrap_or_default();
    if let Some(items) = source["output"].as_array().filter(|items| !items.is_empty()) {
        details = MessageDetails::of_items(items);
        if parsed.text.is_empty() {
            parsed.text = std::mem::take(&mut details.text);
        }
    }
    let role = match source["role"].as_str() {
        Some("user") => SourceRole::User,
        Some("assistant") => SourceRole::Model,
        Some("system") => SourceRole::System,
        Some("tool") => SourceRole::Tool,
        _ => SourceRole::Note,
    };
    let at = time_of(&source["timestamp"]);
    let results = details.results(&id, at);
    let mut message = SourceMessage { id, parent, role, at, ..SourceMessage::default() };
    if role == SourceRole::Model {
        message.model = text_of(&source["model"]).map(|model| model_of(None, &model));
        message.is_interrupted = source["done"] == false || !source["error"].is_null();
        let usage = &source["usage"];
        message.tokens =
            ["output_tokens", "completion_tokens", "eval_count"].iter().find_map(|name| tokens_of(&usage[*name]));
    }
    parsed.into_message(&mut message);
    message.thoughts.extend(details.thoughts);
    message.calls.extend(details.calls.into_iter().map(|(call, _)| call));
    if let Some(fields) = source.as_object_mut() {
        fields.retain(|name, _| !matches!(name.as_str(), "content" | "childrenIds"));
    }
    message.rest = source;
    messages.push(message);
    messages.extend(results);
}

/// Thoughts and calls of a reply.
#[derive(Default)]
struct MessageDetails {
    text: String,
    thoughts: Vec<String>,
    /// Calls of tools with their results, if they ended.
    calls: Vec<(Value, Option<String>)>,
}

impl MessageDetails {
    /// Splits `<details>` of reasoning, calls and code off a text. `None` if there are none.
    fn split(text: &str) -> Option<Self> {
        const START: &str = "<details type=\"";
        const END: &str = "</details>";
        let mut details = Self::default();
        let (mut rest, mut is_split) = (text, false);
        while let Some(at) = rest.find(START) {
            let Some(end) = rest[at..].find(END) else { break };
            let block = &rest[at..at + end];
            let (tag, inside) = block.split_once('>').unwrap_or((block, ""));
            let inside = inside.rsplit_once("</summary>").map_or(inside, |(_, inside)| inside).trim();
            details.text.push_str(&rest[..at]);
            rest = &rest[at + end + END.len()..];
            match attribute(tag, "type").as_deref() {
                Some("reasoning") => details.thoughts.push(unescaped(inside)),
                Some("tool_calls") => {
                    let arguments = attribute(tag, "arguments").map(|arguments| plain_text(&arguments));
                    let call =
                        json!({ "id": attribute(tag, "id"), "name": attribute(tag, "name"), "arguments": arguments });
                    let inside = Some(unescaped(inside)).filter(|inside| !inside.is_empty());
                    let result = attribute(tag, "result").or(inside).map(|result| plain_text(&result));
                    details.calls.push((call, result));
                }
                Some("code_interpreter") => {
                    let call = json!({ "id": attribute(tag, "id"), "name": "code_interpreter", "arguments": inside });
                    details.calls.push((call, attribute(tag, "output").map(|output| plain_text(&output))));
                }
                _ => {
                    details.text.push_str(block);
                    details.text.push_str(END);
                    continue;
                }
            }
            is_split = true;
            rest = rest.trim_start();
        }
        details.text.push_str(rest);
        is_split.then_some(details)
    }

    /// Reads a list of items in the form of the Responses API.
    fn of_items(items: &[Value]) -> Self {
        let mut details = Self::default();
        for item in items {
            let text = ParsedContent::of(&item["content"]).text;
            match item["type"].as_str().unwrap_or("") {
                "message" if details.text.is_empty() => details.text = text,
                "message" => details.text = format!("{}\n{text}", details.text),
                "reasoning" => {
                    let summary = || ParsedContent::of(&item["summary"]).text;
                    details.thoughts.push(if text.is_empty() { summary() } else { text });
                }
                "function_call" => {
                    let id = [&item["call_id"], &item["id"]].into_iter().find_map(id_of);
                    let call = json!({ "id": id, "name": item["name"], "arguments": item["arguments"] });
                    details.calls.push((call, None));
                }
                "function_call_output" => {
                    let call = details.calls.iter_mut().find(|(call, _)| call["id"] == item["call_id"]);
                    if let Some((_, result)) = call {
                        *result = Some(ParsedContent::of(&item["output"]).text);
                    }
                }
                _ => {}
            }
        }
        details.thoughts.retain(|thought| !thought.is_empty());
        details
    }

    /// Returns the results of the calls as messages.
    fn results(&self, id: &str, at: Option<Timestamp>) -> Vec<SourceMessage> {
        let results = (1..).zip(&self.calls).filter_map(|(number, (call, result))| {
            Some(SourceMessage {
                id: format!("{id}#{number}"),
                parent: SourceParent::Message(id.to_owned()),
                role: SourceRole::Tool,
                call_id: text_of(&call["id"]),
                tool_name: text_of(&call["name"]),
                text: result.clone()?,
                at,
                ..SourceMessage::default()
            })
        });
        results.collect()
    }
}

/// Returns an attribute of a tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let start = format!(" {name}=\"");
    let value = &tag[tag.find(&start)? + start.len()..];
    Some(unescaped(&value[..value.find('"')?])).filter(|value| !value.is_empty())
}

/// Replaces the entities that the program writes.
fn unescaped(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#39;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}

/// Returns the text that a JSON string holds; other text as it is.
fn plain_text(text: &str) -> String {
    serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_owned())
}
