//! A store with the host's clock and ids.

use std::sync::Arc;

use super::{Actor, OpsError, Result};
use crate::{
    id::{AgentId, DocumentId, IdSource, LinkId, NodeId, SessionId, TreeId},
    store::{Snapshot, Store, UndoReach},
    types::{Agent, Clock, Node, Session, Timestamp, Tree},
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

    /// Reads a tree by its id.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] if it does not exist.
    pub fn tree(&self, id: TreeId) -> Result<Tree> {
        self.snapshot()?.tree(id)?.ok_or_else(|| OpsError::missing("tree", id))
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
