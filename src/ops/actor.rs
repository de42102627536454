//! An agent that acts on a store, and the change that each of its operations commits.

use super::{Loom, Result};
use crate::{
    id::{AgentId, SessionId},
    store::{Change, Mutation, PendingCommit, Receipt, UndoReach},
    types::{AgentKind, AuthorType, Op},
};

/// An agent that acts on a store. Its methods are the operations.
///
/// ```
/// use loomtree::prelude::*;
///
/// # let folder = tempfile::tempdir()?;
/// # let loom = session::open(folder.path().join("trees.db"))?;
/// # let owner = loom.actor(&loom.agent("owner")?);
/// # let (tree, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
/// let reply = owner.append(root.id, NodeDraft::text("At the harbour.").tokens(4))?.nodes[0].id;
/// owner.annotate(reply, "the dry voice")?;
/// let edit = owner.edit(reply, "At the pier.")?.nodes[0].id; // a sibling; nothing is overwritten
/// owner.prune(reply)?;
/// assert_eq!(loom.path(edit)?.last().map(|node| node.content.clone()), Some("At the pier.".to_owned()));
/// owner.undo(Some(tree.id))?; // shows the reply again
/// assert!(loom.node(reply)?.state.hidden_by.is_none());
/// # Ok::<(), loomtree::Error>(())
/// ```
#[derive(Clone)]
pub struct Actor {
    pub(super) loom: Loom,
    pub(super) agent: AgentId,
    pub(super) kind: AgentKind,
    pub(super) session: Option<SessionId>,
    /// True if new nodes do not move the session's position.
    pub(super) keeps_position: bool,
    pub(super) undo_reach: UndoReach,
}

impl Actor {
    /// Attaches a session to the actor. Its nodes get turn numbers of the session.
    #[must_use]
    pub fn in_session(mut self, session: SessionId) -> Self {
        self.session = Some(session);
        self
    }

    /// Keeps the session's position where it is when the actor adds nodes. A new version of the node at the position
    /// becomes the position, because both have the same place.
    #[must_use]
    pub fn keeping_position(mut self) -> Self {
        self.keeps_position = true;
        self
    }

    /// Limits what [`Actor::undo`] and [`Actor::redo`] in a tree revert and repeat besides the tree's own changes.
    #[must_use]
    pub fn reverting(mut self, reach: UndoReach) -> Self {
        self.undo_reach = reach;
        self
    }

    /// Loom that the actor acts on.
    #[must_use]
    pub fn loom(&self) -> &Loom {
        &self.loom
    }

    /// ULID of the agent.
    #[must_use]
    pub fn agent(&self) -> AgentId {
        self.agent
    }

    /// Session of the actor, if there is one.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// Author and author type of the actor's nodes.
    pub(super) fn author(&self) -> (AgentId, AuthorType) {
        let kind = match self.kind {
            AgentKind::Human => AuthorType::Human,
            AgentKind::Model => AuthorType::Model,
        };
        (self.agent, kind)
    }

    /// Sends a change to the writer thread without waiting for the commit.
    #[must_use]
    pub fn submit(&self, op: Op, mutations: Vec<Mutation>) -> PendingCommit {
        self.loom.store().submit(self.change(op, mutations))
    }

    /// Returns mutations as a change of this actor, with the present time.
    #[must_use]
    pub fn change(&self, op: Op, mutations: Vec<Mutation>) -> Change {
        Change { op, agent: self.agent, session: self.session, at: self.loom.now(), mutations }
    }

    /// Commits a change and waits for it. Hosts and importers use it where no operation fits.
    ///
    /// # Errors
    /// The reason for the rejection; then nothing was changed.
    pub fn commit(&self, op: Op, mutations: Vec<Mutation>) -> Result<Receipt> {
        Ok(self.loom.store().commit(self.change(op, mutations))?)
    }
}
