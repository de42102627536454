//! Lookup of messages by their sources: among those that this import placed, and in the store.

use super::{
    conversation_writer::Importer,
    open_conversation::OpenConversation,
    write_message::{digest, key_of},
};
use crate::{
    id::{AgentId, NodeId, TreeId},
    interchange::InterchangeError,
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

    pub(super) fn find_key(
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
