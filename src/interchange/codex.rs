//! Reader of Codex CLI's rollout JSONL.
//!
//! The conversation is the chain of response items. A rollback goes up as many user messages as it names, so what
//! follows is a branch. Events that repeat the conversation are left out. Lines have no ids; a rollout only grows, so
//! its line numbers identify them.

use serde_json::Value;

use super::{
    Importer, InterchangeError, SourceLines,
    content::{ParsedContent, TakeField as _, id_of, model_of, text_of, time_of, tokens_of},
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
};
use crate::types::Timestamp;

/// Beginnings of user messages that the application writes.
const HARNESS_TEXTS: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<skill>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<hook_prompt",
];

#[derive(Default)]
struct CodexReader {
    has_begun: bool,
    model: Option<String>,
    provider: Option<String>,
    /// The newest message of the live path.
    last: Option<String>,
    /// The message before each user message of the live path.
    before_prompts: Vec<Option<String>>,
    /// Reasoning that precedes the next message of the model.
    thoughts: Vec<String>,
    /// Place and time of the first of these thoughts.
    reasoning: Option<(SourcePlace, Option<Timestamp>)>,
    /// The newest message of the model, until its tokens are known.
    newest: Option<(SourcePlace, SourceMessage)>,
}

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let mut reader = CodexReader::default();
    while let Some(line) = lines.next()? {
        let place = SourcePlace::Line(line.number);
        match serde_json::from_str(&line.text) {
            Ok(value) => reader.line(place, value, lines.name, importer)?,
            Err(error) => importer.problem(place, error),
        }
    }
    reader.write_newest(importer)
}

impl CodexReader {
    fn line(
        &mut self,
        place: SourcePlace,
        mut line: Value,
        name: &str,
        importer: &mut Importer<'_>,
    ) -> Result<(), InterchangeError> {
        // The oldest files have bare items without an envelope.
        let is_bare = !line["payload"].is_object();
        let kind = match line["type"].as_str() {
            Some(kind) if !is_bare => kind.to_owned(),
            Some(_) => "response_item".to_owned(),
            None if line["record_type"].is_string() => "state".to_owned(),
            None if line["id"].is_string() => "session_meta".to_owned(),
            None => String::new(),
        };
        let payload = if is_bare { line.clone() } else { line.take_field("payload") };
        if !self.has_begun {
            self.begin(&kind, &payload, &line, name, importer)?;
        }
        match kind.as_str() {
            "session_meta" | "state" => Ok(()),
            "turn_context" => {
                self.model = text_of(&payload["model"]).or(self.model.take());
                importer.left_out("turn_context");
                Ok(())
            }
            "response_item" => self.item(place, payload, time_of(&line["timestamp"]), importer),
            "event_msg" => self.event(&payload, importer),
            "" => {
                importer.problem(place, "it has no type");
                Ok(())
            }
            other => self.note(place, other, payload, time_of(&line["timestamp"]), importer),
        }
    }

    fn begin(
        &mut self,
        kind: &str,
        payload: &Value,
        line: &Value,
        name: &str,
        importer: &mut Importer<'_>,
    ) -> Result<(), InterchangeError> {
        self.has_begun = true;
        let is_header = kind == "session_meta";
        self.provider = text_of(&payload["model_provider"]);
        // A subagent names the thread and the call that spawned it.
        let spawn = &payload["source"]["subagent"]["thread_spawn"];
        let parent = [&spawn["parent_thread_id"], &payload["parent_thread_id"]].into_iter().find_map(id_of);
        let call = id_of(&spawn["spawn_call_id"]).map(|call| format!("call {call}"));
        importer.conversation(SourceConversation {
            parent: parent.map(|parent| (parent, call)),
            id: id_of(&payload["id"]).filter(|_| is_header).unwrap_or_else(|| name.to_owned()),
            folder: text_of(&payload["cwd"]),
            started_at: time_of(&payload["timestamp"]).or_else(|| time_of(&line["timestamp"])),
            rest: if is_header { payload.clone() } else { Value::Null },
            ..SourceConversation::default()
        })
    }

    fn event(&mut self, event: &Value, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
        match event["type"].as_str() {
            Some("thread_rolled_back") => {
                self.end_reasoning(importer)?;
                let turns = event["num_turns"].as_u64().unwrap_or(0);
                for _ in 0..turns.min(self.before_prompts.len() as u64) {
                    self.last = self.before_prompts.pop().flatten();
                }
                return Ok(());
            }
            Some("token_count") => {
                if let Some((_, message)) = &mut self.newest {
                    message.tokens = tokens_of(&event["info"]["last_token_usage"]["output_tokens"]).or(message.tokens);
                }
            }
            Some("turn_aborted") => {
                self.end_reasoning(importer)?;
                if let Some((_, message)) = &mut self.newest {
                    message.is_interrupted = true;
                }
            }
            _ => {}
        }
        importer.left_out("event_msg");
        Ok(())
    }

    /// Writes the thoughts of a turn that ended before its answer, as an interrupted answer without text.
    fn end_reasoning(&mut self, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
        let Some((place, at)) = self.reasoning else { return Ok(()) };
        let message = SourceMessage { role: SourceRole::Model, at, is_interrupted: true, ..SourceMessage::default() };
        self.write(place, message, importer)
    }

    fn item(
        &mut self,
        place: SourcePlace,
        mut item: Value,
        at: Option<Timestamp>,
        importer: &mut Importer<'_>,
    ) -> Result<(), InterchangeError> {
        let kind = item["type"].as_str().unwrap_or("").to_owned();
        let mut message = SourceMessage { at, ..SourceMessage::default() };
        match kind.as_str() {
            "message" => {
                ParsedContent::of(&item.take_field("content")).into_message(&mut message);
                message.role = match item["role"].as_str() {
                    Some("user") if is_of_harness(&message.text) => SourceRole::Note,
                    Some("user") => SourceRole::User,
                    Some("assistant") => SourceRole::Model,
                    _ => SourceRole::Note,
                };
            }
            "reasoning" => {
                let texts = |list: &Value| {
                    list.as_array().into_iter().flatten().filter_map(|part| text_of(&part["text"])).collect::<Vec<_>>()
                };
                // Open models have their reasoning itself.
                let summary = texts(&item["summary"]);
                self.thoughts.extend(if summary.is_empty() { texts(&item["content"]) } else { summary });
                if !self.thoughts.is_empty() {
                    self.reasoning = self.reasoning.or(Some((place, at)));
                }
                importer.left_out("reasoning (its text is a thought)");
                return Ok(());
            }
            "function_call_output" | "custom_tool_call_output" => {
                message.role = SourceRole::Tool;
                message.call_id = text_of(&item["call_id"]);
                read_output(&item.take_field("output"), &mut message);
            }
            "function_call" | "custom_tool_call" | "local_shell_call" => {
                message.role = SourceRole::Model;
                let arguments = ["arguments", "input", "action"].iter().find(|name| !item[**name].is_null());
                let arguments = arguments.map_or(Value::Null, |name| item.take_field(name));
                let name = item["name"].as_str().unwrap_or("shell");
                message.calls.push(serde_json::json!({ "id": item["call_id"], "name": name, "arguments": arguments }));
            }
            other => return self.note(place, other, item, at, importer),
        }
        message.rest = item;
        self.write(place, message, importer)
    }

    fn note(
        &mut self,
        place: SourcePlace,
        kind: &str,
        payload: Value,
        at: Option<Timestamp>,
        importer: &mut Importer<'_>,
    ) -> Result<(), InterchangeError> {
        let text = text_of(&payload["message"]).unwrap_or_else(|| kind.to_owned());
        self.write(place, SourceMessage { text, at, rest: payload, ..SourceMessage::default() }, importer)
    }

    fn write(
        &mut self,
        place: SourcePlace,
        mut message: SourceMessage,
        importer: &mut Importer<'_>,
    ) -> Result<(), InterchangeError> {
        if message.role == SourceRole::User {
            self.end_reasoning(importer)?;
        }
        message.id = place.to_string();
        message.parent = self.last.clone().map_or(SourceParent::Root, SourceParent::Message);
        if message.role == SourceRole::Model {
            let model = self.model.as_deref();
            message.model = model.map(|model| model_of(self.provider.as_deref().or(Some("openai")), model));
            message.thoughts = std::mem::take(&mut self.thoughts);
            self.reasoning = None;
        }
        if message.role == SourceRole::User {
            self.before_prompts.push(self.last.clone());
        }
        self.last = Some(message.id.clone());
        self.write_newest(importer)?;
        if message.role == SourceRole::Model {
            self.newest = Some((place, message));
            return Ok(());
        }
        importer.message(place, message)
    }

    fn write_newest(&mut self, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
        self.newest.take().map_or(Ok(()), |(place, message)| importer.message(place, message))
    }
}

/// True for a user message that the application wrote.
fn is_of_harness(text: &str) -> bool {
    HARNESS_TEXTS.iter().any(|start| text.trim_start().starts_with(start))
}

/// Reads a tool's output: a text, or an object with the text and its success.
fn read_output(output: &Value, message: &mut SourceMessage) {
    let parsed = output.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok()).filter(Value::is_object);
    let object = parsed.as_ref().unwrap_or(output);
    let exit = object["metadata"]["exit_code"].as_i64();
    message.has_failed = object["success"] == false || exit.is_some_and(|code| code != 0);
    let text = ["output", "content"].iter().find_map(|name| text_of(&object[*name]));
    message.text = text.unwrap_or_else(|| match output {
        Value::String(text) => text.clone(),
        Value::Array(_) => ParsedContent::of(output).text,
        other => other.to_string(),
    });
    message.raw =
        Some(output.as_str().map_or_else(|| output.to_string(), str::to_owned)).filter(|raw| *raw != message.text);
}
