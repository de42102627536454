//! Reader of trees of loomsidian: a note, or a vault's `data.json`.

use serde_json::Value;

use super::{
    Importer, InterchangeError, SourceLines,
    content::{TakeField as _, id_of, text_of},
    json_trees,
    source_record::{SourceConversation, SourceMessage, SourcePlace, SourceRole},
    topological_order,
};

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    json_trees::read(lines, importer, loomsidian)
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
    let id = note_id(&nodes, &name, importer)?;
    importer.conversation(SourceConversation {
        id,
        title: std::path::Path::new(&name).file_stem().map(|stem| stem.to_string_lossy().into_owned()),
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

/// Returns the id of a note: that of a root, since notes of several vaults may have one name. It is the id under which an
/// earlier import stored the note, if one did; earlier versions used the name.
fn note_id(
    nodes: &[(Option<String>, Value)],
    name: &str,
    importer: &mut Importer<'_>,
) -> Result<String, InterchangeError> {
    let is_root = |node: &Value| node["parentId"].is_null();
    let roots: Vec<&String> =
        nodes.iter().filter(|(_, node)| is_root(node)).filter_map(|(id, _)| id.as_ref()).collect();
    for root in &roots {
        if importer.stored_message(name, Some(root))?.is_some() {
            return Ok(name.to_owned());
        }
    }
    for root in &roots {
        if importer.stored_message(root, None)?.is_some() {
            return Ok((*root).clone());
        }
    }
    Ok(roots.first().map_or_else(|| name.to_owned(), |root| (*root).clone()))
}
