//! Reader of Open WebUI's chat export and of its database.
//!
//! Blocks of reasoning stand as `<details>` in the text of a message and become thoughts. The list of messages beside the
//! tree repeats the active path and is left out.

use serde_json::Value;

use super::{
    ArchiveError, Importer, SourceLines,
    content::{ParsedContent, TakeField as _, fields_of, id_of, model_of, text_of, time_of},
    documents,
    record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
    rows::parsed,
    tree_order,
};
use crate::store::{ForeignDatabase, ForeignQuery, RowFilter};

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), ArchiveError> {
    documents::read_entries(lines, importer, &mut read_conversation)
}

/// Reads the chats of `webui.db`.
pub(super) fn read_database(database: &ForeignDatabase, importer: &mut Importer<'_>) -> Result<(), ArchiveError> {
    let columns = ["id", "title", "chat", "created_at", "updated_at", "archived", "pinned", "meta"];
    let query = ForeignQuery { table: "chat", columns: &columns, filter: RowFilter::All, order: &["created_at", "id"] };
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
        read_conversation(SourcePlace::Row(number), entry.into(), importer)
    })
}

fn read_conversation(place: SourcePlace, mut entry: Value, importer: &mut Importer<'_>) -> Result<(), ArchiveError> {
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
        messages.push(read_message(source, id, parent));
    }
    tree_order::write(importer, place, messages)
}

fn read_message(mut source: Value, id: String, parent: SourceParent) -> SourceMessage {
    let content = source.take_field("content");
    let mut parsed = ParsedContent::of(&content);
    if let Some((text, thoughts)) = split_details(&parsed.text) {
        parsed.raw = Some(content.to_string());
        (parsed.text, parsed.thoughts) = (text, thoughts);
    }
    let role = match source["role"].as_str() {
        Some("user") => SourceRole::User,
        Some("assistant") => SourceRole::Model,
        Some("system") => SourceRole::System,
        Some("tool") => SourceRole::Tool,
        _ => SourceRole::Note,
    };
    let mut message = SourceMessage { id, parent, role, at: time_of(&source["timestamp"]), ..SourceMessage::default() };
    if role == SourceRole::Model {
        message.model = text_of(&source["model"]).map(|model| model_of(None, &model));
        message.is_interrupted = source["done"] == false || !source["error"].is_null();
    }
    parsed.into_message(&mut message);
    if let Some(fields) = source.as_object_mut() {
        fields.retain(|name, _| !matches!(name.as_str(), "content" | "childrenIds"));
    }
    message.rest = source;
    message
}

/// Splits blocks of reasoning off a text. `None` if there are none.
fn split_details(text: &str) -> Option<(String, Vec<String>)> {
    const START: &str = "<details type=\"reasoning\"";
    const END: &str = "</details>";
    let (mut rest, mut out, mut thoughts) = (text, String::new(), Vec::new());
    while let Some(at) = rest.find(START) {
        let Some(end) = rest[at..].find(END) else { break };
        let inside = rest[at..at + end].split_once('>').map_or("", |(_, inside)| inside);
        let inside = inside.rsplit_once("</summary>").map_or(inside, |(_, inside)| inside);
        thoughts.push(inside.trim().to_owned());
        out.push_str(&rest[..at]);
        rest = rest[at + end + END.len()..].trim_start();
    }
    out.push_str(rest);
    (!thoughts.is_empty()).then_some((out, thoughts))
}
