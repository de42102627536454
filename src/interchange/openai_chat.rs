//! Reader of chat messages, as applications send them to a provider or save them: `{"messages": [...]}`, one conversation a
//! line or in one JSON document; a list of messages; one message a line; and ShareGPT's `{"conversations": [...]}`. Items of
//! OpenAI's Responses, such as `function_call`, may stand among the messages.
//!
//! The forms have no ids. A message is identified by everything before it, so conversations that begin with the same
//! system and user messages are branches of one tree, and a longer copy of a conversation extends it.

use std::mem;

use serde_json::{Value, json};

use super::{
    Importer, InterchangeError, SourceLines,
    content::{ParsedContent, TakeField as _, fields_of, model_of, text_of, time_of},
    json_entries,
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
};

/// Names of fields with the time of a conversation or a message.
const TIME_FIELDS: [&str; 3] = ["created", "created_at", "timestamp"];

/// Longest first line of a JSON document over several lines: `{"model": "…", "messages": [{`.
const MAX_FIRST_LINE: usize = 120;

/// Messages that stand alone, one a line or an entry. Together they are one conversation.
#[derive(Default)]
struct LooseMessages {
    messages: Vec<Value>,
    first: Option<SourcePlace>,
}

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let mut loose = LooseMessages::default();
    let mut is_first = true;
    while let Some(line) = lines.next()? {
        let place = SourcePlace::Line(line.number);
        match serde_json::from_str(&line.text) {
            Ok(value) => loose.read_value(place, value, importer)?,
            // A JSON document over several lines. A line that only lost its end has its brackets in it.
            Err(error) if is_first && error.is_eof() && line.text.trim().len() < MAX_FIRST_LINE => {
                json_entries::read_entries_after(line.text, lines, importer, &mut |place, entry, importer| {
                    loose.read_value(place, entry, importer)
                })?;
            }
            Err(error) => importer.problem(place, error),
        }
        is_first = false;
    }
    loose.write(importer)
}

impl LooseMessages {
    fn read_value(
        &mut self,
        place: SourcePlace,
        mut value: Value,
        importer: &mut Importer<'_>,
    ) -> Result<(), InterchangeError> {
        if let Value::Array(list) = value {
            let mut inner = Self::default();
            for value in list {
                inner.read_value(place, value, importer)?;
            }
            return inner.write(importer);
        }
        if let Value::Array(mut messages) = value.take_field("messages") {
            let system = value.take_field("system");
            if ParsedContent::of(&system).text.is_empty() {
                value["system"] = system;
            } else {
                messages.insert(0, json!({ "role": "system", "content": system }));
            }
            read_conversation(value, messages, place, importer)
        } else if let Value::Array(turns) = value.take_field("conversations") {
            read_conversation(value, turns.into_iter().map(sharegpt_message).collect(), place, importer)
        } else if value["role"].is_string() || is_item(&value) {
            self.first = self.first.or(Some(place));
            self.messages.push(value);
            Ok(())
        } else {
            importer.problem(place, "it has no list of messages");
            Ok(())
        }
    }

    fn write(self, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
        match self.first {
            Some(first) => read_conversation(Value::Null, self.messages, first, importer),
            None => Ok(()),
        }
    }
}

/// Renames the fields of a turn in ShareGPT's form.
fn sharegpt_message(mut turn: Value) -> Value {
    let from = turn.take_field("from");
    let role = match from.as_str() {
        Some("human" | "user") => "user",
        Some("gpt" | "assistant" | "model" | "chatgpt" | "bing" | "bard") => "assistant",
        Some("tool" | "function" | "observation") => "tool",
        Some(other) => other,
        None => return turn,
    };
    let mut fields = serde_json::Map::new();
    fields.insert("role".to_owned(), role.into());
    fields.insert("content".to_owned(), turn.take_field("value"));
    let rest = fields_of(turn).into_iter().filter(|(name, _)| !matches!(name.as_str(), "from" | "value"));
    fields.extend(rest);
    fields.into()
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
    let time = |value: &Value| TIME_FIELDS.iter().find_map(|name| time_of(&value[*name]));
    let started_at = time(&conversation).or_else(|| messages.iter().find_map(time));
    let model = text_of(&conversation["model"]).map(|model| model_of(None, &model));
    let mut rest = fields_of(conversation);
    for name in ["messages", "conversations"] {
        rest.remove(name);
    }
    rest.retain(|name, value| name != "system" || !value.is_null());
    importer.conversation(SourceConversation {
        id: opening,
        started_at,
        rest: if rest.is_empty() { Value::Null } else { rest.into() },
        ..SourceConversation::default()
    })?;
    let mut parent = SourceParent::Root;
    let mut thoughts = Vec::new();
    for (number, (source, id)) in (1..).zip(messages.into_iter().zip(ids)) {
        if is_item(&source) && source["type"] == "reasoning" {
            let parts = ["summary", "content"].iter().flat_map(|name| source[*name].as_array().into_iter().flatten());
            thoughts.extend(parts.filter_map(|part| text_of(&part["text"])));
            importer.left_out("reasoning (its text is a thought)");
            continue;
        }
        let read = if is_item(&source) { Some((read_item(source), Vec::new())) } else { read_message(source) };
        let Some((mut message, results)) = read else {
            importer.problem(place, format!("message {number} has no role"));
            continue;
        };
        message.parent = mem::replace(&mut parent, SourceParent::Message(id.clone()));
        message.id = id;
        if message.role == SourceRole::User {
            // Their turn had no answer.
            thoughts.clear();
        }
        if message.role == SourceRole::Model {
            message.model = message.model.or_else(|| model.clone());
            message.thoughts.splice(0..0, mem::take(&mut thoughts));
        }
        for message in with_results(message, results) {
            importer.message(place, message)?;
        }
    }
    Ok(())
}

/// Returns a message with the results of tools in it, each as a message. A message that holds nothing else is left out.
/// Results follow the message that calls, and precede a message of the user.
fn with_results(message: SourceMessage, results: Vec<Value>) -> Vec<SourceMessage> {
    let is_calling = !message.calls.is_empty() || !message.thoughts.is_empty();
    let is_kept = is_calling || !message.text.is_empty() || results.is_empty();
    let last = results.len();
    let result_message = |(number, result): (usize, Value)| {
        let parsed = ParsedContent::of(&result["content"]);
        let is_whole = number == last && !is_kept;
        SourceMessage {
            id: if is_whole { message.id.clone() } else { format!("{}#{number}", message.id) },
            parent: if is_calling { SourceParent::Message(message.id.clone()) } else { message.parent.clone() },
            role: SourceRole::Tool,
            call_id: text_of(&result["tool_use_id"]),
            has_failed: result["is_error"].as_bool().unwrap_or(false),
            text: parsed.text,
            raw: parsed.raw,
            at: message.at,
            rest: if is_whole { message.rest.clone() } else { Value::Null },
            ..SourceMessage::default()
        }
    };
    let mut messages: Vec<SourceMessage> = (1..).zip(results).map(result_message).collect();
    if is_kept {
        let at = if is_calling { 0 } else { messages.len() };
        messages.insert(at, message);
    }
    messages
}

/// True for an item of a Responses list that is no message.
fn is_item(value: &Value) -> bool {
    const ITEMS: [&str; 5] =
        ["reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"];
    value["role"].is_null() && value["type"].as_str().is_some_and(|kind| ITEMS.contains(&kind))
}

/// Reads a call of a Responses list, or its output.
fn read_item(mut item: Value) -> SourceMessage {
    if !item["type"].as_str().is_some_and(|kind| kind.ends_with("_output")) {
        return SourceMessage { role: SourceRole::Model, calls: vec![item], ..SourceMessage::default() };
    }
    let output = item.take_field("output");
    let mut message = SourceMessage {
        role: SourceRole::Tool,
        call_id: text_of(&item["call_id"]),
        rest: item,
        ..SourceMessage::default()
    };
    ParsedContent::of(&output).into_message(&mut message);
    message
}

/// Reads a message, and the blocks of tool results in its content. `None` if it has no role.
fn read_message(source: Value) -> Option<(SourceMessage, Vec<Value>)> {
    let role = match source["role"].as_str()? {
        "user" => SourceRole::User,
        "assistant" => SourceRole::Model,
        "tool" | "function" => SourceRole::Tool,
        "system" | "developer" => SourceRole::System,
        _ => SourceRole::Note,
    };
    let mut message = SourceMessage { role, ..SourceMessage::default() };
    let mut parsed = ParsedContent::of(&source["content"]);
    let results = mem::take(&mut parsed.results);
    parsed.into_message(&mut message);
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
    message.at = TIME_FIELDS.iter().find_map(|name| time_of(fields.get(*name)?));
    message.rest = if fields.is_empty() { Value::Null } else { fields.into() };
    Some((message, results))
}
