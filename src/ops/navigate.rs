//! Sessions moved about.

use super::{Actor, Loom, OpsError, Result};
use crate::{
    id::{NodeId, SessionId},
    store::{ChildFilter, Mutation, Receipt},
    types::{EdgeKind, Node, Op, Session, SessionPatch},
};

/// Where a session keeps the position it came from.
const BACK: &str = "loom.back";

impl Loom {
    /// The node before `at` on the path that `versions` choose; `None` for the root.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn before(&self, at: &Node, versions: &[NodeId]) -> Result<Option<Node>> {
        let path = self.snapshot()?.path_back(at.id, versions, 2)?;
        Ok(path.into_iter().next().filter(|node| node.id != at.id))
    }

    /// The next or previous child of the same parent, after the last the first; `None` if there is no other.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn sibling(&self, at: &Node, next: bool) -> Result<Option<Node>> {
        let Some(parent) = at.parent else { return Ok(None) };
        let place = at.version_of.unwrap_or(at.id);
        let siblings = self.snapshot()?.children(parent, &ways_on())?;
        let Some(index) = siblings.iter().position(|node| node.id == place) else { return Ok(None) };
        let step = if next { 1 } else { siblings.len() - 1 };
        Ok(siblings.get((index + step) % siblings.len()).filter(|node| node.id != place).cloned())
    }

    /// True if the node has more than one continuation.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn has_branches(&self, node: &Node) -> Result<bool> {
        Ok(self.snapshot()?.children(node.id, &ways_on())?.len() > 1)
    }

    /// The end that is reached by always taking the newest continuation: `at` itself if nothing continues it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn leaf(&self, at: &Node) -> Result<Node> {
        Ok(self.snapshot()?.leaf(at.id)?.unwrap_or_else(|| at.clone()))
    }

    /// Where a session was before it last went elsewhere.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn back(&self, session: &Session) -> Result<Option<Node>> {
        session.metadata.get(BACK).and_then(|id| id.parse().ok()).map(|id| self.node(id)).transpose()
    }
}

fn ways_on() -> ChildFilter {
    ChildFilter { kind: Some(EdgeKind::Continuation), pruned: false, limit: 0 }
}

impl Actor {
    /// Moves a session to a node of its tree. Standing on a version means reading that one.
    ///
    /// # Errors
    /// If the node is not in the session's tree, or the store fails.
    pub fn go_to(&self, session: SessionId, node: NodeId) -> Result<Receipt> {
        self.update_session(session, SessionPatch { position: Some(node), ..SessionPatch::default() })
    }

    /// Moves a session to a visible node of its tree, and remembers where it was. Standing on a version means reading
    /// that one from now on.
    ///
    /// # Errors
    /// If the node is in another tree or pruned, or the store fails.
    pub fn switch(&self, session: &Session, node: &Node) -> Result<Receipt> {
        if node.state.pruned_by.is_some() {
            return Err(OpsError::Invalid(format!("[{}] is pruned", node.local)));
        }
        let mut metadata = session.metadata.clone();
        if let Some(from) = session.position.filter(|from| *from != node.id) {
            metadata.insert(BACK.to_owned(), from.to_string());
        }
        let mut patch = SessionPatch { position: Some(node.id), metadata: Some(metadata), ..SessionPatch::default() };
        if node.state.versions > 0 || node.kind == EdgeKind::Version {
            patch.versions = Some(self.read_instead(&session.versions, node, node.id)?);
        }
        self.update_session(session.id, patch)
    }

    /// Takes a session to where the conversation went on without it: nothing that the agent did, so its trace does not
    /// tell. Standing on a version means reading that one.
    ///
    /// # Errors
    /// If the node is in another tree, or the store fails.
    pub fn stand(&self, session: &Session, node: &Node) -> Result<Receipt> {
        let mut patch = SessionPatch { position: Some(node.id), ..SessionPatch::default() };
        if node.state.versions > 0 || node.kind == EdgeKind::Version {
            patch.versions = Some(self.read_instead(&session.versions, node, node.id)?);
        }
        self.commit(Op::Turn, vec![Mutation::UpdateSession { session: session.id, patch }])
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
