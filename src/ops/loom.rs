//! A store with the host's clock and ids, and what it finds by name or id.

use std::sync::Arc;

use super::{Actor, OpsError, Result};
use crate::{
    id::{AgentId, DocumentId, IdSource, LinkId, NodeId, SessionId, TreeId},
    store::{LocalIdLookup, Snapshot, Store, TreeFilter, UndoReach},
    types::{Agent, Clock, Document, Node, Session, Timestamp, Tree},
};

/// A store with the host's clock and id source. Cheap to clone.
///
/// ```
/// use loomtree::prelude::*;
///
/// let folder = tempfile::tempdir()?;
/// let loom = session::open(folder.path().join("trees.db"))?;
/// let owner = loom.actor(&loom.agent("owner")?);
/// let (tree, root) = owner.create_tree(TreeDraft::new("Where could it begin?").title("Letters"))?;
/// assert_eq!(loom.find_tree("letters")?.id, tree.id);
/// assert_eq!(loom.find_node(tree.id, &root.local)?.content, "Where could it begin?");
/// # Ok::<(), loomtree::Error>(())
/// ```
#[derive(Clone)]
pub struct Loom {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdSource>,
}

impl Loom {
    /// Creates a loom from a store, a clock and an id source.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self { store, clock, ids }
    }

    /// Store of the loom.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Opens a read-only snapshot of the store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(self.store.snapshot()?)
    }

    /// Current time of the host's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Creates a node id.
    #[must_use]
    pub fn node_id(&self) -> NodeId {
        NodeId::new(self.ids.ulid(self.now()))
    }

    /// Creates a tree id.
    #[must_use]
    pub fn tree_id(&self) -> TreeId {
        TreeId::new(self.ids.ulid(self.now()))
    }

    /// Creates an agent id.
    #[must_use]
    pub fn agent_id(&self) -> AgentId {
        AgentId::new(self.ids.ulid(self.now()))
    }

    pub(crate) fn session_id(&self) -> SessionId {
        SessionId::new(self.ids.ulid(self.now()))
    }

    pub(super) fn document_id(&self) -> DocumentId {
        DocumentId::new(self.ids.ulid(self.now()))
    }

    pub(crate) fn link_id(&self) -> LinkId {
        LinkId::new(self.ids.ulid(self.now()))
    }

    /// Finds an agent by its name or ULID.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] with the known names if there is no such agent.
    pub fn agent(&self, name: &str) -> Result<Agent> {
        let agents = self.snapshot()?.agents()?;
        let known = agents.iter().filter(|a| !a.removed).map(|a| a.name().to_owned()).collect();
        agents
            .into_iter()
            .find(|a| !a.removed && (a.name() == name || a.id().to_string() == name))
            .ok_or_else(|| OpsError::NotFound { what: "agent", text: name.to_owned(), nearest: known })
    }

    /// Finds a document by its name.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] with the known names if there is no such document.
    pub fn document(&self, name: &str) -> Result<Document> {
        let documents = self.snapshot()?.documents()?;
        let known = documents.iter().filter(|d| !d.removed).map(|d| d.name.clone()).collect();
        documents.into_iter().find(|d| !d.removed && d.name == name).ok_or_else(|| OpsError::NotFound {
            what: "document",
            text: name.to_owned(),
            nearest: known,
        })
    }

    /// Reads a tree by its id.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] if it does not exist.
    pub fn tree(&self, id: TreeId) -> Result<Tree> {
        self.snapshot()?.tree(id)?.ok_or_else(|| OpsError::missing("tree", id))
    }

    /// Finds a tree by its ULID, the start or end of a ULID or the start of its last six characters (at least 4
    /// characters), its title, or a part of the title.
    ///
    /// # Errors
    /// [`OpsError::NotFound`], or [`OpsError::AmbiguousTree`] with the candidates.
    pub fn find_tree(&self, text: &str) -> Result<Tree> {
        self.find_tree_among(text, |_| true)
    }

    /// Finds a tree as [`Loom::find_tree`] does, among those that `is_visible` accepts. Errors do not reveal other
    /// trees.
    ///
    /// # Errors
    /// The errors of [`Loom::find_tree`].
    pub fn find_tree_among(&self, text: &str, is_visible: impl Fn(&Tree) -> bool) -> Result<Tree> {
        let mut trees = self.snapshot()?.trees(TreeFilter { archived: true, limit: 0 })?;
        trees.retain(is_visible);
        let lower = text.trim().to_lowercase();
        let by_id = |t: &Tree| {
            let id = t.id.to_string().to_lowercase();
            // Lists show the last six characters, of which a prefix is enough.
            let starts = id.starts_with(&lower) || id[20..].starts_with(&lower);
            id == lower || lower.len() >= 4 && (starts || id.ends_with(&lower))
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

    /// Finds a node of a tree by its local id, a prefix of it, or its ULID.
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

    /// Reads a node by its id.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] if it does not exist.
    pub fn node(&self, id: NodeId) -> Result<Node> {
        self.snapshot()?.node(id)?.ok_or_else(|| OpsError::missing("node", id))
    }

    /// Reads the path from the root to a node, oldest node first. Where a place has several versions, the path contains
    /// the newest.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn path(&self, to: NodeId) -> Result<Vec<Node>> {
        Ok(self.snapshot()?.path_back(to, &[], 0)?)
    }

    /// Reads a session by its id.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] if it does not exist.
    pub fn session(&self, id: SessionId) -> Result<Session> {
        self.snapshot()?.session(id)?.ok_or_else(|| OpsError::missing("session", id))
    }

    /// Creates an actor of this agent without a session.
    #[must_use]
    pub fn actor(&self, agent: &Agent) -> Actor {
        Actor {
            loom: self.clone(),
            agent: agent.id(),
            kind: agent.profile.kind,
            session: None,
            keeps_position: false,
            undo_reach: UndoReach::default(),
        }
    }
}
