//! Sessions: started, moved about, ended.

use super::{Actor, Result};
use crate::{
    id::{NodeId, SessionId, TreeId},
    model::{NewSession, Op, SessionPatch},
    store::{Mutation, Receipt},
};

impl Actor {
    /// Starts a session of this agent at a node.
    ///
    /// # Errors
    /// If the node is not in the tree, or the store fails.
    pub fn start_session(&self, workspace: &str, tree: TreeId, position: Option<NodeId>) -> Result<SessionId> {
        let session = NewSession {
            id: self.loom.session_id(),
            workspace: workspace.to_owned(),
            agent: self.agent,
            tree,
            position,
            started_at: self.loom.now(),
            expires_at: None,
            metadata: std::collections::BTreeMap::new(),
        };
        let id = session.id;
        self.commit(Op::Session, vec![Mutation::CreateSession(session)])?;
        Ok(id)
    }

    /// Changes a session: its position, versions, state, metadata, whether it is active.
    ///
    /// # Errors
    /// If it is not there, a node is in another tree, or the store fails.
    pub fn update_session(&self, session: SessionId, patch: SessionPatch) -> Result<Receipt> {
        self.commit(Op::Session, vec![Mutation::UpdateSession { session, patch }])
    }

    /// Moves a session to a node of its tree. Standing on a version means reading that one.
    ///
    /// # Errors
    /// If the node is not in the session's tree, or the store fails.
    pub fn go_to(&self, session: SessionId, node: NodeId) -> Result<Receipt> {
        self.update_session(session, SessionPatch { position: Some(node), ..SessionPatch::default() })
    }

    /// Has a session read this version wherever its place is on the path.
    ///
    /// # Errors
    /// If the node is not in the session's tree, or the store fails.
    pub fn choose_version(&self, session: SessionId, version: NodeId) -> Result<Receipt> {
        let node = self.loom.node(version)?;
        let chosen = self.read_instead(&self.loom.session(session)?.versions, &node, version)?;
        self.update_session(session, SessionPatch { versions: Some(chosen), ..SessionPatch::default() })
    }
}
