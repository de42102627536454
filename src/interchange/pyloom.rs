//! Reader of trees of pyloom, whose nodes contain their children.

use std::path::Path;

use serde_json::{Map, Value};

use super::{
    Importer, InterchangeError, SourceLines,
    content::{TakeField as _, fields_of, id_of, model_of, text_of, time_of},
    json_trees,
    nested_json::{NestedDocument, NestedNode},
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
    topological_order,
};
use crate::types::Node;

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    json_trees::read_nested(lines, importer, &["children"], pyloom)
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
    let id = match id_of(&root["id"]) {
        Some(id) => id,
        None => id_by_text(&root, &document.nodes, name, importer)?,
    };
    importer.conversation(SourceConversation {
        id,
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

/// Returns the id of a tree without one: the path of its file. Text from elsewhere has a name that other text may have too,
/// so the first words complete it. A tree that an earlier version stored under the name alone keeps that id.
fn id_by_text(
    root: &Value,
    nodes: &[NestedNode],
    name: &str,
    importer: &mut Importer<'_>,
) -> Result<String, InterchangeError> {
    let is_stored =
        |stored: Option<Node>| stored.is_some_and(|stored| Some(stored.content.as_str()) == root["text"].as_str());
    if Path::new(name).is_absolute() || is_stored(importer.stored_message(name, Some("0"))?) {
        return Ok(name.to_owned());
    }
    let mut nodes = std::iter::once(root).chain(nodes.iter().map(|node| &node.fields));
    let text = nodes.find_map(|node| text_of(&node["text"])).unwrap_or_default();
    Ok(format!("{name} {}", &blake3::hash(text.as_bytes()).to_hex()[..16]))
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
