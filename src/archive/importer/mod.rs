//! Writer of foreign conversations: turns the records of a reader into trees, sessions and nodes.
//!
//! Each conversation becomes a tree with a root that contexts exclude, and a session with numbered turns. Every node has
//! its source in the table `sources`, so a repeated import finds it: an unchanged message is skipped, a changed one
//! becomes a version, a new one is appended. A tree is created with the first message, so an empty conversation leaves
//! nothing. Memory is bounded: older messages are looked up in the store.

mod lookup;
mod message;
mod names;
mod recent;
mod session;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use recent::RecentMap;
use serde_json::json;

use super::{
    ArchiveError, Imported,
    batch::ImportBatch,
    record::{SourceConversation, SourceMessage, SourcePlace},
};
use crate::{
    id::{AgentId, NodeId, SessionId, TreeId},
    ops::{Actor, Loom},
    store::{Mutation, Snapshot},
    types::{
        AuthorType, Link, LinkTarget, Mode, NewNode, NewTree, Parent, SessionPatch, Timestamp, TreePatch, first_words,
    },
};

/// Conversations whose state is in memory. Files may interleave some.
const MAX_OPEN_CONVERSATIONS: usize = 256;
/// Messages held back until the first reply, whose model becomes the agent of the session.
const MAX_HELD_MESSAGES: usize = 32;
/// Messages after which lookups read a newer state of the store.
const MAX_SNAPSHOT_MESSAGES: u64 = 4_096;

/// Stored place of a message.
#[derive(Debug, Clone, Copy)]
struct MessagePlace {
    node: NodeId,
    /// Parent of the messages that follow.
    attach: NodeId,
    tree: TreeId,
    author: AgentId,
    /// Digest of the content, to detect a change.
    digest: u64,
}

/// A mark that is set when a conversation ends, because its node may follow.
enum PendingMark {
    Bookmark(String),
    Prune,
}

/// State of a conversation.
struct OpenConversation {
    source: SourceConversation,
    /// Tree and root that this conversation created earlier, or continues.
    tree: Option<TreeId>,
    root: Option<NodeId>,
    session: Option<SessionId>,
    /// Position of the session before the import.
    stored_position: Option<NodeId>,
    turns: u64,
    /// Model of the session, once it is known.
    model: Option<Option<String>>,
    held: Vec<(SourcePlace, SourceMessage)>,
    /// First words of the first user message, the title of a conversation without one.
    opening: Option<String>,
    /// Parent for a message that follows the previous one.
    last: Option<NodeId>,
    /// The newest message that continues the conversation.
    newest: Option<NodeId>,
    /// Id of the message that the source's user was at.
    position: Option<String>,
    last_at: Option<Timestamp>,
    marks: Vec<(SourcePlace, String, PendingMark)>,
    /// True if this import created the tree.
    is_fresh: bool,
    is_titled: bool,
    new_nodes: u64,
}

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
    pub(super) fn conversation(&mut self, source: SourceConversation) -> Result<(), ArchiveError> {
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
        let mut open = OpenConversation {
            last_at: source.started_at,
            is_titled: source.title.is_some(),
            source,
            tree: None,
            root: None,
            session: None,
            stored_position: None,
            turns: 0,
            model: None,
            held: Vec::new(),
            opening: None,
            last: None,
            newest: None,
            position: None,
            marks: Vec::new(),
            is_fresh: true,
            new_nodes: 0,
        };
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

    /// Sets the title of the current conversation. A conversation of an earlier import keeps its title.
    pub(super) fn title(&mut self, place: SourcePlace, title: &str) -> Result<(), ArchiveError> {
        let Some(open) = self.open.last_mut().filter(|open| open.is_fresh && !title.trim().is_empty()) else {
            return Ok(());
        };
        let title = first_words(title, MAX_TITLE_CHARS);
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
    pub(super) fn complete(mut self, read: Result<(), ArchiveError>) -> Result<Imported, ArchiveError> {
        let failure = match read {
            Ok(()) | Err(ArchiveError::Cancelled) => None,
            Err(ArchiveError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                self.problem(SourcePlace::Whole, format!("the rest of the file cannot be read: {error}"));
                None
            }
            // The conversations so far are completed all the same.
            Err(error @ ArchiveError::Io(_)) => Some(error),
            Err(error) => return Err(error),
        };
        for open in std::mem::take(&mut self.open) {
            self.finish_conversation(open)?;
        }
        self.batch.flush()?;
        failure.map_or(Ok(self.batch.done), Err)
    }

    fn finish_conversation(&mut self, open: OpenConversation) -> Result<(), ArchiveError> {
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

    /// Returns the tree and the root of a conversation, and creates them if they are missing.
    fn ensure_root(&mut self, place: SourcePlace, open: &mut OpenConversation) -> Result<NodeId, ArchiveError> {
        if let (Some(root), Some(_)) = (open.root, open.tree) {
            return Ok(root);
        }
        if let Some(tree) = open.tree.filter(|_| !self.is_dry_run) {
            // The conversation continues another one's tree, which this import may have created.
            self.batch.flush()?;
            self.reader = None;
            if let Some(root) = self.reader()?.tree(tree)?.and_then(|tree| tree.root) {
                return Ok(root);
            }
        }
        let loom = self.loom();
        let (tree, root) = (loom.tree_id(), loom.node_id());
        let at = open.source.started_at.unwrap_or_else(|| loom.now());
        let source = &open.source;
        let name = format!("{} session {}", self.format, source.id);
        let folder = source.folder.as_ref().map(|folder| format!(" in {folder}")).unwrap_or_default();
        let title = source.title.clone().or_else(|| open.opening.clone());
        open.is_titled = title.is_some();
        let create = NewTree {
            id: tree,
            title,
            description: Some(format!("{name}{folder}")),
            mode: Mode::Dialogue,
            system_context: None,
            created_at: at,
        };
        self.push(place, Mutation::CreateTree(create))?;
        let author = (self.actor.agent(), AuthorType::System);
        let root_source = self.source(source, ROOT_KEY);
        let root_place = MessagePlace { node: root, attach: root, tree, author: author.0, digest: 0 };
        let node = NewNode {
            metadata: (!source.rest.is_null()).then(|| json!({ self.format: source.rest }).into()),
            source: Some(root_source.clone()),
            ..NewNode::new(root, Parent::Root(tree), author, at, name)
        };
        self.push(place, Mutation::Append(Box::new(node)))?;
        self.push(place, Mutation::SetExcluded { node: root, excluded: true })?;
        if let Some((conversation, message)) = &source.parent {
            self.link_to_parent(place, tree, conversation, message.as_deref(), open)?;
        }
        self.remember(&root_source, root_place);
        (open.tree, open.root) = (Some(tree), Some(root));
        open.new_nodes += 1;
        Ok(root)
    }

    /// Links the message that began a side conversation to its tree.
    fn link_to_parent(
        &mut self,
        place: SourcePlace,
        tree: TreeId,
        conversation: &str,
        message: Option<&str>,
        open: &OpenConversation,
    ) -> Result<(), ArchiveError> {
        let parent = SourceConversation { id: conversation.to_owned(), ..open.source.clone() };
        let mut found = None;
        for id in message.into_iter().chain([ROOT_KEY]) {
            let source = self.source(&parent, id);
            found = match found.or_else(|| self.known_place(&source)) {
                None => self.stored_place(&source)?,
                found => found,
            };
        }
        let Some(found) = found else { return Ok(()) };
        let link = Link {
            id: self.loom().link_id(),
            source: found.node,
            target: LinkTarget::Tree(tree),
            note: Some("side conversation".to_owned()),
            author: self.actor.agent(),
            created_at: self.loom().now(),
        };
        self.push(place, Mutation::Link(link))
    }

    fn loom(&self) -> &'a Loom {
        self.actor.loom()
    }

    fn push(&mut self, place: SourcePlace, mutation: Mutation) -> Result<(), ArchiveError> {
        self.batch.push(place, mutation)
    }

    /// Returns a recent snapshot of the store. It lacks at most the newest messages, which are in `places`.
    fn reader(&mut self) -> Result<&dyn Snapshot, ArchiveError> {
        if self.reader.as_ref().is_some_and(|(_, at)| self.messages > at + MAX_SNAPSHOT_MESSAGES) {
            self.reader = None;
        }
        let reader = match self.reader.take() {
            Some(reader) => reader,
            None => (self.loom().snapshot()?, self.messages),
        };
        Ok(&*self.reader.insert(reader).0)
    }
}

/// Name of a conversation's root among its messages.
const ROOT_KEY: &str = "session";
/// Key of a session's metadata with the source of the conversation.
const SOURCE_KEY: &str = "source";
const MAX_TITLE_CHARS: usize = 60;
const MAX_KIND_CHARS: usize = 60;
const MAX_LEFT_OUT_KINDS: usize = 40;
