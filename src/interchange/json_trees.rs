//! Readers of JSON trees of other branching tools: loomsidian, exoloom, pyloom, basemode-loom, LibreChat.
//!
//! Trees of text have no roles: words without a known author are the importer's, a model's are its agent's.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    Importer, InterchangeError, SourceLines,
    content::{ParsedContent, TakeField as _, fields_of, id_of, model_of, text_of, time_of},
    database_rows::{collect, parsed},
    json_entries,
    nested_json::{self, NestedDocument},
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
    topological_order,
};
use crate::store::{ForeignDatabase, RowFilter};

/// Parent of the first messages of LibreChat.
const LIBRECHAT_ROOT: &str = "00000000-0000-0000-0000-000000000000";

/// Reads the entries of one document.
type ReadEntry = fn(SourcePlace, Value, &str, &mut Importer<'_>) -> Result<(), InterchangeError>;

pub(super) fn read_loomsidian(
    lines: &mut SourceLines<'_>,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    read(lines, importer, loomsidian)
}

pub(super) fn read_exoloom(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    read(lines, importer, exoloom)
}

pub(super) fn read_pyloom(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    read_nested(lines, importer, &["children"], pyloom)
}

pub(super) fn read_basemode(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    read(lines, importer, basemode)
}

pub(super) fn read_librechat(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    read_nested(lines, importer, &["messagesTree", "messages", "children"], librechat)
}

fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>, entry: ReadEntry) -> Result<(), InterchangeError> {
    let name = lines.name;
    json_entries::read_entries(lines, importer, &mut |place, value, importer| entry(place, value, name, importer))
}

/// Reads documents whose nodes contain their children in one of `lists`.
fn read_nested(
    lines: &mut SourceLines<'_>,
    importer: &mut Importer<'_>,
    lists: &[&str],
    entry: fn(SourcePlace, NestedDocument, &str, &mut Importer<'_>) -> Result<(), InterchangeError>,
) -> Result<(), InterchangeError> {
    let text = json_entries::read_text(lines)?;
    let (documents, error) = nested_json::split(&text, lists);
    let end = documents.len() as u64 + 1;
    for (number, document) in (1..).zip(documents) {
        entry(SourcePlace::Entry(number), document, lines.name, importer)?;
    }
    if let Some(error) = error {
        importer.problem(SourcePlace::Entry(end), format!("the rest of the file cannot be read: {error}"));
    }
    Ok(())
}

/// Reads one note, or a vault's `data.json`, whose settings hold keys and are not read.
fn loomsidian(
    place: SourcePlace,
    mut value: Value,
    name: &str,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    if !value["settings"].is_null() {
        importer.left_out("settings");
    }
    match value.take_field("state") {
        Value::Object(notes) => {
            notes.into_iter().try_for_each(|(note, state)| loomsidian_note(place, state, note, importer))
        }
        _ => loomsidian_note(place, value, name.to_owned(), importer),
    }
}

fn loomsidian_note(
    place: SourcePlace,
    mut state: Value,
    name: String,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let nodes: Vec<(Option<String>, Value)> = match state.take_field("nodes") {
        Value::Object(nodes) => nodes.into_iter().map(|(id, node)| (Some(id), node)).collect(),
        Value::Array(nodes) => nodes.into_iter().map(|node| (id_of(&node["id"]), node)).collect(),
        _ => {
            importer.problem(place, format!("{name} has no nodes"));
            return Ok(());
        }
    };
    importer.conversation(SourceConversation {
        title: std::path::Path::new(&name).file_stem().map(|stem| stem.to_string_lossy().into_owned()),
        id: name,
        ..SourceConversation::default()
    })?;
    if let Some(current) = id_of(&state["current"]) {
        importer.position(current);
    }
    let mut messages = Vec::new();
    for (id, mut node) in nodes {
        let Some(id) = id else {
            importer.problem(place, "a node has no id");
            continue;
        };
        let text = [node.take_field("text"), node.take_field("value")].iter().find_map(text_of).unwrap_or_default();
        messages.push(SourceMessage {
            parent: id_of(&node["parentId"]).into(),
            role: SourceRole::User,
            text: text.replace("\\<", "<").replace("\\[", "["),
            bookmark: (node["bookmarked"] == true).then(|| "bookmark".to_owned()),
            rest: node,
            id,
            ..SourceMessage::default()
        });
    }
    topological_order::write(importer, place, messages)
}

fn exoloom(
    place: SourcePlace,
    mut value: Value,
    name: &str,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let Value::Object(nodes) = value.get_mut("tree").map(|tree| tree.take_field("nodes")).unwrap_or_default() else {
        importer.problem(place, "it has no nodes");
        return Ok(());
    };
    let tree = &value["tree"];
    importer.conversation(SourceConversation {
        id: id_of(&tree["id"]).or_else(|| id_of(&tree["rootNodeId"])).unwrap_or_else(|| name.to_owned()),
        title: text_of(&tree["title"]),
        started_at: time_of(&tree["createdAt"]),
        rest: tree.clone(),
        ..SourceConversation::default()
    })?;
    let ids = |list: &str| -> Vec<String> {
        value["lens"][list].as_array().into_iter().flatten().filter_map(|mark| id_of(&mark["nodeId"])).collect()
    };
    let (bookmarks, pruned) = (ids("bookmarks"), ids("prunedNodes"));
    let mut messages = Vec::new();
    for (id, mut node) in nodes {
        let content = node.take_field("content");
        let role = if node["authorType"] == "LLM" { SourceRole::Model } else { SourceRole::User };
        let mut message = SourceMessage {
            parent: id_of(&node["parentId"]).into(),
            role,
            model: text_of(&node["authorName"]).filter(|_| role == SourceRole::Model),
            at: time_of(&node["createdAt"]),
            bookmark: bookmarks.contains(&id).then(|| "bookmark".to_owned()),
            is_pruned: pruned.contains(&id),
            rest: node,
            id,
            ..SourceMessage::default()
        };
        ParsedContent::of(&content).into_message(&mut message);
        messages.push(message);
    }
    topological_order::write(importer, place, messages)
}

/// Longest id that is made of child numbers; a longer one is a digest.
const MAX_NUMBER_BYTES: usize = 64;

/// Reads a nested tree. Ids are given, or the path of child numbers.
fn pyloom(
    place: SourcePlace,
    document: NestedDocument,
    name: &str,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let mut value = document.fields;
    let root = if value["root"].is_object() { value.take_field("root") } else { std::mem::take(&mut value) };
    importer.conversation(SourceConversation {
        id: id_of(&root["id"]).unwrap_or_else(|| name.to_owned()),
        rest: if value.is_object() { value.clone() } else { Value::Null },
        ..SourceConversation::default()
    })?;
    if let Some(selected) = id_of(&value["selected_node_id"]) {
        importer.position(selected);
    }
    let responses = &value["model_responses"];
    // Number, id and number of children so far of the root and of each node.
    let mut places = vec![("0".to_owned(), id_of(&root["id"]).unwrap_or_else(|| "0".to_owned()), 0_usize)];
    let mut messages = vec![pyloom_message(root, places[0].1.clone(), SourceParent::Root, responses)];
    for node in document.nodes {
        let parent = &mut places[node.parent.map_or(0, |parent| parent + 1)];
        let mut number = format!("{}.{}", parent.0, parent.2);
        parent.2 += 1;
        if number.len() > MAX_NUMBER_BYTES {
            number = blake3::hash(number.as_bytes()).to_hex()[..24].to_owned();
        }
        let id = id_of(&node.fields["id"]).unwrap_or_else(|| number.clone());
        let above = SourceParent::Message(parent.1.clone());
        messages.push(pyloom_message(node.fields, id.clone(), above, responses));
        places.push((number, id, 0));
    }
    topological_order::write(importer, place, messages)
}

fn pyloom_message(node: Value, id: String, parent: SourceParent, responses: &Value) -> SourceMessage {
    let mut fields = fields_of(node);
    fields.remove("children");
    let text = fields.remove("text").and_then(|text| text_of(&text)).unwrap_or_default();
    let meta = fields.get("meta").cloned().unwrap_or_default();
    let is_model = meta["source"] == "AI" || fields.get("generation").is_some_and(Value::is_object);
    let response = fields.get("generation").and_then(|generation| id_of(&generation["id"]));
    let model = response.and_then(|id| text_of(&responses[id.as_str()]["model"]));
    SourceMessage {
        parent,
        role: if is_model { SourceRole::Model } else { SourceRole::User },
        model: model.map(|model| model_of(None, &model)),
        at: text_of(&meta["creation_timestamp"]).and_then(|text| pyloom_time(&text)),
        bookmark: has_tag(&fields, "bookmark").then(|| "bookmark".to_owned()),
        text,
        rest: fields.into(),
        id,
        ..SourceMessage::default()
    }
}

fn has_tag(fields: &Map<String, Value>, tag: &str) -> bool {
    let tags = fields.get("tags").and_then(Value::as_array);
    tags.is_some_and(|tags| tags.iter().any(|own| own == tag))
}

/// Parses `YYYY-MM-DD-HH.MM.SS`.
fn pyloom_time(text: &str) -> Option<crate::types::Timestamp> {
    let (date, time) = (text.get(..10)?, text.get(11..)?);
    time_of(&format!("{date}T{}", time.replace('.', ":")).into())
}

/// Reads the nodes of an export, which may be of several trees.
fn basemode(
    place: SourcePlace,
    mut value: Value,
    name: &str,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let Value::Array(nodes) = value.take_field("nodes") else {
        importer.problem(place, "it has no list of nodes");
        return Ok(());
    };
    let mut trees: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for node in nodes {
        let tree = ["tree_id", "root_id"].iter().find_map(|key| id_of(&node[*key])).unwrap_or_else(|| name.to_owned());
        trees.entry(tree).or_default().push(node);
    }
    for (id, nodes) in trees {
        let chosen = nodes.iter().rfind(|node| node["checked_out"] == true || node["checked_out"] == 1);
        let position = chosen.and_then(|node| id_of(&node["id"]));
        importer.conversation(SourceConversation { id, ..SourceConversation::default() })?;
        write_basemode_nodes(place, nodes, position, importer)?;
    }
    Ok(())
}

/// Reads the database of basemode-loom, whose ids are those of an export.
pub(super) fn read_basemode_database(
    database: &ForeignDatabase,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    const NODE_COLUMNS: &[&str] =
        &["id", "parent_id", "kind", "text", "context_id", "model", "strategy", "temperature", "created_at"];
    let columns = ["id", "current_node_id", "name", "created_at"];
    let trees = collect(database, "trees", &columns, RowFilter::All, &["created_at", "id"])?;
    for (number, tree) in (1..).zip(trees) {
        let place = SourcePlace::Row(number);
        let Some(id) = id_of(&tree[0]) else {
            importer.problem(place, "it has no id");
            continue;
        };
        let columns = [NODE_COLUMNS, &["metadata_json"]].concat();
        let rows = collect(database, "nodes", &columns, RowFilter::Equal("tree_id", &id), &["created_at", "id"])?;
        let nodes = rows.into_iter().map(|mut row| {
            let metadata = row.pop().map(|metadata| parsed(&metadata)).unwrap_or_default();
            let fields = NODE_COLUMNS.iter().map(|name| (*name).to_owned()).zip(row);
            fields.chain([("metadata".to_owned(), metadata)]).filter(|(_, value)| !value.is_null()).collect()
        });
        let nodes: Vec<Value> = nodes.collect();
        importer.conversation(SourceConversation {
            id,
            title: text_of(&tree[2]),
            started_at: time_of(&tree[3]),
            ..SourceConversation::default()
        })?;
        write_basemode_nodes(place, nodes, id_of(&tree[1]), importer)?;
    }
    Ok(())
}

/// Imports the nodes of a tree of basemode-loom.
fn write_basemode_nodes(
    place: SourcePlace,
    nodes: Vec<Value>,
    position: Option<String>,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let mut messages = Vec::new();
    for mut node in nodes {
        let Some(id) = id_of(&node["id"]) else {
            importer.problem(place, "a node has no id");
            continue;
        };
        let text = text_of(&node.take_field("text")).unwrap_or_default();
        let model = text_of(&node["model"]);
        let metadata = &node["metadata"];
        messages.push(SourceMessage {
            parent: id_of(&node["parent_id"]).into(),
            role: match (node["kind"].as_str(), &model) {
                (Some("context"), _) => SourceRole::Note,
                (_, Some(_)) => SourceRole::Model,
                _ => SourceRole::User,
            },
            model: model.map(|model| model_of(None, &model)),
            at: time_of(&node["created_at"]),
            bookmark: (metadata["bookmarked"] == true).then(|| "bookmark".to_owned()),
            is_hidden: metadata["hidden"] == true,
            text,
            rest: node,
            id,
            ..SourceMessage::default()
        });
    }
    position.into_iter().for_each(|position| importer.position(position));
    topological_order::write(importer, place, messages)
}

fn librechat(
    place: SourcePlace,
    document: NestedDocument,
    name: &str,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    let NestedDocument { fields, nodes } = document;
    if nodes.is_empty() {
        importer.problem(place, "it has no messages");
        return Ok(());
    }
    importer.conversation(SourceConversation {
        id: id_of(&fields["conversationId"]).unwrap_or_else(|| name.to_owned()),
        title: text_of(&fields["title"]),
        started_at: time_of(&fields["createdAt"]),
        rest: fields,
        ..SourceConversation::default()
    })?;
    let ids: Vec<Option<String>> = nodes.iter().map(|node| id_of(&node.fields["messageId"])).collect();
    let mut messages = Vec::new();
    for (node, id) in nodes.into_iter().zip(&ids) {
        let mut source = node.fields;
        let Some(id) = id.clone() else {
            importer.problem(place, "a message has no id");
            continue;
        };
        let role = if source["isCreatedByUser"] == true { SourceRole::User } else { SourceRole::Model };
        let above = || ids[node.parent?].clone();
        let parent = id_of(&source["parentMessageId"]).or_else(above).filter(|parent| parent != LIBRECHAT_ROOT);
        let mut parsed = ParsedContent::of(&source.take_field("content"));
        let text = text_of(&source.take_field("text"));
        if parsed.text.is_empty() {
            parsed.text = text.unwrap_or_default();
        }
        if let Some(fields) = source.as_object_mut() {
            fields.remove("children");
        }
        let mut message = SourceMessage {
            id,
            parent: parent.into(),
            role,
            model: text_of(&source["model"]).filter(|_| role == SourceRole::Model).map(|model| model_of(None, &model)),
            at: time_of(&source["createdAt"]),
            is_interrupted: source["unfinished"] == true || source["error"] == true,
            rest: source,
            ..SourceMessage::default()
        };
        parsed.into_message(&mut message);
        messages.push(message);
    }
    topological_order::write(importer, place, messages)
}
