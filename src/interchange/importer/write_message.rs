//! Messages of an import: placed, compared with what is stored, appended.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::{
    Importer,
    known_messages::{MessageComparison, MessagePlace, key_of},
    names::{MAX_TITLE_CHARS, ROOT_KEY},
    open_conversation::{OpenConversation, PendingMark},
};
use crate::{
    id::{AgentId, NodeId, TreeId},
    interchange::{
        InterchangeError,
        source_record::{SourceMessage, SourceParent, SourcePlace, SourceRole},
    },
    store::{ChildFilter, Mutation},
    types::{AuthorType, EdgeKind, NewNode, Node, Parent, ToolCallFields, TreePatch, first_words},
};

/// Messages held back until the first reply, whose model becomes the agent of the session.
const MAX_HELD_MESSAGES: usize = 32;
/// Name of the agent whose messages name no model.
const UNNAMED_MODEL: &str = "assistant";

/// True for a line that starts with a slash and a name: `/model gpt-5`, but not `/tmp/a.png`.
fn is_slash_command(text: &str) -> bool {
    let name = text.strip_prefix('/').and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':');
    !name.is_empty() && name.chars().all(is_name) && !text.contains('\n')
}

impl SourceMessage {
    /// True for words of a user, which can title a conversation. A command of a program, as `/model`, is none.
    pub(super) fn is_prompt(&self) -> bool {
        let text = self.text.trim();
        self.role == SourceRole::User && !self.is_hidden && !text.is_empty() && !is_slash_command(text)
    }
}

impl Importer<'_> {
    /// Imports a message of the current conversation.
    pub(in crate::interchange) fn message(
        &mut self,
        place: SourcePlace,
        message: SourceMessage,
    ) -> Result<(), InterchangeError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(InterchangeError::Cancelled);
        }
        if self.batch.needs_flush() && self.reader.is_some() {
            self.reader = None;
            self.batch.flush()?;
        }
        self.messages += 1;
        match message.role {
            SourceRole::Note => self.batch.done.other += 1,
            _ => self.batch.done.messages += 1,
        }
        let Some(open) = self.open.last_mut() else {
            self.problem(place, "it precedes its conversation");
            return Ok(());
        };
        if open.model.is_none() {
            let model = message.model.clone();
            if model.is_none() && open.held.len() < MAX_HELD_MESSAGES {
                open.held.push((place, message));
                return Ok(());
            }
            open.model = Some(model);
            self.write_held()?;
        }
        self.write(place, message)
    }

    /// Writes the messages that were held back until the model was known.
    pub(super) fn write_held(&mut self) -> Result<(), InterchangeError> {
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        if open.model.is_none() {
            open.model = Some(None);
        }
        let held = std::mem::take(&mut open.held);
        let first = held.iter().map(|(_, message)| message).find(|message| message.is_prompt());
        let first = first.map(|message| first_words(&message.text, MAX_TITLE_CHARS));
        open.opening = open.opening.take().or(first);
        for (place, message) in held {
            self.write(place, message)?;
        }
        Ok(())
    }

    fn write(&mut self, place: SourcePlace, message: SourceMessage) -> Result<(), InterchangeError> {
        let Some(mut open) = self.open.pop() else { return Ok(()) };
        let written = self.write_in(place, message, &mut open);
        self.open.push(open);
        written
    }

    fn write_in(
        &mut self,
        place: SourcePlace,
        mut message: SourceMessage,
        open: &mut OpenConversation,
    ) -> Result<(), InterchangeError> {
        let digest = message.digest();
        let id = if message.id == ROOT_KEY { format!("{} ", message.id) } else { message.id.clone() };
        let source = self.source(&open.source, &id);
        open.last_at = message.at.max(open.last_at);
        if open.opening.is_none() && message.is_prompt() {
            open.opening = Some(first_words(&message.text, MAX_TITLE_CHARS));
        }
        let key = key_of(&source);
        let mut shown = None;
        let comparison = self.compare(key, &source, digest, open)?;
        let stored = match comparison {
            MessageComparison::Unchanged(known) => {
                self.batch.done.skipped += 1;
                known
            }
            MessageComparison::Changed(known) => {
                shown = self.append_version(place, &mut message, (known, digest), &source, open)?;
                known
            }
            MessageComparison::New => self.append_message(place, &mut message, (source, digest), open)?,
        };
        self.places.insert(key, stored);
        for alias in &message.aliases {
            let key = key_of(&self.source(&open.source, alias));
            self.places.insert(key, stored);
        }
        for call in message.calls.iter().filter_map(call_id) {
            let key = key_of(&self.source(&open.source, &format!("call {call}")));
            self.places.insert(key, MessagePlace { node: shown.unwrap_or(stored.node), ..stored });
        }
        open.last = Some(stored.attach);
        // A file that was imported before may have put the message into another tree, which the session is not in.
        let is_here = open.tree.is_none_or(|tree| tree == stored.tree);
        if is_here && matches!(message.role, SourceRole::User | SourceRole::Model | SourceRole::System) {
            open.newest = Some(stored.attach);
        }
        if matches!(comparison, MessageComparison::New) {
            let marks = message.bookmark.map(PendingMark::Bookmark).into_iter();
            let prune = message.is_pruned.then_some(PendingMark::Prune);
            open.marks.extend(marks.chain(prune).map(|mark| (place, id.clone(), mark)));
        }
        Ok(())
    }

    /// Returns the parent of a message, and its tree.
    fn parent(
        &mut self,
        place: SourcePlace,
        message: &SourceMessage,
        open: &mut OpenConversation,
    ) -> Result<(NodeId, TreeId), InterchangeError> {
        let named = match &message.parent {
            SourceParent::Root => None,
            SourceParent::Previous => open.last.zip(open.tree),
            SourceParent::Message(id) => {
                let key = self.source(&open.source, id);
                let found = self.find(&key, open)?.map(|parent| (parent.attach, parent.tree));
                if found.is_none() {
                    self.problem(place, format!("its parent {id:?} is missing; it hangs on the root"));
                }
                found
            }
        };
        match named {
            Some(named) => Ok(named),
            None => {
                let root = self.ensure_root(place, open)?;
                Ok((root, open.tree.unwrap_or_else(|| self.loom().tree_id())))
            }
        }
    }

    fn append_message(
        &mut self,
        place: SourcePlace,
        message: &mut SourceMessage,
        (source, digest): (String, u64),
        open: &mut OpenConversation,
    ) -> Result<MessagePlace, InterchangeError> {
        let (parent, tree) = self.parent(place, message, open)?;
        let caller = match &message.call_id {
            Some(call) if message.role == SourceRole::Tool => {
                let key = self.source(&open.source, &format!("call {call}"));
                self.places.get(key_of(&key)).filter(|caller| caller.tree == tree)
            }
            _ => None,
        };
        let id = self.loom().node_id();
        let author = match (message.role, &message.model, caller) {
            (SourceRole::Model, model, _) => self.agent(place, model.as_deref().unwrap_or(UNNAMED_MODEL))?,
            (SourceRole::Tool, _, Some(caller)) => caller.author,
            _ => self.actor.agent(),
        };
        let (parent, attach) = match message.role {
            SourceRole::User | SourceRole::Model | SourceRole::System => (parent, id),
            SourceRole::Tool => (caller.map_or(parent, |caller| caller.node), parent),
            SourceRole::Note => (parent, parent),
        };
        let kind = kind_of(message.role);
        if kind == EdgeKind::Continuation && self.continued.insert(parent, ()).is_some() {
            self.batch.done.branches += 1;
        }
        let title = message.is_prompt().then(|| first_words(&message.text, MAX_TITLE_CHARS));
        let node = self.node(message, (id, parent, kind), author, source, open);
        self.append(place, node, &message.thoughts, tree, open)?;
        if message.is_hidden {
            self.push(place, Mutation::SetExcluded { node: id, excluded: true })?;
        }
        if title.is_some() && !open.is_titled {
            open.is_titled = true;
            let title = Some(title);
            self.push(place, Mutation::UpdateTree { tree, patch: TreePatch { title, ..TreePatch::default() } })?;
        }
        Ok(MessagePlace { node: id, attach, tree, author, digest })
    }

    /// Appends a changed message as a version of the stored one, unless an earlier import did. Returns the version.
    fn append_version(
        &mut self,
        place: SourcePlace,
        message: &mut SourceMessage,
        (known, digest): (MessagePlace, u64),
        source: &str,
        open: &mut OpenConversation,
    ) -> Result<Option<NodeId>, InterchangeError> {
        let version_source = format!("{source}@{digest:016x}");
        let stored = self.find(&version_source, open)?;
        let base = self.stored_node(known.node)?;
        if self.is_dry_run && base.is_none() && stored.is_none() {
            // A dry run stored no message of this file.
            self.batch.done.versions += 1;
            self.batch.done.nodes += 1 + message.thoughts.len() as u64;
            self.remember(&version_source, known);
            return Ok(None);
        }
        let Some(base) = base.filter(|base| stored.is_none() && base.purged_at.is_none()) else {
            self.batch.done.skipped += 1;
            return Ok(stored.map(|version| version.node));
        };
        // A person's edit of the message has no results of its calls.
        let versions = self.reader()?.versions(base.id)?;
        let is_imported = |version: &Node| (version.author, version.author_type) == (base.author, base.author_type);
        let before = versions.into_iter().rfind(is_imported).unwrap_or_else(|| base.clone());
        let id = self.loom().node_id();
        let is_continuation = base.kind == EdgeKind::Continuation;
        let kind = if is_continuation { EdgeKind::Version } else { base.kind };
        let parent = base.parent.unwrap_or(base.id);
        let node = NewNode {
            version_of: is_continuation.then_some(base.id),
            edited_from: Some(base.id),
            ..self.node(message, (id, parent, kind), known.author, version_source.clone(), open)
        };
        self.append(place, node, &message.thoughts, known.tree, open)?;
        self.batch.done.versions += 1;
        self.places.insert(key_of(&version_source), MessagePlace { node: id, ..known });
        self.carry_over(place, &before, id)?;
        Ok(Some(id))
    }

    /// Gives a version what the one before it has: the results of its calls, and that models do not read it.
    fn carry_over(&mut self, place: SourcePlace, before: &Node, version: NodeId) -> Result<(), InterchangeError> {
        let filter = ChildFilter::default().kind(EdgeKind::Tool);
        for result in self.reader()?.children(before.id, &filter)? {
            let (id, author) = (self.loom().node_id(), (result.author, result.author_type));
            let copy = NewNode {
                kind: EdgeKind::Tool,
                raw: result.raw,
                tool: result.tool,
                tokens: result.tokens,
                metadata: result.metadata,
                ..NewNode::new(id, Parent::Node(version), author, result.created_at, result.content)
            };
            self.push(place, Mutation::Append(Box::new(copy)))?;
        }
        if before.state.excluded {
            self.push(place, Mutation::SetExcluded { node: version, excluded: true })?;
        }
        Ok(())
    }

    /// Reads a node that this import may have appended.
    fn stored_node(&mut self, id: NodeId) -> Result<Option<Node>, InterchangeError> {
        if let Some(node) = self.reader()?.node(id)? {
            return Ok(Some(node));
        }
        if self.is_dry_run {
            return Ok(None);
        }
        self.batch.flush()?;
        self.reader = None;
        Ok(self.reader()?.node(id)?)
    }

    /// Moves the content of a message into a node.
    fn node(
        &mut self,
        message: &mut SourceMessage,
        (id, parent, kind): (NodeId, NodeId, EdgeKind),
        author: AgentId,
        source: String,
        open: &OpenConversation,
    ) -> NewNode {
        let at = message.at.or(open.last_at).unwrap_or_else(|| self.loom().now());
        let author_type = match message.role {
            SourceRole::User => AuthorType::Human,
            SourceRole::Model => AuthorType::Model,
            SourceRole::Tool => AuthorType::Tool,
            SourceRole::System | SourceRole::Note => AuthorType::System,
        };
        let mut metadata = serde_json::Map::new();
        if !message.rest.is_null() {
            metadata.insert(self.format.to_owned(), message.rest.take());
        }
        if message.has_failed {
            metadata.insert("failed".to_owned(), true.into());
        }
        NewNode {
            kind,
            raw: message.raw.take(),
            tool: ToolCallFields {
                calls: (!message.calls.is_empty()).then(|| json!(message.calls).into()),
                call_id: message.call_id.clone(),
                name: message.tool_name.clone(),
            },
            tokens: message.tokens.filter(|tokens| *tokens > 0),
            interrupted: message.is_interrupted,
            metadata: (!metadata.is_empty()).then(|| Value::Object(metadata).into()),
            source: Some(source),
            ..NewNode::new(id, Parent::Node(parent), (author, author_type), at, std::mem::take(&mut message.text))
        }
    }

    /// Appends a node and its thoughts as the next turns of the session.
    fn append(
        &mut self,
        place: SourcePlace,
        mut node: NewNode,
        thoughts: &[String],
        tree: TreeId,
        open: &mut OpenConversation,
    ) -> Result<(), InterchangeError> {
        let session = self.ensure_session(place, open, tree)?;
        let mut turn = || {
            session.map(|session| {
                open.turns += 1;
                (session, open.turns)
            })
        };
        node.turn = turn();
        let author = (node.author, node.author_type);
        let (id, at) = (node.id, node.created_at);
        self.push(place, Mutation::Append(Box::new(node)))?;
        for thought in thoughts {
            let thought = NewNode {
                kind: EdgeKind::Thought,
                turn: turn(),
                ..NewNode::new(self.loom().node_id(), Parent::Node(id), author, at, thought.clone())
            };
            self.push(place, Mutation::Append(Box::new(thought)))?;
        }
        open.new_nodes += 1;
        Ok(())
    }
}

fn kind_of(role: SourceRole) -> EdgeKind {
    match role {
        SourceRole::User | SourceRole::Model | SourceRole::System => EdgeKind::Continuation,
        SourceRole::Tool => EdgeKind::Tool,
        SourceRole::Note => EdgeKind::Context,
    }
}

/// Id of a tool call in any format.
fn call_id(call: &Value) -> Option<&str> {
    ["call_id", "id", "callID", "toolCallId"].iter().find_map(|name| call[*name].as_str())
}
