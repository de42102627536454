//! Operations: what agents do, each built into mutations and committed through the store's one door.
//!
//! A [`Loom`] is a store with the host's clock and ids. An [`Actor`] is an agent at work in it, perhaps in a session;
//! its methods are the operations, one file each. Rules that need more than one row, or that say what an operation
//! means, live here; what must hold for every row is enforced below, in the store.

mod agents;
mod annotate;
mod append;
mod bookmarks;
mod branch;
mod describe;
mod documents;
mod edit;
mod error;
mod estimates;
mod lease;
mod links;
mod memory;
mod merge;
mod navigate;
mod prune;
mod purge;
mod sessions;
mod split;
mod summaries;
mod todos;
mod trees;
mod undo;

use std::sync::Arc;

pub use append::NodeDraft;
pub use describe::{OpDescription, OpTarget, describe_entry};
pub use documents::DocumentEdit;
pub use error::{OpsError, Result};
pub use sessions::SessionDraft;
pub use split::SplitAt;
pub use undo::UndoResult;

use crate::{
    id::{AgentId, DocumentId, IdSource, LinkId, NodeId, SessionId, TreeId},
    store::{Change, LocalIdLookup, Mutation, Pending, Receipt, Snapshot, Store, TreeFilter},
    types::{Agent, AgentKind, AuthorType, Clock, Document, Node, Op, Session, Timestamp, Tree},
};

/// A store with the host's clock and ids: everything that an operation needs. Cheap to clone.
#[derive(Clone)]
pub struct Loom {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl Loom {
    /// Works on `store`, with this clock and these ids.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self { store, clock, ids }
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// A view of this moment.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(self.store.snapshot()?)
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A fresh node id.
    #[must_use]
    pub fn node_id(&self) -> NodeId {
        NodeId::new(self.ids.ulid(self.now()))
    }

    /// A fresh tree id.
    #[must_use]
    pub fn tree_id(&self) -> TreeId {
        TreeId::new(self.ids.ulid(self.now()))
    }

    /// A fresh agent id.
    #[must_use]
    pub fn agent_id(&self) -> AgentId {
        AgentId::new(self.ids.ulid(self.now()))
    }

    pub(crate) fn session_id(&self) -> SessionId {
        SessionId::new(self.ids.ulid(self.now()))
    }

    fn document_id(&self) -> DocumentId {
        DocumentId::new(self.ids.ulid(self.now()))
    }

    fn link_id(&self) -> LinkId {
        LinkId::new(self.ids.ulid(self.now()))
    }

    /// The agent with this name.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] if there is none, naming those there are.
    pub fn agent(&self, name: &str) -> Result<Agent> {
        let agents = self.snapshot()?.agents()?;
        let known = agents.iter().filter(|a| !a.removed).map(|a| a.name().to_owned()).collect();
        agents
            .into_iter()
            .find(|a| !a.removed && (a.name() == name || a.id().to_string() == name))
            .ok_or_else(|| OpsError::NotFound { what: "agent", text: name.to_owned(), nearest: known })
    }

    /// The document with this name.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] if there is none, naming those there are.
    pub fn document(&self, name: &str) -> Result<Document> {
        let documents = self.snapshot()?.documents()?;
        let known = documents.iter().filter(|d| !d.removed).map(|d| d.name.clone()).collect();
        documents.into_iter().find(|d| !d.removed && d.name == name).ok_or_else(|| OpsError::NotFound {
            what: "document",
            text: name.to_owned(),
            nearest: known,
        })
    }

    /// A tree that is there.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] if it is not.
    pub fn tree(&self, id: TreeId) -> Result<Tree> {
        self.snapshot()?.tree(id)?.ok_or_else(|| OpsError::missing("tree", id))
    }

    /// The tree that a person means: by ULID, by the beginning or end (4 characters or more) of one, or by title, a
    /// part of which will do.
    ///
    /// # Errors
    /// [`OpsError::NotFound`], or [`OpsError::AmbiguousTree`] with what it could be.
    pub fn find_tree(&self, text: &str) -> Result<Tree> {
        self.find_tree_among(text, |_| true)
    }

    /// The same among the trees that `seen` lets through; of the others nothing is told.
    ///
    /// # Errors
    /// As [`Loom::find_tree`].
    pub fn find_tree_among(&self, text: &str, seen: impl Fn(&Tree) -> bool) -> Result<Tree> {
        let mut trees = self.snapshot()?.trees(TreeFilter { archived: true, limit: 0 })?;
        trees.retain(seen);
        let lower = text.trim().to_lowercase();
        let by_id = |t: &Tree| {
            let id = t.id.to_string().to_lowercase();
            id == lower || lower.len() >= 4 && (id.starts_with(&lower) || id.ends_with(&lower))
        };
        let by_title = |t: &Tree| t.title.to_lowercase() == lower;
        let by_part = |t: &Tree| !lower.is_empty() && t.title.to_lowercase().contains(&lower);
        for fits in [&by_id as &dyn Fn(&Tree) -> bool, &by_title, &by_part] {
            let mut found: Vec<Tree> = trees.iter().filter(|t| fits(t)).cloned().collect();
            match found.len() {
                0 => {}
                1 => return found.pop().ok_or_else(|| OpsError::missing("tree", text)),
                _ => {
                    return Err(OpsError::AmbiguousTree { text: text.to_owned(), candidates: found });
                }
            }
        }
        Err(OpsError::NotFound {
            what: "tree",
            text: text.to_owned(),
            nearest: trees.into_iter().take(3).map(|t| t.title).collect(),
        })
    }

    /// The node that a person or model means by `text` in a tree.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] with the nearest local ids, or [`OpsError::Ambiguous`] with the candidates.
    pub fn find_node(&self, tree: TreeId, text: &str) -> Result<Node> {
        match self.snapshot()?.resolve(tree, text)? {
            LocalIdLookup::One(node) => Ok(*node),
            LocalIdLookup::Many(candidates) => Err(OpsError::Ambiguous { text: text.to_owned(), candidates }),
            LocalIdLookup::None(nearest) => Err(OpsError::NotFound {
                what: "node",
                text: text.to_owned(),
                nearest: nearest.into_iter().map(String::from).collect(),
            }),
        }
    }

    /// A node that is there.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] if it is not.
    pub fn node(&self, id: NodeId) -> Result<Node> {
        self.snapshot()?.node(id)?.ok_or_else(|| OpsError::missing("node", id))
    }

    /// A session that is there.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] if it is not.
    pub fn session(&self, id: SessionId) -> Result<Session> {
        self.snapshot()?.session(id)?.ok_or_else(|| OpsError::missing("session", id))
    }

    /// An agent at work, outside any session.
    #[must_use]
    pub fn actor(&self, agent: &Agent) -> Actor {
        Actor { loom: self.clone(), agent: agent.id(), kind: agent.profile.kind, session: None }
    }
}

/// An agent at work: its methods are the operations.
#[derive(Clone)]
pub struct Actor {
    loom: Loom,
    agent: AgentId,
    kind: AgentKind,
    session: Option<SessionId>,
}

impl Actor {
    /// The same agent in a session: what it writes gets the session's turn numbers.
    #[must_use]
    pub fn in_session(mut self, session: SessionId) -> Self {
        self.session = Some(session);
        self
    }

    /// The loom it works in.
    #[must_use]
    pub fn loom(&self) -> &Loom {
        &self.loom
    }

    /// Who works.
    #[must_use]
    pub fn agent(&self) -> AgentId {
        self.agent
    }

    /// The session it works in.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// Who its nodes are by.
    fn author(&self) -> (AgentId, AuthorType) {
        let kind = match self.kind {
            AgentKind::Human => AuthorType::Human,
            AgentKind::Model => AuthorType::Model,
        };
        (self.agent, kind)
    }

    /// Hands a change to the writer without waiting for the disk.
    #[must_use]
    pub fn submit(&self, op: Op, mutations: Vec<Mutation>) -> Pending {
        let change = Change { op, agent: self.agent, session: self.session, at: self.loom.now(), mutations };
        self.loom.store.submit(change)
    }

    /// Commits a change. Where no operation fits, hosts and importers build mutations themselves.
    ///
    /// # Errors
    /// Whatever kept the change from being made; then nothing was changed.
    pub fn commit(&self, op: Op, mutations: Vec<Mutation>) -> Result<Receipt> {
        Ok(self.submit(op, mutations).wait()?)
    }
}
