//! Reader of chat messages in OpenAI's form: `{"messages": [...]}`, one conversation a line.
//!
//! The format has no ids. A message is identified by everything before it, so conversations that begin with the same
//! system and user messages are branches of one tree, and a longer copy of a conversation extends it.

use serde_json::Value;

use super::{
    Importer, InterchangeError, SourceLines,
    content::{ParsedContent, TakeField as _, fields_of, model_of, text_of, time_of},
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
};

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    while let Some(line) = lines.next()? {
        let place = SourcePlace::Line(line.number);
        match serde_json::from_str::<Value>(&line.text) {
            Ok(mut conversation) => {
                let messages = conversation.take_field("messages");
                if let Value::Array(messages) = messages {
                    read_conversation(conversation, messages, place, importer)?;
                } else {
                    importer.problem(place, "it has no list of messages");
                }
            }
            Err(error) => importer.problem(place, error),
        }
    }
    Ok(())
}

fn read_conversation(
    conversation: Value,
    messages: Vec<Value>,
    place: SourcePlace,
    importer: &mut Importer<'_>,
) -> Result<(), InterchangeError> {
    // The first message of another role than the system's ends the opening.
    let mut hash = blake3::Hasher::new();
    let mut ids = Vec::new();
    let mut opening = None;
    for message in &messages {
        hash.update(message.to_string().as_bytes());
        // The number first: keys in the order of the file keep the table of sources in few pages.
        let id = format!("{:06}{}", ids.len(), &hash.finalize().to_hex()[..24]);
        if opening.is_none() && !matches!(message["role"].as_str(), Some("system" | "developer")) {
            opening = Some(id.clone());
        }
        ids.push(id);
    }
    let Some(opening) = opening.or_else(|| ids.last().cloned()) else {
        importer.left_out("conversation without messages");
        return Ok(());
    };
    let started_at = ["created", "created_at", "timestamp"].iter().find_map(|name| time_of(&conversation[*name]));
    let model = text_of(&conversation["model"]).map(|model| model_of(None, &model));
    let mut rest = fields_of(conversation);
    rest.remove("messages");
    importer.conversation(SourceConversation {
        id: opening,
        started_at,
        rest: if rest.is_empty() { Value::Null } else { rest.into() },
        ..SourceConversation::default()
    })?;
    let mut parent = SourceParent::Root;
    for (source, id) in messages.into_iter().zip(ids) {
        let Some(mut message) = read_message(source) else {
            importer.problem(place, "a message has no role");
            break;
        };
        message.parent = std::mem::replace(&mut parent, SourceParent::Message(id.clone()));
        message.id = id;
        if message.role == SourceRole::Model {
            message.model = message.model.or_else(|| model.clone());
        }
        importer.message(place, message)?;
    }
    Ok(())
}

fn read_message(source: Value) -> Option<SourceMessage> {
    let role = match source["role"].as_str()? {
        "user" => SourceRole::User,
        "assistant" => SourceRole::Model,
        "tool" | "function" => SourceRole::Tool,
        "system" | "developer" => SourceRole::System,
        _ => SourceRole::Note,
    };
    let mut message = SourceMessage { role, ..SourceMessage::default() };
    ParsedContent::of(&source["content"]).into_message(&mut message);
    let mut fields = fields_of(source);
    fields.remove("content");
    if fields.get("role").is_some_and(|role| matches!(role.as_str(), Some("user" | "assistant" | "system" | "tool"))) {
        fields.remove("role");
    }
    if let Some(Value::Array(calls)) = fields.remove("tool_calls") {
        message.calls.extend(calls);
    }
    message.call_id = fields.remove("tool_call_id").as_ref().and_then(text_of);
    if role == SourceRole::Tool {
        message.tool_name = fields.remove("name").as_ref().and_then(text_of);
    }
    let reasoning = ["reasoning_content", "reasoning", "thinking"].iter().find_map(|name| {
        let text = text_of(fields.get(*name)?)?;
        fields.remove(*name);
        Some(text)
    });
    message.thoughts.extend(reasoning);
    message.model = fields.get("model").and_then(text_of).map(|model| model_of(None, &model));
    message.rest = if fields.is_empty() { Value::Null } else { fields.into() };
    Some(message)
}
