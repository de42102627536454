//! Reader of trees of LibreChat, whose exports are nested or flat.

use super::{
    Importer, InterchangeError, SourceLines,
    content::{ParsedContent, TakeField as _, id_of, model_of, text_of, time_of},
    json_trees,
    nested_json::NestedDocument,
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
    topological_order,
};

/// Parent of the first messages of LibreChat.
const LIBRECHAT_ROOT: &str = "00000000-0000-0000-0000-000000000000";

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    json_trees::read_nested(lines, importer, &["messagesTree", "messages", "children"], librechat)
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
        let at = time_of(&source["createdAt"]);
        let results = std::mem::take(&mut parsed.results);
        let results = (1..).zip(results).map(|(number, result)| SourceMessage {
            id: format!("{id}#{number}"),
            parent: SourceParent::Message(id.clone()),
            role: SourceRole::Tool,
            call_id: text_of(&result["tool_use_id"]),
            tool_name: text_of(&result["name"]),
            text: text_of(&result["content"]).unwrap_or_default(),
            at,
            ..SourceMessage::default()
        });
        let results: Vec<SourceMessage> = results.collect();
        let mut message = SourceMessage {
            id,
            parent: parent.into(),
            role,
            model: text_of(&source["model"]).filter(|_| role == SourceRole::Model).map(|model| model_of(None, &model)),
            at,
            is_interrupted: source["unfinished"] == true || source["error"] == true,
            rest: source,
            ..SourceMessage::default()
        };
        parsed.into_message(&mut message);
        messages.push(message);
        messages.extend(results);
    }
    topological_order::write(importer, place, messages)
}
