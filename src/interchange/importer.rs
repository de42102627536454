//! Importer of foreign conversations: turns the records of a reader into trees, sessions and nodes. This file begins and
//! finishes conversations.
//!
//! Each conversation becomes a tree with a root that contexts exclude, and a session with numbered turns. Every node has
//! its source in the table `sources`, so a repeated import finds it: an unchanged message is skipped, a changed one
//! becomes a version, a new one is appended. A tree is created with the first message, so an empty conversation leaves
//! nothing. Memory is bounded: older messages are looked up in the store.

mod known_messages;
mod names;
mod open_conversation;
mod recent_keys;
mod session;
mod tree_root;
mod write_message;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::atomic::AtomicBool,
};

use self::{
    known_messages::MessagePlace,
    names::{MAX_TITLE_CHARS, ROOT_KEY},
    open_conversation::{OpenConversation, PendingMark},
    recent_keys::RecentMap,
};
use super::{
    Imported, InterchangeError,
    source_record::{SourceConversation, SourcePlace},
    write_batch::ImportBatch,
};
use crate::{
    id::{AgentId, NodeId, TreeId},
    ops::{Actor, Loom},
    store::{Mutation, Snapshot},
    types::{SessionPatch, Tree, TreePatch, first_words},
};

/// Conversations whose state is in memory. Files may interleave some.
const MAX_OPEN_CONVERSATIONS: usize = 256;
const MAX_KIND_CHARS: usize = 60;
const MAX_LEFT_OUT_KINDS: usize = 40;

/// An import of conversations of one format.
pub(super) struct Importer<'a> {
    actor: &'a Actor,
    batch: ImportBatch<'a>,
    format: &'static str,
    is_dry_run: bool,
    trees: BTreeSet<TreeId>,
    /// Open conversations, the current one last.
    open: Vec<OpenConversation>,
    places: RecentMap<u128, MessagePlace>,
    /// Nodes that have a continuation, to count branches.
    continued: RecentMap<NodeId, ()>,
    agents: BTreeMap<String, AgentId>,
    reader: Option<(Box<dyn Snapshot + 'a>, u64)>,
    messages: u64,
    cancel: &'a AtomicBool,
}

impl<'a> Importer<'a> {
    /// Begins an import. A dry run counts and writes nothing.
    pub(super) fn new(
        actor: &'a Actor,
        name: &str,
        format: &'static str,
        is_dry_run: bool,
        cancel: &'a AtomicBool,
    ) -> Self {
        Self {
            cancel,
            actor,
            batch: ImportBatch::new(actor, name, format, is_dry_run),
            format,
            is_dry_run,
            trees: BTreeSet::new(),
            open: Vec::new(),
            places: RecentMap::new(),
            continued: RecentMap::new(),
            agents: BTreeMap::new(),
            reader: None,
            messages: 0,
        }
    }

    /// Begins a conversation, or continues one. Messages that follow belong to it.
    pub(super) fn conversation(&mut self, source: SourceConversation) -> Result<(), InterchangeError> {
        if let Some(at) = self.open.iter().rposition(|open| open.source.id == source.id) {
            let open = self.open.remove(at);
            self.open.push(open);
            return Ok(());
        }
        self.batch.done.conversations += 1;
        if self.open.len() >= MAX_OPEN_CONVERSATIONS {
            let oldest = self.open.remove(0);
            self.finish_conversation(oldest)?;
        }
        let mut open = OpenConversation::new(source);
        let root_source = self.source(&open.source, ROOT_KEY);
        if self.known_place(&root_source).is_some() {
            // This import created it, and it was closed since.
            self.batch.flush()?;
            self.reader = None;
        }
        if let Some(root) = self.stored_place(&root_source)? {
            (open.tree, open.root, open.is_fresh) = (Some(root.tree), Some(root.node), false);
            open.is_titled = true;
            self.find_session(&mut open, root.tree)?;
            self.batch.done.skipped += 1;
        }
        self.open.push(open);
        Ok(())
    }

    /// Sets the title of the current conversation. A conversation of an earlier import keeps its title, unless that is the
    /// first words of its first message.
    pub(super) fn title(&mut self, place: SourcePlace, title: &str) -> Result<(), InterchangeError> {
        let Some(open) = self.open.last_mut().filter(|_| !title.trim().is_empty()) else {
            return Ok(());
        };
        let title = first_words(title, MAX_TITLE_CHARS);
        if !open.is_fresh {
            open.later_title = Some((place, title));
            return Ok(());
        }
        open.is_titled = true;
        if let (Some(tree), Some(_)) = (open.tree, open.root) {
            let patch = TreePatch { title: Some(Some(title.clone())), ..TreePatch::default() };
            self.push(place, Mutation::UpdateTree { tree, patch })?;
        }
        if let Some(open) = self.open.last_mut() {
            open.source.title = Some(title);
        }
        Ok(())
    }

    /// Bookmarks a message of the current conversation.
    pub(super) fn bookmark(&mut self, place: SourcePlace, message: String, label: String) {
        if let Some(open) = self.open.last_mut() {
            open.marks.push((place, message, PendingMark::Bookmark(label)));
        }
    }

    /// Sets the message that the user of the source was at.
    pub(super) fn position(&mut self, message: String) {
        if let Some(open) = self.open.last_mut() {
            open.position = Some(message);
        }
    }

    /// Records a problem of a place.
    pub(super) fn problem(&mut self, place: SourcePlace, what: impl std::fmt::Display) {
        self.batch.problem(place, what);
    }

    /// Counts an entry that is not imported, by its kind.
    pub(super) fn left_out(&mut self, kind: &str) {
        let kinds = &mut self.batch.done.left_out;
        let kind: String = kind.chars().take(MAX_KIND_CHARS).collect();
        if kinds.len() < MAX_LEFT_OUT_KINDS || kinds.contains_key(&kind) {
            *kinds.entry(kind).or_default() += 1;
        }
    }

    /// Ends the import after its file was read, or until it was cancelled: writes the rest and returns the result.
    pub(super) fn complete(mut self, read: Result<(), InterchangeError>) -> Result<Imported, InterchangeError> {
        let failure = match read {
            Ok(()) | Err(InterchangeError::Cancelled) => None,
            Err(InterchangeError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                self.problem(SourcePlace::Whole, format!("the rest of the file cannot be read: {error}"));
                None
            }
            // The conversations so far are completed all the same.
            Err(error @ InterchangeError::Io(_)) => Some(error),
            Err(error) => return Err(error),
        };
        for open in std::mem::take(&mut self.open) {
            self.finish_conversation(open)?;
        }
        self.batch.flush()?;
        failure.map_or(Ok(self.batch.done), Err)
    }

    fn finish_conversation(&mut self, open: OpenConversation) -> Result<(), InterchangeError> {
        self.open.push(open);
        self.write_held()?;
        let Some(mut open) = self.open.pop() else { return Ok(()) };
        for (place, message, mark) in std::mem::take(&mut open.marks) {
            let key = self.source(&open.source, &message);
            let Some(found) = self.find(&key, &open)? else { continue };
            match mark {
                PendingMark::Bookmark(label) => {
                    let label = Some(label).filter(|label| !label.is_empty());
                    self.push(place, Mutation::SetBookmark { node: found.node, label })?;
                }
                PendingMark::Prune => self.push(place, Mutation::Prune { node: found.node })?,
            }
        }
        let Some(tree) = open.tree else { return Ok(()) };
        if self.trees.insert(tree) {
            self.batch.done.trees.push(tree);
        }
        if let Some((place, title)) = open.later_title.take() {
            let is_automatic = |stored: &Tree| !stored.titled || Some(&stored.title) == open.opening.as_ref();
            let stored = self.reader()?.tree(tree)?;
            if stored.is_some_and(|stored| stored.title != title && is_automatic(&stored)) {
                let patch = TreePatch { title: Some(Some(title)), ..TreePatch::default() };
                self.push(place, Mutation::UpdateTree { tree, patch })?;
            }
        }
        let Some(session) = open.session else { return Ok(()) };
        let wanted = match &open.position {
            Some(message) => {
                let key = self.source(&open.source, message);
                self.find(&key, &open)?.filter(|place| place.tree == tree).map(|place| place.attach)
            }
            None => None,
        };
        let position = wanted.or(open.newest);
        // A session that its user moved on from the imported messages stays there.
        let is_moved = match open.stored_position {
            Some(stored) => open.new_nodes == 0 || self.reader()?.sources_of(stored)?.is_empty(),
            None => false,
        };
        if position.is_some() && !is_moved {
            let patch = SessionPatch { position, active_at: open.last_at, ..SessionPatch::default() };
            self.push(SourcePlace::Line(0), Mutation::UpdateSession { session, patch })?;
        }
        Ok(())
    }

    fn loom(&self) -> &'a Loom {
        self.actor.loom()
    }

    fn push(&mut self, place: SourcePlace, mutation: Mutation) -> Result<(), InterchangeError> {
        self.batch.push(place, mutation)
    }
}
