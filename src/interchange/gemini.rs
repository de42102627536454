//! Reader of Gemini CLI's chats: JSON lines, or one JSON document.
//!
//! A message follows the one before it. `$rewindTo` drops messages from one on, so what follows is a branch. A message
//! that comes again under its id replaces the earlier one: the program writes a reply, then the same reply with its tokens
//! and calls. It is one message if its text stays, else a version. A subagent's file lies in a folder that is named by
//! the session of its parent.

use std::{collections::HashMap, path::Path};

use serde_json::Value;

use super::{
    Importer, InterchangeError, SourceLines,
    content::{ParsedContent, TakeField as _, fields_of, id_of, model_of, text_of, time_of, tokens_of},
    json_entries,
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
};

#[derive(Default)]
struct GeminiReader {
    has_begun: bool,
    /// Ids of the live path.
    live: Vec<String>,
    /// Index of each id in the live path.
    places: HashMap<String, usize>,
    /// The newest message with its results, which may come again.
    newest: Option<(SourcePlace, String, Vec<SourceMessage>)>,
}

/// Reads JSON lines.
pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let mut reader = GeminiReader::default();
    while let Some(line) = lines.next()? {
        let place = SourcePlace::Line(line.number);
        match serde_json::from_str(&line.text) {
            Ok(value) => reader.record(place, value, lines.name, importer)?,
            Err(_) if !reader.has_begun => {
                let name = lines.name;
                json_entries::read_entries_after(line.text, lines, importer, &mut |place, entry, importer| {
                    reader.record(place, entry, name, importer)
                })?;
                return reader.write_newest(importer);
            }
            Err(error) => importer.problem(place, error),
        }
    }
    reader.write_newest(importer)
}

impl GeminiReader {
    fn record(
        &mut self,
        place: SourcePlace,
        mut record: Value,
        name: &str,
        importer: &mut Importer<'_>,
    ) -> Result<(), InterchangeError> {
        if !self.has_begun {
            self.has_begun = true;
            let messages = record.take_field("messages");
            let mut rest = fields_of(record);
            rest.remove("messages");
            let is_header = rest.contains_key("sessionId");
            let is_subagent = rest.get("kind").is_some_and(|kind| kind == "subagent");
            let session = Path::new(name).parent().and_then(Path::file_name).filter(|_| is_subagent);
            importer.conversation(SourceConversation {
                parent: session.map(|session| (session.to_string_lossy().into_owned(), None)),
                id: rest.get("sessionId").and_then(id_of).unwrap_or_else(|| name.to_owned()),
                title: rest.get("summary").and_then(text_of),
                folder: rest.get("directories").and_then(|list| text_of(&list[0])),
                started_at: rest.get("startTime").and_then(time_of),
                rest: if is_header { rest.clone().into() } else { Value::Null },
                ..SourceConversation::default()
            })?;
            if !is_header {
                self.message(place, rest.into(), importer)?;
            }
            return self.list(place, messages, importer);
        }
        if let Some(from) = text_of(&record["$rewindTo"]) {
            match self.places.get(&from) {
                Some(at) => {
                    for dropped in self.live.drain(*at..).collect::<Vec<_>>() {
                        self.places.remove(&dropped);
                    }
                }
                // The program drops everything then, too.
                None => {
                    importer.problem(place, format!("it rewinds to {from:?}, which is not on the path"));
                    self.live.clear();
                    self.places.clear();
                }
            }
            return Ok(());
        }
        if record["$set"].is_object() {
            let mut set = record.take_field("$set");
            if let Some(title) = text_of(&set["summary"]) {
                importer.title(place, &title)?;
            }
            importer.left_out("$set");
            if set["messages"].is_array() {
                self.live.clear();
                self.places.clear();
                return self.list(place, set.take_field("messages"), importer);
            }
            return Ok(());
        }
        self.message(place, record, importer)
    }

    fn list(
        &mut self,
        place: SourcePlace,
        messages: Value,
        importer: &mut Importer<'_>,
    ) -> Result<(), InterchangeError> {
        let Value::Array(messages) = messages else { return Ok(()) };
        messages.into_iter().try_for_each(|message| self.message(place, message, importer))
    }

    fn message(
        &mut self,
        place: SourcePlace,
        mut source: Value,
        importer: &mut Importer<'_>,
    ) -> Result<(), InterchangeError> {
        if !source["type"].is_string() {
            importer.problem(place, "it has no type");
            return Ok(());
        }
        let id = id_of(&source["id"]).unwrap_or_else(|| format!("{place} {}", self.live.len()));
        let known = self.places.get(&id).copied();
        let before = match known {
            Some(at) => at.checked_sub(1).map(|before| self.live[before].clone()),
            None => self.live.last().cloned(),
        };
        if known.is_none() {
            self.places.insert(id.clone(), self.live.len());
            self.live.push(id.clone());
        }
        let mut message = SourceMessage {
            parent: before.map_or(SourceParent::Root, SourceParent::Message),
            role: match source["type"].as_str() {
                Some("user") => SourceRole::User,
                Some("gemini") => SourceRole::Model,
                _ => SourceRole::Note,
            },
            at: time_of(&source["timestamp"]),
            tokens: tokens_of(&source["tokens"]["output"]),
            model: text_of(&source["model"]).map(|model| model_of(Some("google"), &model)),
            id: id.clone(),
            ..SourceMessage::default()
        };
        let mut content = source.take_field("content");
        // Parts have the fields of Google's API: `text` without a type.
        if let Value::Array(parts) = &mut content {
            for part in parts.iter_mut().filter(|part| part.get("inlineData").is_some()) {
                part["type"] = "inlineData".into();
            }
        }
        ParsedContent::of(&content).into_message(&mut message);
        for thought in source["thoughts"].as_array().into_iter().flatten() {
            let parts = [&thought["subject"], &thought["description"]].map(|part| part.as_str().unwrap_or(""));
            message.thoughts.push(parts.join("\n").trim().to_owned());
        }
        let calls = source["toolCalls"].as_array().cloned().unwrap_or_default();
        for call in &calls {
            let mut fields = fields_of(call.clone());
            fields.remove("result");
            fields.remove("resultDisplay");
            if let Some(arguments) = fields.remove("args") {
                fields.insert("arguments".to_owned(), arguments);
            }
            message.calls.push(fields.into());
        }
        for name in ["content", "toolCalls", "thoughts"] {
            source.as_object_mut().map(|fields| fields.remove(name));
        }
        message.rest = source;
        let at = message.at;
        let results = (1..).zip(calls).filter(|(_, call)| !call["result"].is_null());
        let results: Vec<SourceMessage> =
            results.map(|(number, call)| tool_result(&call, format!("{id}#{number}"), &id, at)).collect();
        let is_same = self.newest.as_ref().is_some_and(|(_, newest, messages)| {
            *newest == id
                && messages.first().is_some_and(|first| first.text == message.text && first.raw == message.raw)
        });
        if !is_same {
            self.write_newest(importer)?;
        }
        self.newest = Some((place, id, [vec![message], results].concat()));
        Ok(())
    }

    fn write_newest(&mut self, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
        let Some((place, _, messages)) = self.newest.take() else { return Ok(()) };
        messages.into_iter().try_for_each(|message| importer.message(place, message))
    }
}

fn tool_result(call: &Value, id: String, caller: &str, at: Option<crate::types::Timestamp>) -> SourceMessage {
    let result = &call["result"];
    let response = match result {
        Value::Array(parts) => parts.iter().find_map(|part| text_of(&part["functionResponse"]["response"]["output"])),
        other => text_of(other),
    };
    SourceMessage {
        id,
        parent: SourceParent::Message(caller.to_owned()),
        role: SourceRole::Tool,
        call_id: text_of(&call["id"]),
        tool_name: text_of(&call["name"]),
        has_failed: matches!(call["status"].as_str(), Some("error" | "cancelled")),
        raw: response.is_some().then(|| result.to_string()).filter(|_| result.is_array()),
        text: response.unwrap_or_else(|| result.to_string()),
        at: time_of(&call["timestamp"]).or(at),
        ..SourceMessage::default()
    }
}
