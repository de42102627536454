//! Sessions: started, found again, continued, begun anew, ended. What was said in them stays, whatever becomes of them.

use std::{collections::BTreeMap, time::Duration};

use super::{Actor, Loom, NodeDraft, OpsError, Result};
use crate::{
    id::{AgentId, NodeId, SessionId, TreeId},
    store::{Mutation, Receipt, SessionFilter, WordFilter},
    types::{AuthorType, NewSession, NewTree, Node, Op, Parent, Session, SessionPatch, Timestamp, WorkItem},
};

/// A session that somebody is about to start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionDraft {
    /// The folder that the work belongs to.
    pub workspace: String,
    /// The model that is to speak in it, by its reference.
    pub model: Option<String>,
    /// The work item that it is for.
    pub item: Option<WorkItem>,
    /// After how long it can no longer be continued; never if not said.
    pub lasting: Option<Duration>,
    /// Whatever the host keeps with it.
    pub metadata: BTreeMap<String, String>,
}

impl SessionDraft {
    /// A session that belongs to a folder.
    #[must_use]
    pub fn of(workspace: impl Into<String>) -> Self {
        Self { workspace: workspace.into(), ..Self::default() }
    }
}

impl Loom {
    /// Sessions, the last active first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn sessions(&self, filter: &SessionFilter) -> Result<Vec<Session>> {
        Ok(self.snapshot()?.sessions(filter)?)
    }

    /// The newest session of a work item that can be continued.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn session_of(&self, item: &WorkItem) -> Result<Option<Session>> {
        let filter = SessionFilter {
            item: Some(Some(item.clone())),
            active: true,
            unexpired: Some(self.now()),
            limit: 1,
            ..SessionFilter::default()
        };
        Ok(self.sessions(&filter)?.pop())
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

    /// Turns of a session in their order, `limit` of them from the one after `offset`.
    ///
    /// # Errors
    /// If there is no such session, or the store cannot be read.
    pub fn turns(&self, session: SessionId, offset: u64, limit: u32) -> Result<Vec<Node>> {
        Ok(self.snapshot()?.turns(session, offset.saturating_add(1)..=u64::MAX, &WordFilter::default(), limit)?)
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

    /// Starts a session of this agent at a node, with all that can be said of it. A tree in which a work item has a session
    /// belongs to that item from then on, and so does every session that is started in it.
    ///
    /// # Errors
    /// If the node is not in the tree, the tree belongs to another work item, or the store fails.
    pub fn open_session(&self, tree: TreeId, position: Option<NodeId>, draft: SessionDraft) -> Result<SessionId> {
        let now = self.loom.now();
        let session = NewSession {
            id: self.loom.session_id(),
            workspace: draft.workspace,
            agent: self.agent,
            tree,
            position,
            started_at: now,
            expires_at: draft.lasting.map(|lasting| later(now, lasting)),
            metadata: draft.metadata,
            model: draft.model,
            item: draft.item,
            delegated_by: None,
        };
        let id = session.id;
        self.commit(Op::Session, vec![Mutation::CreateSession(session)])?;
        Ok(id)
    }

    /// Changes a session: its position, versions, metadata, model, whether it is active.
    ///
    /// # Errors
    /// If it is not there, a node is in another tree, or the store fails.
    pub fn update_session(&self, session: SessionId, patch: SessionPatch) -> Result<Receipt> {
        self.commit(Op::Session, vec![Mutation::UpdateSession { session, patch }])
    }

    /// The session to go on with: this one, or, where it was ended or has run out, a new one of the same agent in the same
    /// place, for the same item, as long again. The old one's turns stay where they are.
    ///
    /// # Errors
    /// If it is not there, or the store fails.
    pub fn continue_session(&self, id: SessionId) -> Result<SessionId> {
        let (session, now) = (self.loom.session(id)?, self.loom.now());
        if session.goes_on(now) {
            return Ok(id);
        }
        let lasting = session.expires_at.map(|end| {
            let lasting = end.as_millis().saturating_sub(session.started_at.as_millis());
            Duration::from_millis(lasting.unsigned_abs())
        });
        let new = NewSession {
            id: self.loom.session_id(),
            workspace: session.workspace,
            agent: session.agent,
            tree: session.tree,
            position: session.position,
            started_at: now,
            expires_at: lasting.map(|lasting| later(now, lasting)),
            metadata: session.metadata,
            model: session.model,
            item: session.item,
            delegated_by: session.delegated_by,
        };
        let id = new.id;
        self.commit(Op::Session, vec![Mutation::CreateSession(new)])?;
        Ok(id)
    }

    /// Says the next turn of the session that the agent works in, where that stands.
    ///
    /// # Errors
    /// If it works in none, or in one that was ended or has run out ([`Actor::continue_session`] gives another), or the
    /// store fails.
    pub fn append_turn(&self, draft: NodeDraft) -> Result<Receipt> {
        let id = self.session.ok_or_else(|| OpsError::Invalid("this needs a session".to_owned()))?;
        if !self.loom.session(id)?.goes_on(self.loom.now()) {
            return Err(OpsError::Invalid("the session was ended, or has run out".to_owned()));
        }
        self.append(Parent::Position(id), draft)
    }

    /// Says something to another agent: it is the next turn of that agent's session, after the node where that stands,
    /// and the session that this agent works in goes along to it.
    ///
    /// # Errors
    /// If there is no such session, somebody else generates there, or the store fails.
    pub fn tell(&self, other: SessionId, draft: NodeDraft) -> Result<Receipt> {
        let node = self.draft(Parent::Position(other), draft);
        let patch = SessionPatch { position: Some(node.id), ..SessionPatch::default() };
        let mut mutations = vec![Mutation::Append(Box::new(node))];
        let own = self.session.filter(|own| *own != other);
        mutations.extend(own.map(|session| Mutation::UpdateSession { session, patch }));
        self.clone().in_session(other).commit(Op::Append, mutations)
    }

    /// Begins a session anew at a fresh root, in a tree of its own that has the old one's title, mode and system prompt:
    /// the root says `system`, or nothing, and is its next turn. Its register begins anew too; its turns are counted on, and
    /// nothing that was said is lost.
    ///
    /// # Errors
    /// If it is not there, or the store fails.
    pub fn reset_session(&self, id: SessionId, system: Option<&str>) -> Result<Node> {
        let session = self.loom.session(id)?;
        let old = self.loom.tree(session.tree)?;
        let tree = NewTree {
            id: self.loom.tree_id(),
            title: Some(old.title),
            description: old.description,
            mode: old.mode,
            system_context: old.system_context,
            created_at: self.loom.now(),
        };
        let root = NodeDraft { author_type: Some(AuthorType::System), ..NodeDraft::text(system.unwrap_or("")) };
        let root = self.draft(Parent::Root(tree.id), root);
        let (tree_id, root_id) = (tree.id, root.id);
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
        // The root is the session's next turn, so whatever else has a turn's number tells whether it was before.
        self.clone().in_session(id).commit(Op::Session, mutations)?;
        self.loom.node(root_id)
    }

    /// Ends a session: it can no longer be continued, and stays in the archive.
    ///
    /// # Errors
    /// If it is not there, or the store fails.
    pub fn end_session(&self, id: SessionId) -> Result<Receipt> {
        self.update_session(id, SessionPatch { active: Some(false), ..SessionPatch::default() })
    }
}

fn later(now: Timestamp, lasting: Duration) -> Timestamp {
    let lasting = i64::try_from(lasting.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_add(lasting))
}
