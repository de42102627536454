//! Edit: another wording of a node, which itself never changes.
//!
//! In a dialogue tree the new wording is a sibling: a branch, with nothing after it yet. In a buffer tree it is a
//! version: what follows the original follows it too, and nothing is copied. The root has no siblings, so it gets a
//! version in either mode.

use super::{Actor, NodeDraft, OpsError, Result};
use crate::{
    id::NodeId,
    store::{ChildFilter, Mutation, Receipt},
    types::{EdgeKind, Mode, NewNode, Node, Op, Parent, SessionPatch},
};

impl Actor {
    /// Writes another wording of a node.
    ///
    /// # Errors
    /// If the node is not there or is worded so already, or the store fails.
    pub fn edit(&self, node: NodeId, content: &str) -> Result<Receipt> {
        let node = self.loom.node(node)?;
        if node.purged_at.is_some() {
            return Err(OpsError::Invalid(format!("[{}] was purged; there is nothing to edit", node.local)));
        }
        if node.content == content {
            return Err(OpsError::Invalid(format!("[{}] already has this text", node.local)));
        }
        let buffer = self.loom.tree(node.tree)?.mode == Mode::Buffer;
        let session = self.session.map(|s| self.loom.session(s)).transpose()?;
        let at_node = session.as_ref().is_some_and(|s| s.position == Some(node.id));
        let mut new = match node.parent {
            Some(parent) if !buffer && node.kind != EdgeKind::Version => {
                let new =
                    self.draft(Parent::Node(parent), NodeDraft { kind: Some(node.kind), ..NodeDraft::text(content) });
                NewNode { advance: node.kind == EdgeKind::Continuation, ..new }
            }
            _ => NewNode { advance: at_node, ..self.version(&node, content)? },
        };
        new.edited_from = Some(node.id);
        // The editor is the author; for the model the words stay those of the original's speaker.
        new.role = Some(node.role()).filter(|role| *role != new.author_type);
        let mut mutations = Vec::new();
        let id = new.id;
        let is_version = new.kind == EdgeKind::Version;
        mutations.push(Mutation::Append(Box::new(new)));
        if let Some(session) = session.filter(|s| is_version && !s.versions.is_empty()) {
            let versions = self.read_instead(&session.versions, &node, id)?;
            let patch = SessionPatch { versions: Some(versions), ..SessionPatch::default() };
            mutations.push(Mutation::UpdateSession { session: session.id, patch });
        }
        self.commit(Op::Edit, mutations)
    }

    /// A version of `node`.
    pub(super) fn version(&self, node: &Node, content: &str) -> Result<NewNode> {
        let parent = Parent::Node(node.parent.unwrap_or(node.id));
        let new = self.draft(parent, NodeDraft { kind: Some(EdgeKind::Version), ..NodeDraft::text(content) });
        // The first half of a split stands for itself: the other half follows it, not the whole that was split.
        let halved = self.is_first_half(node)?;
        let place = if halved { Some(node.id) } else { node.version_of.or(Some(node.id)) };
        Ok(NewNode { version_of: place, edited_from: Some(node.id), ..new })
    }

    /// The node whose place this one takes in the end: itself, unless it is a version, perhaps of a version.
    pub(super) fn place(&self, node: &Node) -> Result<NodeId> {
        let mut place = (node.id, node.version_of);
        while let (_, Some(of)) = place {
            place = (of, self.loom.node(of)?.version_of);
        }
        Ok(place.0)
    }

    fn is_first_half(&self, node: &Node) -> Result<bool> {
        if node.kind != EdgeKind::Version || node.edited_from.is_none() {
            return Ok(false);
        }
        let filter = ChildFilter { kind: Some(EdgeKind::Version), pruned: true, limit: 0 };
        let halves = self.loom.snapshot()?.children(node.id, &filter)?;
        Ok(halves.iter().any(|half| half.edited_from == node.edited_from))
    }

    /// A session's choice of versions with `new` in the place of every other wording of `node`.
    pub(super) fn read_instead(&self, chosen: &[NodeId], node: &Node, new: NodeId) -> Result<Vec<NodeId>> {
        let others = self.loom.snapshot()?.versions(node.id)?;
        let mut versions: Vec<NodeId> =
            chosen.iter().copied().filter(|v| *v != new && others.iter().all(|o| o.id != *v)).collect();
        versions.push(new);
        Ok(versions)
    }
}
