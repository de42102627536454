//! Reader of trees of basemode-loom: an export, or its database.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Importer, InterchangeError, SourceLines,
    content::{TakeField as _, id_of, model_of, text_of, time_of},
    database_rows::{collect, parsed},
    json_trees,
    source_record::{SourceConversation, SourceMessage, SourcePlace, SourceRole},
    topological_order,
};
use crate::store::{ForeignDatabase, RowFilter};

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    json_trees::read(lines, importer, basemode)
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
pub(super) fn read_database(database: &ForeignDatabase, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
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
