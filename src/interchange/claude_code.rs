//! Reader of Claude Code's session JSONL.
//!
//! One answer of the model is several lines with the same `message.id`, one block each; they become one message. Results
//! of parallel calls hang below that message and are no branches. A compaction is a note on the path, which continues
//! where it was. A side chain is a conversation of its own that is linked to the session. A resumed file repeats lines
//! of another file with the same ids; it continues that file's tree. A prompt that was typed during a turn is an
//! attachment. Lines without an id and a message, such as settings of the session, are left out.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Value, json};

use super::{
    Importer, InterchangeError, SourceLines,
    content::{ParsedContent, TakeField as _, id_of, model_of, text_of, time_of, tokens_of},
    source_record::{SourceConversation, SourceMessage, SourceParent, SourcePlace, SourceRole},
};

/// Lines that wait for the end of an answer.
const MAX_WAITING_LINES: usize = 200;
/// Names of tools by call, kept for their results.
const MAX_CALLS: usize = 10_000;

/// Beginnings of user messages that the application writes.
const HARNESS_TEXTS: &[&str] = &[
    "<local-command-",
    "<command-name>",
    "<command-message>",
    "<task-notification>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "[Request interrupted by user",
    "Caveat: The messages below were generated",
];

/// Lines of one answer so far.
struct ModelAnswer {
    place: SourcePlace,
    /// The first line; its content grows by the blocks of the others.
    line: Value,
    id: String,
    uuids: Vec<String>,
}

struct ClaudeReader<'a, 'b> {
    importer: &'a mut Importer<'b>,
    name: &'a str,
    answer: Option<ModelAnswer>,
    /// Lines between those of an answer: results of its calls, and notes.
    waiting: VecDeque<(SourcePlace, Value)>,
    /// Names of tools by the ids of their calls.
    tools: HashMap<String, String>,
    /// Last message of the session that began a side chain.
    delegating: Option<String>,
    /// Titles by the id of the message that they summarize.
    titles: HashMap<String, String>,
    /// Sessions that have begun.
    begun: HashSet<String>,
    /// Titles of sessions that have not begun.
    early_titles: HashMap<String, (SourcePlace, String)>,
    /// Sessions whose title their user chose.
    named: HashSet<String>,
}

pub(super) fn read(lines: &mut SourceLines<'_>, importer: &mut Importer<'_>) -> Result<(), InterchangeError> {
    let mut reader = ClaudeReader {
        importer,
        name: lines.name,
        answer: None,
        waiting: VecDeque::new(),
        tools: HashMap::new(),
        delegating: None,
        titles: HashMap::new(),
        begun: HashSet::new(),
        early_titles: HashMap::new(),
        named: HashSet::new(),
    };
    while let Some(line) = lines.next()? {
        let place = SourcePlace::Line(line.number);
        match serde_json::from_str(&line.text) {
            Ok(line) => reader.line(place, line)?,
            Err(error) => reader.importer.problem(place, error),
        }
    }
    reader.end_answer()
}

impl ClaudeReader<'_, '_> {
    fn line(&mut self, place: SourcePlace, line: Value) -> Result<(), InterchangeError> {
        let kind = line["type"].as_str().unwrap_or("").to_owned();
        if kind.is_empty() {
            self.importer.problem(place, "it has no type");
            return Ok(());
        }
        if kind == "assistant" {
            return self.assistant(place, line);
        }
        // Another line than a result of the answer's calls, or a note, ends the answer.
        if self.answer.is_some() && self.waiting.len() < MAX_WAITING_LINES && self.may_interrupt(&kind, &line) {
            self.waiting.push_back((place, line));
            return Ok(());
        }
        self.end_answer()?;
        self.entry(place, &kind, line)
    }

    /// True if a line may stand between the lines of one answer.
    fn may_interrupt(&self, kind: &str, line: &Value) -> bool {
        match kind {
            "user" => {
                let blocks = line["message"]["content"].as_array();
                let is_result = |block: &Value| {
                    block["type"] == "tool_result"
                        && block["tool_use_id"].as_str().is_some_and(|call| self.tools.contains_key(call))
                };
                blocks.is_some_and(|blocks| !blocks.is_empty() && blocks.iter().all(is_result))
            }
            "progress" | "attachment" => true,
            _ => is_bookkeeping(line),
        }
    }

    fn assistant(&mut self, place: SourcePlace, mut line: Value) -> Result<(), InterchangeError> {
        let uuid = id_of(&line["uuid"]).unwrap_or_else(|| place.to_string());
        let id = id_of(&line["message"]["id"]).unwrap_or_else(|| uuid.clone());
        for block in line["message"]["content"].as_array().into_iter().flatten() {
            if let (Some(call), Some(name)) = (block["id"].as_str(), block["name"].as_str()) {
                if self.tools.len() >= MAX_CALLS {
                    self.tools.clear();
                }
                self.tools.insert(call.to_owned(), name.to_owned());
            }
        }
        if let Some(answer) = self.answer.as_mut().filter(|answer| answer.id == id) {
            let message = line.take_field("message");
            if let Some(Value::Object(own)) = answer.line.get_mut("message") {
                if let (Some(Value::Array(blocks)), Value::Array(more)) = (own.get_mut("content"), &message["content"])
                {
                    blocks.extend(more.iter().cloned());
                }
                for field in ["usage", "stop_reason"] {
                    if !message[field].is_null() {
                        own.insert(field.to_owned(), message[field].clone());
                    }
                }
            }
            answer.uuids.push(uuid);
            return Ok(());
        }
        self.end_answer()?;
        if !line["message"].is_object() {
            self.importer.problem(place, "its message is missing");
            return Ok(());
        }
        self.answer = Some(ModelAnswer { place, line, id, uuids: vec![uuid] });
        Ok(())
    }

    /// Imports the current answer and the lines that waited for its end.
    fn end_answer(&mut self) -> Result<(), InterchangeError> {
        if let Some(answer) = self.answer.take() {
            self.answer(answer)?;
        }
        while let Some((place, line)) = self.waiting.pop_front() {
            let kind = line["type"].as_str().unwrap_or("").to_owned();
            self.entry(place, &kind, line)?;
        }
        Ok(())
    }

    fn answer(&mut self, mut answer: ModelAnswer) -> Result<(), InterchangeError> {
        let mut uuids = std::mem::take(&mut answer.uuids);
        let mut line = answer.line;
        self.begin(&line)?;
        let mut message = SourceMessage {
            id: uuids.remove(0),
            aliases: uuids,
            role: SourceRole::Model,
            parent: id_of(&line["parentUuid"]).into(),
            at: time_of(&line["timestamp"]),
            tokens: tokens_of(&line["message"]["usage"]["output_tokens"]),
            model: line["message"]["model"].as_str().map(|model| model_of(Some("anthropic"), model)),
            has_failed: line["isApiErrorMessage"].as_bool().unwrap_or(false),
            ..SourceMessage::default()
        };
        // The application itself writes errors as answers of a model of this name.
        if line["message"]["model"] == "<synthetic>" {
            message.model = None;
        }
        take_content(&mut line).into_message(&mut message);
        let delegates = message.calls.iter().any(|call| matches!(call["name"].as_str(), Some("Task" | "Agent")));
        if delegates && line["isSidechain"] != true {
            self.delegating = Some(message.id.clone());
        }
        message.rest = line;
        self.write(answer.place, message)
    }

    fn entry(&mut self, place: SourcePlace, kind: &str, mut line: Value) -> Result<(), InterchangeError> {
        match kind {
            "user" => self.user(place, line),
            "summary" | "custom-title" | "ai-title" => self.titled(place, kind, &line),
            "progress" => {
                self.importer.left_out(kind);
                let (id, parent) = (id_of(&line["uuid"]), id_of(&line["parentUuid"]));
                match id.zip(parent) {
                    Some((id, parent)) => self.importer.alias(&id, &parent),
                    None => Ok(()),
                }
            }
            _ if is_bookkeeping(&line) => {
                self.importer.left_out(kind);
                Ok(())
            }
            "attachment" if is_queued_prompt(&line["attachment"]) => {
                let prompt = line["attachment"].take_field("prompt");
                line["message"] = json!({ "role": "user", "content": prompt });
                self.user(place, line)
            }
            _ => self.note(place, kind, line),
        }
    }

    fn user(&mut self, place: SourcePlace, mut line: Value) -> Result<(), InterchangeError> {
        self.begin(&line)?;
        let uuid = id_of(&line["uuid"]).unwrap_or_else(|| place.to_string());
        let parent: SourceParent = id_of(&line["parentUuid"]).into();
        let at = time_of(&line["timestamp"]);
        let mut content = take_content(&mut line);
        let results = std::mem::take(&mut content.results);
        let last = results.len();
        let has_text = !content.text.is_empty() || last == 0;
        // The agent of a call is named with its result; its own file refers to it.
        let agent = id_of(&line["toolUseResult"]["agentId"]).map(|agent| format!("agent {agent}"));
        for (number, result) in (1..).zip(results) {
            let parsed = ParsedContent::of(&result["content"]);
            let call = text_of(&result["tool_use_id"]);
            let id = if number == last && !has_text { uuid.clone() } else { format!("{uuid}#{number}") };
            let message = SourceMessage {
                id,
                aliases: agent.clone().into_iter().collect(),
                parent: parent.clone(),
                role: SourceRole::Tool,
                tool_name: call.as_ref().and_then(|call| self.tools.get(call)).cloned(),
                call_id: call,
                text: parsed.text,
                raw: parsed.raw,
                has_failed: result["is_error"].as_bool().unwrap_or(false),
                at,
                rest: if number == last && !has_text { line.take() } else { Value::Null },
                ..SourceMessage::default()
            };
            self.write(place, message)?;
        }
        if !has_text {
            return Ok(());
        }
        let is_note = line["isMeta"] == true
            || line["isCompactSummary"] == true
            || !is_of_person(&line["origin"])
            || HARNESS_TEXTS.iter().any(|start| content.text.starts_with(start));
        let mut message = SourceMessage {
            id: uuid,
            parent,
            role: if is_note { SourceRole::Note } else { SourceRole::User },
            at,
            rest: line,
            ..SourceMessage::default()
        };
        content.into_message(&mut message);
        self.write(place, message)
    }

    /// Imports a line that is no message, such as a compaction. What follows it continues the path before it.
    fn note(&mut self, place: SourcePlace, kind: &str, line: Value) -> Result<(), InterchangeError> {
        self.begin(&line)?;
        let mut parent = id_of(&line["parentUuid"]);
        if let Some(logical) = id_of(&line["logicalParentUuid"]).filter(|_| parent.is_none()) {
            // A compaction that keeps the newest messages repeats them behind it, the logical parent too.
            parent = self.importer.knows(&logical)?.then_some(logical);
        }
        let is_placed = line["uuid"].is_string() && (parent.is_some() || line["logicalParentUuid"].is_null());
        let text = text_of(&line["content"]).or_else(|| text_of(&line["subtype"]));
        let message = SourceMessage {
            parent: if is_placed { parent.into() } else { SourceParent::Previous },
            id: id_of(&line["uuid"]).unwrap_or_else(|| format!("{} {place}", self.session_of(&line))),
            text: text.unwrap_or_else(|| kind.to_owned()),
            at: time_of(&line["timestamp"]),
            rest: line,
            ..SourceMessage::default()
        };
        self.write(place, message)
    }

    fn titled(&mut self, place: SourcePlace, kind: &str, line: &Value) -> Result<(), InterchangeError> {
        let title = ["customTitle", "aiTitle", "title", "summary"].iter().find_map(|name| text_of(&line[*name]));
        self.importer.left_out(kind);
        let Some(title) = title else { return Ok(()) };
        match id_of(&line["leafUuid"]) {
            // A summary can belong to the session of another file.
            Some(leaf) if !self.importer.knows(&leaf)? => {
                self.titles.insert(leaf, title);
                return Ok(());
            }
            _ => {}
        }
        let session = self.session_of(line);
        if kind == "custom-title" {
            self.named.insert(session.clone());
        } else if self.named.contains(&session) {
            return Ok(());
        }
        if self.begun.contains(&session) {
            self.begin(line)?;
            return self.importer.title(place, &title);
        }
        self.early_titles.insert(session, (place, title));
        Ok(())
    }

    /// Writes a message, unless a fork repeats it under another id.
    fn write(&mut self, place: SourcePlace, message: SourceMessage) -> Result<(), InterchangeError> {
        if let Some(original) = id_of(&message.rest["forkedFrom"]["messageUuid"])
            && self.importer.knows(&original)?
        {
            return self.importer.alias(&message.id, &original);
        }
        let title = self.titles.remove(&message.id);
        let is_named = title.is_some() && self.named.contains(&self.session_of(&message.rest));
        self.importer.message(place, message)?;
        match title {
            Some(title) if !is_named => self.importer.title(place, &title),
            _ => Ok(()),
        }
    }

    fn session_of(&self, line: &Value) -> String {
        id_of(&line["sessionId"]).unwrap_or_else(|| self.name.to_owned())
    }

    /// Begins or continues the conversation of a line.
    fn begin(&mut self, line: &Value) -> Result<(), InterchangeError> {
        let session = self.session_of(line);
        let mut conversation = SourceConversation {
            id: session.clone(),
            folder: text_of(&line["cwd"]),
            started_at: time_of(&line["timestamp"]),
            has_global_ids: true,
            ..SourceConversation::default()
        };
        if line["isSidechain"] == true {
            let agent = id_of(&line["agentId"]);
            let began_by = agent.as_ref().map(|agent| format!("agent {agent}")).or_else(|| self.delegating.clone());
            conversation.id = format!("{session}/{}", agent.unwrap_or_else(|| "side".to_owned()));
            conversation.parent = Some((session, began_by));
            return self.importer.conversation(conversation);
        }
        self.importer.conversation(conversation)?;
        let title = self.early_titles.remove(&session);
        self.begun.insert(session);
        match title {
            Some((place, title)) => self.importer.title(place, &title),
            None => Ok(()),
        }
    }
}

/// True for a line that holds no part of a conversation.
fn is_bookkeeping(line: &Value) -> bool {
    !line["uuid"].is_string() && line["message"].is_null()
}

/// True if a person wrote a message of this origin.
fn is_of_person(origin: &Value) -> bool {
    origin["kind"].as_str().is_none_or(|kind| kind == "human")
}

/// True for an attachment with a prompt that a person typed while the model was at work.
fn is_queued_prompt(attachment: &Value) -> bool {
    attachment["type"] == "queued_command"
        && attachment["commandMode"] != "task-notification"
        && attachment["isMeta"] != true
        && !attachment["prompt"].is_null()
        && is_of_person(&attachment["origin"])
}

/// Takes the content out of a line's message.
fn take_content(line: &mut Value) -> ParsedContent {
    let message = line.get_mut("message").and_then(Value::as_object_mut);
    let content = message.and_then(|message| message.remove("content")).unwrap_or_default();
    ParsedContent::of(&content)
}
