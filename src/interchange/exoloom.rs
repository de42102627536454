//! Reader of trees of exoloom.

use serde_json::Value;

use super::{
    Importer, InterchangeError, SourceLines,
    content::{ParsedContent, TakeField as _, id_of, text_of, time_of},
    json_trees,
    source_record::{SourceConversation, SourceMessage, SourcePlace, SourceRole},
    topological_order,
};

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    json_trees::read(lines, importer, exoloom)
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
