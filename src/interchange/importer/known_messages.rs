//! Messages that are known by their sources: those that this import placed, and those of the store. The comparison with
//! them decides whether a message is skipped, becomes a version or is appended.

use serde_json::json;

use super::{Importer, open_conversation::OpenConversation};
use crate::{
    id::{AgentId, NodeId, TreeId},
    interchange::{InterchangeError, source_record::SourceMessage},
    store::Snapshot,
    types::EdgeKind,
};

/// Messages after which lookups read a newer state of the store.
const MAX_SNAPSHOT_MESSAGES: u64 = 4_096;

/// Stored place of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessagePlace {
    pub(super) node: NodeId,
    /// Parent of the messages that follow.
    pub(super) attach: NodeId,
    pub(super) tree: TreeId,
    pub(super) author: AgentId,
    /// Digest of the content, to detect a change.
    pub(super) digest: u64,
}

/// A message compared with the one of its source.
#[derive(Debug, Clone, Copy)]
pub(super) enum MessageComparison {
    /// It has the same content, so it is skipped.
    Unchanged(MessagePlace),
    /// It has another content, so it becomes a version.
    Changed(MessagePlace),
    /// Its source is unknown, so it is appended.
    New,
}

impl SourceMessage {
    /// True if the message has this id.
    pub(super) fn is_named(&self, id: &str) -> bool {
        self.id == id || self.aliases.iter().any(|alias| alias == id)
    }

    pub(super) fn digest(&self) -> u64 {
        let calls = (!self.calls.is_empty() && self.raw.is_none()).then(|| json!(self.calls).to_string());
        digest(&self.text, self.raw.as_deref().or(calls.as_deref()))
    }
}

/// Returns a digest of a content: its text, and its JSON or, without one, that of its calls.
fn digest(text: &str, json: Option<&str>) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    json.map(|json| hasher.update(json.as_bytes()));
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}

pub(super) fn key_of(source: &str) -> u128 {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&blake3::hash(source.as_bytes()).as_bytes()[..16]);
    u128::from_le_bytes(bytes)
}

impl Importer<'_> {
    /// Returns a recent snapshot of the store. It lacks at most the newest messages, which are in `places`.
    pub(super) fn reader(&mut self) -> Result<&dyn Snapshot, InterchangeError> {
        if self.reader.as_ref().is_some_and(|(_, at)| self.messages > at + MAX_SNAPSHOT_MESSAGES) {
            self.reader = None;
        }
        let reader = match self.reader.take() {
            Some(reader) => reader,
            None => (self.loom().snapshot()?, self.messages),
        };
        Ok(&*self.reader.insert(reader).0)
    }

    /// Finds a message by its source, in this import or in the store.
    pub(super) fn find(
        &mut self,
        source: &str,
        open: &OpenConversation,
    ) -> Result<Option<MessagePlace>, InterchangeError> {
        self.find_key(key_of(source), source, open)
    }

    /// Compares a message with the one of its source, by the digests of their contents.
    pub(super) fn compare(
        &mut self,
        key: u128,
        source: &str,
        digest: u64,
        open: &OpenConversation,
    ) -> Result<MessageComparison, InterchangeError> {
        Ok(match self.find_key(key, source, open)? {
            Some(known) if known.digest == digest => MessageComparison::Unchanged(known),
            Some(known) => MessageComparison::Changed(known),
            None => MessageComparison::New,
        })
    }

    fn find_key(
        &mut self,
        key: u128,
        source: &str,
        open: &OpenConversation,
    ) -> Result<Option<MessagePlace>, InterchangeError> {
        if let Some(found) = self.places.get(key) {
            return Ok(Some(found));
        }
        if open.is_fresh && !open.source.has_global_ids && !self.places.has_forgotten() {
            return Ok(None);
        }
        self.stored_place(source)
    }

    /// Returns the place of a message that this import placed, and remembers.
    pub(super) fn known_place(&self, source: &str) -> Option<MessagePlace> {
        self.places.get(key_of(source))
    }

    pub(super) fn remember(&mut self, source: &str, place: MessagePlace) {
        self.places.insert(key_of(source), place);
    }

    /// Finds a message of an earlier import by its source.
    pub(super) fn stored_place(&mut self, source: &str) -> Result<Option<MessagePlace>, InterchangeError> {
        let reader = self.reader()?;
        let Some(id) = reader.source(source)? else { return Ok(None) };
        let Some(node) = reader.node(id)? else { return Ok(None) };
        let mut attach = node.clone();
        while !matches!(attach.kind, EdgeKind::Continuation | EdgeKind::Version) {
            let Some(parent) = attach.parent.map(|parent| reader.node(parent)).transpose()?.flatten() else { break };
            attach = parent;
        }
        if attach.state.continuations > 0 {
            self.continued.insert(attach.version_of.unwrap_or(attach.id), ());
        }
        let found = MessagePlace {
            node: id,
            attach: attach.version_of.unwrap_or(attach.id),
            tree: node.tree,
            author: node.author,
            digest: digest(&node.content, node.raw.as_deref().or(node.tool.calls.as_ref().map(|calls| calls.as_str()))),
        };
        self.remember(source, found);
        Ok(Some(found))
    }

    /// True if a message of the current conversation is known.
    pub(in crate::interchange) fn knows(&mut self, id: &str) -> Result<bool, InterchangeError> {
        let Some(open) = self.open.pop() else { return Ok(false) };
        if open.held.iter().any(|(_, held)| held.is_named(id)) {
            self.open.push(open);
            return Ok(true);
        }
        let source = self.source(&open.source, id);
        let found = self.find(&source, &open);
        self.open.push(open);
        Ok(found?.is_some())
    }

    /// Gives a message of the current conversation a further id, by which messages name it as their parent.
    pub(in crate::interchange) fn alias(&mut self, id: &str, of: &str) -> Result<(), InterchangeError> {
        let Some(mut open) = self.open.pop() else { return Ok(()) };
        if let Some((_, held)) = open.held.iter_mut().find(|(_, held)| held.is_named(of)) {
            held.aliases.push(id.to_owned());
            self.open.push(open);
            return Ok(());
        }
        let (alias, source) = (self.source(&open.source, id), self.source(&open.source, of));
        let found = self.find(&source, &open);
        self.open.push(open);
        if let Some(place) = found? {
            self.remember(&alias, place);
        }
        Ok(())
    }
}
