//! Sessions of work items: one conversation per item of an external tracker, over many dispatches.
//!
//! The conversation of an item expires a fixed time after its start, whether it is used or not. Its successor begins at
//! the root of a new tree, so no prompt contains the old conversation. Nothing is deleted.

use std::time::Duration;

use super::{Actor, Loom, NodeDraft, Result, SessionDraft, TreeDraft};
use crate::{
    id::{AgentId, SessionId},
    store::{Mutation, Receipt, SessionFilter},
    types::{AgentKind, AuthorType, EdgeKind, NewSession, Node, Op, Parent, Session, SessionPatch, WorkItem, setters},
};

/// Duration of a work item's session, unless its draft has another.
pub const ITEM_SESSION_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Turns that are searched for a system message.
const MAX_SEARCHED_TURNS: u32 = 20;

impl Loom {
    /// Returns the newest session of a work item that can be continued: of this agent, or (`None`) of any model.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn find_item_session(&self, item: &WorkItem, agent: Option<AgentId>) -> Result<Option<Session>> {
        let filter = SessionFilter { agent, active: true, unexpired: Some(self.now()), ..SessionFilter::default() };
        self.first_item_session(item, filter)
    }

    /// Returns the newest session of a work item of any model, also if it was archived or has expired.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn newest_item_session(&self, item: &WorkItem) -> Result<Option<Session>> {
        self.first_item_session(item, SessionFilter::default())
    }

    fn first_item_session(&self, item: &WorkItem, filter: SessionFilter) -> Result<Option<Session>> {
        let snapshot = self.snapshot()?;
        let filter = SessionFilter { item: Some(Some(item.clone())), ..filter };
        let mut sessions = snapshot.sessions(&filter)?;
        if filter.agent.is_none() {
            let agents = snapshot.agents()?;
            let is_model = |id| agents.iter().any(|agent| agent.id() == id && agent.profile.kind == AgentKind::Model);
            sessions.retain(|session| is_model(session.agent));
        }
        Ok(sessions.into_iter().next())
    }

    /// Returns the first system message of a session's conversation, since its last reset.
    ///
    /// # Errors
    /// If the session does not exist, or the store cannot be read.
    pub fn system_message(&self, session: SessionId) -> Result<Option<Node>> {
        let found = self.session(session)?;
        let root = self.tree(found.tree)?.root.map(|root| self.node(root)).transpose()?;
        let turns = self.turns(session, 0, MAX_SEARCHED_TURNS)?;
        let is_system = |node: &Node| {
            node.role() == AuthorType::System && node.kind == EdgeKind::Continuation && !node.content.is_empty()
        };
        Ok(root.into_iter().chain(turns).find(is_system))
    }
}

impl Actor {
    /// Returns this agent's session of a work item, or starts one: a tree, its root with the system message, and the
    /// session, in one commit. A session that was ended or has expired is not continued; it is archived.
    ///
    /// The draft applies to a new session only. Without a duration it expires after [`ITEM_SESSION_LIFETIME`].
    ///
    /// ```
    /// use loomtree::{prelude::*, types::WorkItem};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let loom = session::open(folder.path().join("trees.db"))?;
    /// let agent = loom.actor(&loom.agent("subject")?);
    /// let item = WorkItem { project: "shop".to_owned(), external_ref: "SHOP-7".to_owned() };
    /// let session = agent.session_for_item(&item, "You fix bugs.", SessionDraft::of("/shop"))?;
    /// let again = agent.session_for_item(&item, "You fix bugs.", SessionDraft::of("/shop"))?;
    /// assert_eq!(session.id, again.id);
    /// assert_eq!(loom.turns(session.id, 0, 9)?[0].content, "You fix bugs.");
    /// # Ok::<(), loomtree::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the store fails.
    pub fn session_for_item(&self, item: &WorkItem, system: &str, draft: SessionDraft) -> Result<Session> {
        if let Some(session) = self.loom.find_item_session(item, Some(self.agent))? {
            return Ok(session);
        }
        let id = self.transaction(|actor| {
            // Another process may have started the session meanwhile.
            if let Some(session) = actor.loom.find_item_session(item, Some(actor.agent))? {
                return Ok(session.id);
            }
            let filter = SessionFilter {
                item: Some(Some(item.clone())),
                agent: Some(actor.agent),
                active: true,
                ..SessionFilter::default()
            };
            for expired in actor.loom.sessions(&filter)? {
                actor.archive_session(expired.id)?;
            }
            let lasting = draft.lasting.or(Some(ITEM_SESSION_LIFETIME));
            let tree = TreeDraft::new(system).title(item.external_ref.clone());
            actor.begin_session(actor.agent, tree, SessionDraft { item: Some(item.clone()), lasting, ..draft })
        })?;
        self.loom.session(id)
    }

    /// Starts a session of an agent in a new tree, whose root is a system message and the session's first turn. Call it
    /// in a transaction.
    pub(super) fn begin_session(&self, agent: AgentId, tree: TreeDraft, draft: SessionDraft) -> Result<SessionId> {
        let place = (self.loom.tree_id(), None);
        self.begin(draft.into_session(self.loom.session_id(), agent, place, self.loom.now()), tree)
    }

    /// Creates a tree and a session in it, and appends the root as the session's first turn.
    fn begin(&self, session: NewSession, draft: TreeDraft) -> Result<SessionId> {
        let (id, tree) = (session.id, session.tree);
        let (new_tree, root) = draft.into_parts(tree, session.started_at);
        self.commit(Op::Session, vec![Mutation::CreateTree(new_tree), Mutation::CreateSession(session)])?;
        let root = self.draft(Parent::Root(tree), NodeDraft { author_type: Some(AuthorType::System), ..root });
        self.clone().in_session(id).commit(Op::Session, vec![Mutation::Append(Box::new(root))])?;
        Ok(id)
    }

    /// Starts the successor of a session that cannot be continued, at the root of a new tree. The tree has the title,
    /// mode and system prompt of the old one; the root is the first system message of the old session, or empty.
    pub(super) fn begin_successor(&self, old: &Session) -> Result<SessionId> {
        self.transaction(|actor| {
            let (tree, now) = (actor.loom.tree(old.tree)?, actor.loom.now());
            let system = actor.loom.system_message(old.id)?.map(|node| node.content).unwrap_or_default();
            let lasting = old.expires_at.map(|end| end.elapsed_since(old.started_at));
            let draft = SessionDraft {
                workspace: old.workspace.clone(),
                model: old.model.clone(),
                item: old.item.clone(),
                lasting,
                metadata: old.metadata.clone(),
            };
            let (id, place) = (actor.loom.session_id(), (actor.loom.tree_id(), None));
            let new = draft.into_session(id, old.agent, place, now);
            let new = NewSession { delegated_by: old.delegated_by, ..new };
            actor.begin(new, TreeDraft::successor_of(tree, system))
        })
    }

    /// Ends a session, and archives its tree if the tree belongs to a work item and no other session in it can be
    /// continued. All nodes remain.
    ///
    /// # Errors
    /// If the session does not exist, or the store fails.
    pub fn archive_session(&self, id: SessionId) -> Result<Receipt> {
        let session = self.loom.session(id)?;
        let patch = SessionPatch { active: Some(false), ..SessionPatch::default() };
        let mut mutations = vec![Mutation::UpdateSession { session: id, patch }];
        let filter = SessionFilter {
            tree: Some(session.tree),
            active: true,
            unexpired: Some(self.loom.now()),
            ..SessionFilter::default()
        };
        let is_used = self.loom.sessions(&filter)?.iter().any(|other| other.id != id);
        if session.item.is_some() && !is_used {
            mutations.push(Mutation::SetArchived { tree: session.tree, archived: true });
        }
        self.commit(Op::Session, mutations)
    }

    /// Archives every session that has expired and was not ended. Returns their ids.
    ///
    /// # Errors
    /// If the store fails.
    pub fn archive_expired_sessions(&self) -> Result<Vec<SessionId>> {
        let filter = SessionFilter { expired: Some(self.loom.now()), delegated: true, ..SessionFilter::default() };
        let expired: Vec<SessionId> = self.loom.sessions(&filter)?.into_iter().map(|session| session.id).collect();
        for id in &expired {
            self.archive_session(*id)?;
        }
        Ok(expired)
    }
}

/// Content of a session after a reset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionReset {
    /// Text of the new root. `None`: the first system message, if it is kept, or else empty.
    pub system: Option<String>,
    /// True to begin with the first system message of the old conversation.
    pub keep_system_message: bool,
    /// True to leave out the system prompt of the old tree.
    pub drop_system_context: bool,
}

setters!(SessionReset {
    /// Sets the text of the new root.
    system(some into String);
    /// Sets whether the first system message is kept.
    keep_system_message(bool);
    /// Sets whether the system prompt of the tree is dropped.
    drop_system_context(bool);
});
