//! Operations on sessions: start, find, continue, reset, end. The nodes of a session always remain.

use std::{collections::BTreeMap, time::Duration};

use super::{Actor, Loom, NodeDraft, OpsError, Result, SessionReset, TreeDraft};
use crate::{
    id::{AgentId, NodeId, SessionId, TreeId},
    store::{Mutation, Receipt, SessionFilter, WordFilter},
    types::{NewSession, Node, Op, Parent, Session, SessionPatch, Timestamp, WorkItem, setters},
};

/// Properties of a session to be started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionDraft {
    /// Path of the workspace folder.
    pub workspace: String,
    /// Reference of the model that replies in the session.
    pub model: Option<String>,
    /// Work item of the session.
    pub item: Option<WorkItem>,
    /// Duration until the session expires; `None`: it never expires.
    pub lasting: Option<Duration>,
    /// Metadata of the host application.
    pub metadata: BTreeMap<String, String>,
}

setters!(SessionDraft {
    /// Sets the model that replies in the session.
    model(some into String);
    /// Sets the work item of the session.
    item(option WorkItem);
    /// Sets the duration until the session expires.
    lasting(option Duration);
    /// Sets the metadata of the host application.
    metadata(BTreeMap<String, String>);
});

impl SessionDraft {
    /// Creates a draft of a session in a workspace.
    #[must_use]
    pub fn of(workspace: impl Into<String>) -> Self {
        Self { workspace: workspace.into(), ..Self::default() }
    }

    /// Returns the session to be created, of an agent in a tree, at a position or none.
    pub(super) fn into_session(
        self,
        id: SessionId,
        agent: AgentId,
        (tree, position): (TreeId, Option<NodeId>),
        started_at: Timestamp,
    ) -> NewSession {
        let Self { workspace, model, item, lasting, metadata } = self;
        let expires_at = expiry(started_at, lasting);
        NewSession {
            id,
            workspace,
            agent,
            tree,
            position,
            started_at,
            expires_at,
            metadata,
            delegated_by: None,
            model,
            item,
        }
    }
}

impl Loom {
    /// Lists sessions, the most recently active first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn sessions(&self, filter: &SessionFilter) -> Result<Vec<Session>> {
        Ok(self.snapshot()?.sessions(filter)?)
    }

    /// Returns the newest session of an agent in a workspace that can be continued. `tree` restricts it to one tree.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn find_session(&self, workspace: &str, agent: AgentId, tree: Option<TreeId>) -> Result<Option<Session>> {
        let filter = SessionFilter {
            workspace: Some(workspace.to_owned()),
            agent: Some(agent),
            tree,
            active: true,
            unexpired: Some(self.now()),
            limit: 1,
            ..SessionFilter::default()
        };
        Ok(self.sessions(&filter)?.pop())
    }

    /// Returns at most `limit` turns of a session's conversation in order, after the first `offset`. After a reset, the
    /// conversation begins anew; `Snapshot::turns` reads older turns by their numbers.
    ///
    /// # Errors
    /// If the session does not exist, or the store cannot be read.
    pub fn turns(&self, session: SessionId, offset: u64, limit: u32) -> Result<Vec<Node>> {
        let snapshot = self.snapshot()?;
        let since = snapshot.session(session)?.ok_or_else(|| OpsError::missing("session", session))?.since;
        let first = since.saturating_add(offset).saturating_add(1);
        Ok(snapshot.turns(session, first..=u64::MAX, &WordFilter::default(), limit)?)
    }
}

impl Actor {
    /// Returns this agent's newest session in a workspace and tree, or starts one at `position`. The position of an
    /// existing session does not change.
    ///
    /// # Errors
    /// If the node is not in the tree, or the store fails.
    pub fn ensure_session(&self, workspace: &str, tree: TreeId, position: NodeId) -> Result<SessionId> {
        match self.loom().find_session(workspace, self.agent(), Some(tree))? {
            Some(session) => Ok(session.id),
            None => self.start_session(workspace, tree, Some(position)),
        }
    }

    /// Starts a session of this agent at a node.
    ///
    /// # Errors
    /// If the node is not in the tree, or the store fails.
    pub fn start_session(&self, workspace: &str, tree: TreeId, position: Option<NodeId>) -> Result<SessionId> {
        self.open_session(tree, position, SessionDraft::of(workspace))
    }

    /// Starts a session of this agent at a node, with all its properties. The first session with a work item assigns
    /// its tree to that item. Later sessions in the tree inherit the item.
    ///
    /// ```
    /// use loomtree::{prelude::*, types::WorkItem};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let loom = session::open(folder.path().join("trees.db"))?;
    /// # let owner = loom.actor(&loom.agent("owner")?);
    /// # let (tree, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
    /// let item = WorkItem { project: "novel".to_owned(), external_ref: "chapter-3".to_owned() };
    /// let session = owner.open_session(tree.id, Some(root.id), SessionDraft::of("/novel").item(item.clone()))?;
    /// owner.clone().in_session(session).append_turn("Next, the storm.".into())?;
    /// assert_eq!(loom.tree(tree.id)?.item, Some(item));
    /// # Ok::<(), loomtree::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the node is not in the tree, the tree belongs to another work item, or the store fails.
    pub fn open_session(&self, tree: TreeId, position: Option<NodeId>, draft: SessionDraft) -> Result<SessionId> {
        let id = self.loom.session_id();
        let session = draft.into_session(id, self.agent, (tree, position), self.loom.now());
        self.commit(Op::Session, vec![Mutation::CreateSession(session)])?;
        Ok(id)
    }

    /// Applies a patch to a session.
    ///
    /// # Errors
    /// If the session does not exist, a node is in another tree, or the store fails.
    pub fn update_session(&self, session: SessionId, patch: SessionPatch) -> Result<Receipt> {
        self.commit(Op::Session, vec![Mutation::UpdateSession { session, patch }])
    }

    /// Returns a session to continue with: this one, or its successor if it was ended or has expired. The successor has
    /// the same agent, work item and duration. It begins at the root of a new tree, with the first system message only,
    /// so that its prompts contain nothing else of the old session, whose turns remain.
    ///
    /// # Errors
    /// If the session does not exist, or the store fails.
    pub fn continue_session(&self, id: SessionId) -> Result<SessionId> {
        let session = self.loom.session(id)?;
        if session.can_resume(self.loom.now()) { Ok(id) } else { self.begin_successor(&session) }
    }

    /// Appends the next turn of the actor's session at the session's position.
    ///
    /// # Errors
    /// If the actor has no session, the session was ended or has expired ([`Actor::continue_session`] returns another),
    /// or the store fails.
    pub fn append_turn(&self, draft: NodeDraft) -> Result<Receipt> {
        let id = self.session.ok_or_else(|| OpsError::Invalid("this operation needs a session".to_owned()))?;
        if !self.loom.session(id)?.can_resume(self.loom.now()) {
            return Err(OpsError::Invalid("the session was ended or has expired".to_owned()));
        }
        self.append(Parent::Position(id), draft)
    }

    /// Sends a message to another agent: appends it as the next turn of that agent's session, at its position, after the
    /// messages there that the session lacks. The actor's own session moves to the message.
    ///
    /// # Errors
    /// If the session does not exist, another agent generates there, or the store fails.
    pub fn send_to(&self, other: SessionId, draft: NodeDraft) -> Result<Receipt> {
        self.send(other, draft, None)
    }

    /// Sends as [`Actor::send_to`], and takes the lease of the new position for `holder` in the same commit, so that no
    /// other message comes between.
    ///
    /// # Errors
    /// As [`Actor::send_to`], and if another agent has the lease of the position.
    pub fn send_and_lease(
        &self,
        other: SessionId,
        draft: NodeDraft,
        holder: AgentId,
        lasting: Duration,
    ) -> Result<Receipt> {
        self.send(other, draft, Some((holder, lasting)))
    }

    fn send(&self, other: SessionId, draft: NodeDraft, lease: Option<(AgentId, Duration)>) -> Result<Receipt> {
        let session = self.loom.session(other)?;
        if let Some(position) = session.position
            && let Some(received) = self.receive_messages(other, position, &session.versions)?
        {
            received.wait()?;
        }
        let node = self.draft(Parent::Position(other), draft);
        let leased = lease.map(|(agent, lasting)| self.lease_mutation(node.id, agent, lasting));
        let patch = SessionPatch { position: Some(node.id), ..SessionPatch::default() };
        let mut mutations = vec![Mutation::Append(Box::new(node))];
        let own = self.session.filter(|own| *own != other);
        mutations.extend(own.map(|session| Mutation::UpdateSession { session, patch }));
        mutations.extend(leased);
        self.clone().in_session(other).commit(Op::Append, mutations)
    }

    /// Resets a session to a new root, in a new tree with the title and mode of the old one, and with its system prompt
    /// unless that is dropped.
    ///
    /// The root is a system message and the next turn, with which [`Loom::turns`] begins anew. The session state starts
    /// empty. Id, work item, metadata and expiry stay. Turn numbers continue and all nodes remain.
    ///
    /// # Errors
    /// If the session does not exist, or the store fails.
    pub fn reset_session(&self, id: SessionId, reset: SessionReset) -> Result<Node> {
        let session = self.loom.session(id)?;
        let old = self.loom.tree(session.tree)?;
        let kept = if reset.keep_system_message { self.loom.system_message(id)? } else { None };
        let system = reset.system.or(kept.map(|node| node.content)).unwrap_or_default();
        let mut draft = TreeDraft::successor_of(old, system);
        draft.system_context = draft.system_context.filter(|_| !reset.drop_system_context);
        let tree_id = self.loom.tree_id();
        let (tree, root) = draft.into_parts(tree_id, self.loom.now());
        let root = self.draft(Parent::Root(tree_id), root);
        let root_id = root.id;
        let mutations = vec![
            Mutation::CreateTree(tree),
            Mutation::UpdateSession {
                session: id,
                patch: SessionPatch { tree: Some(tree_id), ..SessionPatch::default() },
            },
            Mutation::Append(Box::new(root)),
            Mutation::UpdateSession {
                session: id,
                patch: SessionPatch { position: Some(root_id), ..SessionPatch::default() },
            },
        ];
        // The root is a turn of the session, so turn numbers distinguish nodes before and after the reset.
        self.clone().in_session(id).commit(Op::Session, mutations)?;
        self.loom.node(root_id)
    }

    /// Ends a session: it can no longer be resumed. Its nodes remain.
    ///
    /// # Errors
    /// If the session does not exist, or the store fails.
    pub fn end_session(&self, id: SessionId) -> Result<Receipt> {
        self.update_session(id, SessionPatch { active: Some(false), ..SessionPatch::default() })
    }
}

/// Returns the end of a duration that begins now.
fn expiry(now: Timestamp, lasting: Option<Duration>) -> Option<Timestamp> {
    let lasting = i64::try_from(lasting?.as_millis()).unwrap_or(i64::MAX);
    Some(Timestamp::from_millis(now.as_millis().saturating_add(lasting)))
}
