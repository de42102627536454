//! The position of a session: the node at which it stands, the one before, and moves.

use super::{Actor, Loom, OpsError, Result, navigate::require_visible, split_parts::parts_after};
use crate::{
    id::{NodeId, SessionId},
    store::{Mutation, PendingCommit, Receipt},
    types::{EdgeKind, Node, Op, Session, SessionPatch, Tree},
};

/// Key of the session's metadata that holds the previous position.
const PREVIOUS_POSITION_KEY: &str = "loom.back";
/// Nodes by which a conversation can go on without leaving its branch.
const MAX_FOLLOWED_NODES: u32 = 32;

impl Loom {
    /// Returns the position of a session in a tree, or the end of the conversation without one.
    ///
    /// # Errors
    /// [`OpsError::NotFound`] if the tree has no root, or if the store cannot be read.
    pub fn position(&self, tree: &Tree, session: Option<&Session>) -> Result<Node> {
        if let Some(position) = session.and_then(|session| session.position) {
            return self.node(position);
        }
        let root = tree.root.ok_or_else(|| OpsError::missing("root of the tree", tree.id))?;
        self.leaf(&self.node(root)?, session.map_or(&[], |session| &session.versions))
    }

    /// Returns the position of a session before its last switch.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn previous_position(&self, session: &Session) -> Result<Option<Node>> {
        session.metadata.get(PREVIOUS_POSITION_KEY).and_then(|id| id.parse().ok()).map(|id| self.node(id)).transpose()
    }
}

impl Actor {
    /// Shows others that the session's person reads this node. The session keeps its position, and no entry of the
    /// journal names it.
    pub fn show_cursor(&self, node: NodeId) -> PendingCommit {
        self.submit(Op::Session, vec![Mutation::ShowCursor { node }])
    }

    /// Moves a session to a node of its tree, without recording the previous position.
    ///
    /// # Errors
    /// If the node is not in the session's tree, or the store fails.
    pub fn switch_to(&self, session: SessionId, node: NodeId) -> Result<Receipt> {
        self.update_session(session, SessionPatch { position: Some(node), ..SessionPatch::default() })
    }

    /// Moves a session to a visible node of its tree, and records the previous position. A move to a version selects
    /// it.
    ///
    /// # Errors
    /// If the node is in another tree or pruned, or the store fails.
    pub fn switch(&self, session: &Session, node: &Node) -> Result<Receipt> {
        require_visible(node)?;
        let mut patch = SessionPatch { position: Some(node.id), ..SessionPatch::default() };
        if let Some(from) = session.position.filter(|from| *from != node.id) {
            patch = patch.metadata(PREVIOUS_POSITION_KEY, from.to_string());
        }
        patch.versions = self.selection_at(session, node)?;
        self.update_session(session.id, patch)
    }

    /// Moves a session to a position that the conversation reached without it. A move to a version selects it.
    ///
    /// The agent did not act, so its action trace does not show the move. The previous position is recorded unless the
    /// conversation went on from it.
    ///
    /// # Errors
    /// If the node is in another tree, or the store fails.
    pub fn set_position(&self, session: &Session, node: &Node) -> Result<Receipt> {
        let mut patch = SessionPatch { position: Some(node.id), ..SessionPatch::default() };
        if let Some(from) = session.position.filter(|from| *from != node.id)
            && !self.follows(node, from)?
        {
            patch = patch.metadata(PREVIOUS_POSITION_KEY, from.to_string());
        }
        patch.versions = self.selection_at(session, node)?;
        self.commit(Op::Turn, vec![Mutation::UpdateSession { session: session.id, patch }])
    }

    /// Returns the versions that a session selects when it moves to a node; `None` if they stay. Of several parts the last is
    /// selected, since what follows it follows all parts, and the part itself if it has versions of its own.
    fn selection_at(&self, session: &Session, node: &Node) -> Result<Option<Vec<NodeId>>> {
        if node.state.versions == 0 && node.kind != EdgeKind::Version {
            return Ok(None);
        }
        let snapshot = self.loom.snapshot()?;
        let last = parts_after(&*snapshot, node, &session.versions)?.pop();
        if last.is_some() {
            for version in &session.versions {
                let path = snapshot.path_back(*version, &session.versions, 0)?;
                if path.iter().any(|above| above.id == node.id) {
                    return Ok(None);
                }
            }
        }
        // A transaction has one snapshot at a time.
        drop(snapshot);
        let Some(last) = last else { return self.with_version(&session.versions, node, node.id).map(Some) };
        let mut selected = self.with_version(&session.versions, &last, last.id)?;
        if node.version_of.is_some() || node.state.versions > 0 {
            let others = self.loom.snapshot()?.versions(node.id)?;
            selected.retain(|version| *version == last.id || others.iter().all(|other| other.id != *version));
            selected.push(node.id);
        }
        Ok(Some(selected))
    }

    /// True if `from` is one of the last nodes on the path to `node`.
    fn follows(&self, node: &Node, from: NodeId) -> Result<bool> {
        let path = self.loom.snapshot()?.path_back(node.id, &[], MAX_FOLLOWED_NODES)?;
        Ok(path.iter().any(|above| above.id == from))
    }

    /// Selects a version for the paths of a session.
    ///
    /// # Errors
    /// If the node is not in the session's tree, or the store fails.
    pub fn choose_version(&self, session: SessionId, version: NodeId) -> Result<Receipt> {
        let node = self.loom.node(version)?;
        let chosen = self.with_version(&self.loom.session(session)?.versions, &node, version)?;
        self.update_session(session, SessionPatch { versions: Some(chosen), ..SessionPatch::default() })
    }
}
