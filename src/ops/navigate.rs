//! Navigation: reads of neighbouring nodes, and moves of a session's position.

use super::{Actor, Loom, OpsError, Result, split_parts::parts_after};
use crate::{
    id::{NodeId, SessionId},
    store::{ChildFilter, Mutation, Pending, Receipt, Snapshot, StoreError},
    types::{EdgeKind, Node, Op, Session, SessionPatch, Tree},
};

/// Key of the session's metadata that holds the previous position.
const PREVIOUS_POSITION_KEY: &str = "loom.back";
/// Nodes by which a conversation can go on without leaving its branch.
const MAX_FOLLOWED_NODES: u32 = 32;

/// Checks that a node is not pruned: what is added to a pruned branch is hidden too.
///
/// # Errors
/// If the node is pruned.
pub fn require_visible(node: &Node) -> Result<()> {
    match node.state.hidden_by {
        None => Ok(()),
        Some(_) => Err(OpsError::Invalid(format!("[{}] is pruned; restore it first", node.local))),
    }
}

/// Checks that a node of a kind can be added under a node. A continuation needs a visible message: under a note or another
/// attached node it would be on no path.
///
/// # Errors
/// If the parent is pruned, or is no message and `kind` continues it.
pub fn require_parent(parent: &Node, kind: EdgeKind) -> Result<()> {
    require_visible(parent)?;
    match parent.kind {
        EdgeKind::Annotation | EdgeKind::Thought | EdgeKind::Tool if kind == EdgeKind::Continuation => Err(
            OpsError::Invalid(format!("[{}] is {}; write at the node that it belongs to", parent.local, parent.kind)),
        ),
        _ => Ok(()),
    }
}

/// Returns the version of an original node that a path through the selected versions has: the selected one, else the newest.
///
/// # Errors
/// If the store cannot be read.
pub fn selected_version(snapshot: &dyn Snapshot, place: &Node, selected: &[NodeId]) -> Result<Node, StoreError> {
    if place.state.versions == 0 {
        return Ok(place.clone());
    }
    let mut versions = snapshot.versions(place.id)?;
    let chosen = selected.iter().find_map(|id| versions.iter().position(|node| node.id == *id));
    let Some(at) = chosen.or(versions.len().checked_sub(1)) else { return Ok(place.clone()) };
    let mut chosen = versions.swap_remove(at);
    chosen.state.versions = place.state.versions;
    chosen.state.continuations = place.state.continuations;
    Ok(chosen)
}

impl Actor {
    /// Shows others that the session's person reads this node. The session keeps its position, and no entry of the
    /// journal names it.
    pub fn show_cursor(&self, node: NodeId) -> Pending {
        self.submit(Op::Session, vec![Mutation::ShowCursor { node }])
    }
}

impl Loom {
    /// Returns the node before `at` on the path through the selected versions; `None` for the root.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn parent_on_path(&self, at: &Node, versions: &[NodeId]) -> Result<Option<Node>> {
        let path = self.snapshot()?.path_back(at.id, versions, 2)?;
        Ok(path.into_iter().next().filter(|node| node.id != at.id))
    }

    /// Returns the version of a node that a path through the selected versions has: the node itself if it is a version.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn version_on_path(&self, node: &Node, versions: &[NodeId]) -> Result<Node> {
        match node.kind {
            EdgeKind::Continuation => Ok(selected_version(&*self.snapshot()?, node, versions)?),
            _ => Ok(node.clone()),
        }
    }

    /// Returns the root of a tree in the version that a path through the selected versions has.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn root_on_path(&self, root: NodeId, versions: &[NodeId]) -> Result<Node> {
        let snapshot = self.snapshot()?;
        let selected = selected_version(&*snapshot, &self.node(root)?, versions)?;
        // Earlier parts are before the selected one.
        let path = snapshot.path_back(selected.id, versions, 0)?;
        Ok(path.into_iter().next().unwrap_or(selected))
    }

    /// Returns the node that all versions of `node` share as their base: `node` itself if it is no version.
    pub(super) fn version_base(&self, node: &Node) -> Result<NodeId> {
        let mut place = (node.id, node.version_of);
        while let (_, Some(of)) = place {
            place = (of, self.node(of)?.version_of);
        }
        Ok(place.0)
    }

    /// Returns the next or previous continuation of the same parent, cyclically; `None` if there is no other.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn sibling(&self, at: &Node, next: bool) -> Result<Option<Node>> {
        let snapshot = self.snapshot()?;
        let place = snapshot.original(at)?;
        let Some(parent) = place.parent else { return Ok(None) };
        let siblings = snapshot.children(parent, &visible_continuations(0))?;
        let Some(index) = siblings.iter().position(|node| node.id == place.id) else { return Ok(None) };
        let step = if next { 1 } else { siblings.len() - 1 };
        Ok(siblings.get((index + step) % siblings.len()).filter(|node| node.id != place.id).cloned())
    }

    /// True if the node has more than one continuation.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn has_branches(&self, node: &Node) -> Result<bool> {
        Ok(self.snapshot()?.children(node.id, &visible_continuations(2))?.len() > 1)
    }

    /// Returns the leaf that the newest continuations lead to, in the version that a path through the selected versions
    /// has. It is `at` if nothing follows.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn leaf(&self, at: &Node, versions: &[NodeId]) -> Result<Node> {
        let (leaf, last_part) = {
            let snapshot = self.snapshot()?;
            let place = snapshot.original(at)?;
            let leaf = snapshot.leaf(place.id)?.filter(|leaf| leaf.id != place.id);
            (leaf, parts_after(&*snapshot, at, versions)?.pop())
        };
        match (leaf, last_part) {
            (Some(leaf), _) => self.version_on_path(&leaf, versions),
            (None, Some(part)) => Ok(part),
            (None, None) => self.version_on_path(at, versions),
        }
    }

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

fn visible_continuations(limit: u32) -> ChildFilter {
    ChildFilter { kind: Some(EdgeKind::Continuation), pruned: false, limit }
}

impl Actor {
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
