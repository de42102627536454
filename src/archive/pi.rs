//! Import of pi's session JSONL, versions 1 to 3.
//!
//! The session header becomes the root, which contexts exclude. Each message becomes a node. Tool results become `tool`
//! children of the message that made the calls, and the entry after a result becomes a child of that message. Thinking
//! becomes a `thought` child. Other entries become `context` children at their position. Fields that are not content
//! are stored unchanged as metadata.

use std::collections::HashMap;

use jiff::Timestamp as Moment;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ArchiveError, Imported, SourceLine, SourceLines, batch::ImportBatch};
use crate::{
    id::{AgentId, NodeId, TreeId},
    ops::Actor,
    store::Mutation,
    types::{
        AgentKind, AuthorType, EdgeKind, Mode, NewAgent, NewNode, NewTree, Parent, Permissions, Timestamp,
        ToolCallFields, TreePatch, first_words,
    },
};

#[derive(Deserialize)]
struct PiEntry {
    r#type: String,
    id: Option<String>,
    #[serde(rename = "parentId")]
    parent: Option<String>,
    timestamp: Option<String>,
    message: Option<Value>,
    #[serde(flatten)]
    rest: serde_json::Map<String, Value>,
}

pub(super) fn import(actor: &Actor, first: &SourceLine, lines: &mut SourceLines<'_>) -> Result<Imported, ArchiveError> {
    let header: Value =
        serde_json::from_str(&first.text).map_err(|e| ArchiveError::Format(format!("{}: {e}", lines.name)))?;
    let session = header["id"].as_str().unwrap_or(lines.name).to_owned();
    let mut import = PiImport {
        actor,
        batch: ImportBatch::new(actor, lines.name, "pi"),
        chained: header["version"].as_u64().unwrap_or(1) < 2,
        session,
        tree: actor.loom().tree_id(),
        root: actor.loom().node_id(),
        fresh: true,
        titled: false,
        agents: HashMap::new(),
        attach: HashMap::new(),
        nodes: HashMap::new(),
        calls: HashMap::new(),
        last: None,
        speaker: actor.agent(),
    };
    import.begin(first.number, &header)?;
    while let Some(line) = lines.next()? {
        match serde_json::from_str::<PiEntry>(&line.text) {
            Ok(entry) => import.entry(line.number, entry)?,
            Err(error) => import.batch.problem(line.number, error),
        }
    }
    import.batch.flush()?;
    import.batch.done.trees.push(import.tree);
    Ok(import.batch.done)
}

struct PiImport<'a> {
    actor: &'a Actor,
    batch: ImportBatch<'a>,
    /// Version 1: entries have no ids, and each follows the previous one.
    chained: bool,
    session: String,
    tree: TreeId,
    root: NodeId,
    /// True if this import creates the tree.
    fresh: bool,
    titled: bool,
    /// Agents by `provider:model`.
    agents: HashMap<String, AgentId>,
    /// Parent for the successors of an entry, by entry id.
    attach: HashMap<String, NodeId>,
    /// Node of each entry, by entry id.
    nodes: HashMap<String, NodeId>,
    /// Message and author of each tool call, by call id.
    calls: HashMap<String, (NodeId, AgentId)>,
    /// Parent of the next entry in a file without ids.
    last: Option<NodeId>,
    /// Agent of the last model message.
    speaker: AgentId,
}

impl PiImport<'_> {
    fn source(&self, entry: &str) -> String {
        format!("pi:{}:{entry}", self.session)
    }

    /// Creates the tree and its root from the session header.
    fn begin(&mut self, place: u64, header: &Value) -> Result<(), ArchiveError> {
        let source = self.source("session");
        let snapshot = self.actor.loom().snapshot()?;
        if let Some(root) = snapshot.source(&source)?
            && let Some(node) = snapshot.node(root)?
        {
            (self.tree, self.root, self.fresh) = (node.tree, root, false);
            self.titled = snapshot.tree(node.tree)?.is_some_and(|t| t.titled);
            self.batch.done.skipped += 1;
        }
        drop(snapshot);
        self.last = Some(self.root);
        if !self.fresh {
            return Ok(());
        }
        let at = header["timestamp"].as_str().and_then(moment).unwrap_or_else(|| self.actor.loom().now());
        self.batch.push(
            place,
            Mutation::CreateTree(NewTree {
                id: self.tree,
                title: None,
                description: Some(format!("pi session {} in {}", self.session, header["cwd"].as_str().unwrap_or("?"))),
                mode: Mode::Dialogue,
                system_context: None,
                created_at: at,
            }),
        )?;
        let author = (self.actor.agent(), AuthorType::System);
        let root = NewNode {
            metadata: Some(json!({ "pi": header }).into()),
            source: Some(source),
            ..NewNode::new(self.root, Parent::Root(self.tree), author, at, format!("pi session {}", self.session))
        };
        self.batch.push(place, Mutation::Append(Box::new(root)))?;
        self.batch.push(place, Mutation::SetExcluded { node: self.root, excluded: true })
    }

    fn entry(&mut self, place: u64, entry: PiEntry) -> Result<(), ArchiveError> {
        let key = entry.id.clone().unwrap_or_else(|| format!("line {place}"));
        let parent = match (&entry.parent, self.chained) {
            (_, true) => self.last.unwrap_or(self.root),
            (None, false) => self.root,
            (Some(parent), false) => match self.attach.get(parent) {
                Some(node) => *node,
                None => {
                    self.batch.problem(place, format!("its parent {parent:?} is missing; it hangs on the root"));
                    self.root
                }
            },
        };
        let is_message = entry.r#type == "message" && entry.message.is_some();
        if is_message {
            self.batch.done.messages += 1;
        } else {
            self.batch.done.other += 1;
        }
        let known = if self.fresh { None } else { self.actor.loom().snapshot()?.source(&self.source(&key))? };
        let (node, follows) = if is_message {
            self.message(place, &key, parent, entry, known)?
        } else {
            self.other(place, &key, parent, entry, known)?
        };
        self.nodes.insert(key.clone(), node);
        self.attach.insert(key, follows);
        self.last = Some(follows);
        Ok(())
    }

    /// Imports a message. Returns its node and the parent for its successors.
    fn message(
        &mut self,
        place: u64,
        key: &str,
        parent: NodeId,
        entry: PiEntry,
        known: Option<NodeId>,
    ) -> Result<(NodeId, NodeId), ArchiveError> {
        let message = entry.message.unwrap_or_default();
        let role = message["role"].as_str().unwrap_or("").to_owned();
        let id = known.unwrap_or_else(|| self.actor.loom().node_id());
        let at = message["timestamp"]
            .as_i64()
            .map(Timestamp::from_millis)
            .or_else(|| entry.timestamp.as_deref().and_then(moment))
            .unwrap_or_else(|| self.actor.loom().now());
        let owner = self.actor.agent();
        let answered = message["toolCallId"].as_str().and_then(|call| self.calls.get(call)).copied();
        let (author, parent, kind, follows) = match role.as_str() {
            "assistant" => {
                self.speaker = self.agent(place, &message)?;
                ((self.speaker, AuthorType::Model), parent, EdgeKind::Continuation, id)
            }
            "toolResult" => {
                let (caller, agent) = answered.unwrap_or((parent, self.speaker));
                ((agent, AuthorType::Tool), caller, EdgeKind::Tool, parent)
            }
            "bashExecution" => ((owner, AuthorType::Tool), parent, EdgeKind::Continuation, id),
            "user" => ((owner, AuthorType::Human), parent, EdgeKind::Continuation, id),
            _ => ((owner, AuthorType::System), parent, EdgeKind::Context, parent),
        };
        let said = PiMessage::of(&message);
        for call in said.calls.iter().filter_map(|c| c["id"].as_str()) {
            self.calls.insert(call.to_owned(), (id, author.0));
        }
        if known.is_some() {
            self.batch.done.skipped += 1;
            return Ok((id, follows));
        }
        if role == "user" && !self.titled && !said.text.trim().is_empty() {
            self.titled = true;
            let title = Some(Some(first_words(&said.text, 60)));
            let patch = TreePatch { title, ..TreePatch::default() };
            self.batch.push(place, Mutation::UpdateTree { tree: self.tree, patch })?;
        }
        let mut rest = entry.rest;
        rest.insert("type".to_owned(), "message".into());
        rest.extend(entry.id.map(|id| ("id".to_owned(), id.into())));
        rest.extend(entry.parent.map(|id| ("parentId".to_owned(), id.into())));
        rest.extend(entry.timestamp.map(|at| ("timestamp".to_owned(), at.into())));
        let mut kept = message.clone();
        if let Some(kept) = kept.as_object_mut() {
            kept.remove("content");
        }
        rest.insert("message".to_owned(), kept);
        let node = NewNode {
            kind,
            raw: said.raw,
            tool: ToolCallFields {
                calls: (!said.calls.is_empty()).then(|| Value::Array(said.calls).into()),
                call_id: message["toolCallId"].as_str().map(str::to_owned),
                name: message["toolName"].as_str().map(str::to_owned),
            },
            tokens: message["usage"]["output"].as_u64().filter(|n| *n > 0).and_then(|n| u32::try_from(n).ok()),
            interrupted: matches!(message["stopReason"].as_str(), Some("aborted" | "error")),
            metadata: Some(json!({ "pi": rest }).into()),
            source: Some(self.source(key)),
            ..NewNode::new(id, Parent::Node(parent), author, at, said.text)
        };
        self.batch.push(place, Mutation::Append(Box::new(node)))?;
        for thought in said.thoughts {
            let thought = NewNode {
                kind: EdgeKind::Thought,
                ..NewNode::new(self.actor.loom().node_id(), Parent::Node(id), author, at, thought)
            };
            self.batch.push(place, Mutation::Append(Box::new(thought)))?;
        }
        Ok((id, follows))
    }

    /// Imports an entry that is not a message.
    fn other(
        &mut self,
        place: u64,
        key: &str,
        parent: NodeId,
        entry: PiEntry,
        known: Option<NodeId>,
    ) -> Result<(NodeId, NodeId), ArchiveError> {
        if let Some(known) = known {
            self.batch.done.skipped += 1;
            return Ok((known, parent));
        }
        let word = |name: &str| entry.rest.get(name).and_then(Value::as_str).unwrap_or("");
        let text = match entry.r#type.as_str() {
            "model_change" => format!("model: {}:{}", word("provider"), word("modelId")),
            "thinking_level_change" => format!("thinking level: {}", word("thinkingLevel")),
            "session_info" => format!("session name: {}", word("name")),
            "label" => format!("label: {}", word("label")),
            "compaction" | "branch_summary" => word("summary").to_owned(),
            other => other.to_owned(),
        };
        if entry.r#type == "session_info" && !word("name").is_empty() {
            self.titled = true;
            let patch = TreePatch { title: Some(Some(word("name").to_owned())), ..TreePatch::default() };
            self.batch.push(place, Mutation::UpdateTree { tree: self.tree, patch })?;
        }
        if entry.r#type == "label"
            && let Some(target) = self.nodes.get(word("targetId"))
        {
            let label = Some(word("label").to_owned()).filter(|l| !l.is_empty());
            self.batch.push(place, Mutation::SetBookmark { node: *target, label })?;
        }
        let at = entry.timestamp.as_deref().and_then(moment).unwrap_or_else(|| self.actor.loom().now());
        let id = self.actor.loom().node_id();
        let mut rest = entry.rest;
        rest.insert("type".to_owned(), entry.r#type.into());
        rest.extend(entry.id.map(|id| ("id".to_owned(), id.into())));
        rest.extend(entry.parent.map(|id| ("parentId".to_owned(), id.into())));
        rest.extend(entry.timestamp.map(|at| ("timestamp".to_owned(), at.into())));
        rest.extend(entry.message.map(|message| ("message".to_owned(), message)));
        let node = NewNode {
            kind: EdgeKind::Context,
            metadata: Some(json!({ "pi": rest }).into()),
            source: Some(self.source(key)),
            ..NewNode::new(id, Parent::Node(parent), (self.actor.agent(), AuthorType::System), at, text)
        };
        self.batch.push(place, Mutation::Append(Box::new(node)))?;
        Ok((id, parent))
    }

    /// Returns the agent of a message's model and creates it if missing.
    fn agent(&mut self, place: u64, message: &Value) -> Result<AgentId, ArchiveError> {
        let model = message["model"].as_str().unwrap_or("unknown");
        let reference = format!("{}:{model}", message["provider"].as_str().unwrap_or("unknown"));
        if let Some(agent) = self.agents.get(&reference) {
            return Ok(*agent);
        }
        let here = self.actor.loom().snapshot()?.agents()?;
        let same =
            here.iter().find(|a| !a.removed && a.profile.model.as_deref() == Some(&reference) && a.name() == reference);
        let id = if let Some(agent) = same {
            agent.id()
        } else {
            let profile = NewAgent {
                id: self.actor.loom().agent_id(),
                name: reference.clone(),
                kind: AgentKind::Model,
                model: Some(reference.clone()),
                system_prompt: None,
                temperature: None,
                max_tokens: None,
                stop: Vec::new(),
                permissions: Permissions::default(),
            };
            let id = profile.id;
            let create = vec![Mutation::CreateAgent(profile)];
            self.batch.commit_as(place, self.actor.agent(), self.actor.loom().now(), create)?;
            id
        };
        self.agents.insert(reference, id);
        Ok(id)
    }
}

/// Parsed content of a message.
struct PiMessage {
    text: String,
    thoughts: Vec<String>,
    calls: Vec<Value>,
    /// Original content, if it is more than one text.
    raw: Option<String>,
}

impl PiMessage {
    fn of(message: &Value) -> Self {
        let mut said = Self { text: String::new(), thoughts: Vec::new(), calls: Vec::new(), raw: None };
        let content = &message["content"];
        let blocks = match content {
            Value::String(text) => {
                said.text.clone_from(text);
                return said;
            }
            Value::Array(blocks) => blocks.as_slice(),
            _ => &[],
        };
        let mut parts: Vec<String> = Vec::new();
        for block in blocks {
            match block["type"].as_str() {
                Some("text") => parts.extend(block["text"].as_str().map(str::to_owned)),
                Some("thinking") => said.thoughts.extend(block["thinking"].as_str().map(str::to_owned)),
                Some("toolCall") => said.calls.push(block.clone()),
                Some(other) => parts.push(format!("[{other}]")),
                None => {}
            }
        }
        let plain =
            matches!(blocks, [block] if block["type"] == "text" && block.as_object().is_some_and(|b| b.len() == 2));
        if !plain && !blocks.is_empty() {
            said.raw = Some(content.to_string());
        }
        if let (true, Some(command)) = (parts.is_empty(), message["command"].as_str()) {
            parts.push(format!("$ {command}\n{}", message["output"].as_str().unwrap_or("")));
        }
        said.text = parts.join("\n");
        said
    }
}

fn moment(text: &str) -> Option<Timestamp> {
    text.parse::<Moment>().ok().map(|m| Timestamp::from_millis(m.as_millisecond()))
}
