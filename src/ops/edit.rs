//! Edit: a new node with changed content; the original never changes.
//!
//! In a dialogue tree the edit is a sibling: a new branch without continuations. In a buffer tree it is a version,
//! which shares the continuations of the original, so nothing is copied. A root has no siblings: its edit is a version
//! in both modes.

use std::collections::HashSet;

use super::{Actor, NodeDraft, OpsError, Result};
use crate::{
    id::NodeId,
    store::{Mutation, Receipt},
    types::{EdgeKind, Mode, NewNode, Node, Op, Parent, SessionPatch},
};

impl Actor {
    /// Appends an edit of a node.
    ///
    /// # Errors
    /// If the node does not exist or has the same content, or the store fails.
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
            Some(parent) if node.kind == EdgeKind::Annotation || !buffer && node.kind != EdgeKind::Version => {
                let new =
                    self.draft(Parent::Node(parent), NodeDraft { kind: Some(node.kind), ..NodeDraft::text(content) });
                NewNode { advance: !self.keeps_position && node.kind == EdgeKind::Continuation, ..new }
            }
            _ => NewNode { advance: at_node, ..self.build_version(&node, content)? },
        };
        new.edited_from = Some(node.id);
        // The editor is the author; the role remains that of the original.
        new.role = Some(node.role()).filter(|role| *role != new.author_type);
        let id = new.id;
        let is_version = new.kind == EdgeKind::Version;
        let mut mutations = self.append_in_tree(new, node.tree)?;
        if is_version && node.state.excluded {
            mutations.push(Mutation::SetExcluded { node: id, excluded: true });
        }
        if let Some(session) = session.filter(|s| is_version && !s.versions.is_empty()) {
            let versions = self.with_version(&session.versions, &node, id)?;
            let patch = SessionPatch { versions: Some(versions), ..SessionPatch::default() };
            mutations.push(Mutation::UpdateSession { session: session.id, patch });
        }
        // Both texts of a note would stand side by side.
        if node.kind == EdgeKind::Annotation && node.author == self.agent && node.state.continuations == 0 {
            mutations.push(Mutation::Prune { node: node.id });
        }
        self.commit(Op::Edit, mutations)
    }

    /// Saves an edited text of a path as one operation: an edit of each changed node, then a node with `appended` after
    /// `end`. Returns the new nodes in this order.
    ///
    /// # Errors
    /// As [`Actor::edit`] and [`Actor::append`], and if an edited node is not on the path or is edited twice; nothing is
    /// saved then.
    pub fn edit_path(&self, end: NodeId, edits: &[(NodeId, String)], appended: Option<&str>) -> Result<Vec<NodeId>> {
        self.transaction(|actor| {
            let mut nodes = Vec::with_capacity(edits.len() + 1);
            let mut places = actor.path_places(end, edits)?;
            for (node, content) in edits {
                if !places.remove(&actor.loom.version_base(&actor.loom.node(*node)?)?) {
                    return Err(OpsError::Invalid(format!("node {node} is not on the path, or is edited twice")));
                }
                nodes.extend(actor.edit(*node, content)?.nodes.first().map(|node| node.id));
            }
            if let Some(content) = appended {
                nodes.extend(
                    actor.append(Parent::Node(end), NodeDraft::text(content))?.nodes.first().map(|node| node.id),
                );
            }
            Ok(nodes)
        })
    }

    /// Returns the bases of the nodes of the path through the edited versions, if there are edits.
    fn path_places(&self, end: NodeId, edits: &[(NodeId, String)]) -> Result<HashSet<NodeId>> {
        if edits.is_empty() {
            return Ok(HashSet::new());
        }
        let mut selected = Vec::with_capacity(edits.len());
        for (id, _) in edits {
            // A transaction has one snapshot at a time.
            let node = self.loom.node(*id)?;
            selected.push(self.loom.snapshot()?.second_half(&node)?.map_or(*id, |half| half.id));
        }
        let path = self.loom.snapshot()?.path_back(end, &selected, 0)?;
        path.iter().map(|node| self.loom.version_base(node)).collect()
    }

    /// Builds a version of `node`.
    pub(super) fn build_version(&self, node: &Node, content: &str) -> Result<NewNode> {
        let parent = Parent::Node(node.parent.unwrap_or(node.id));
        let new = self.draft(parent, NodeDraft { kind: Some(EdgeKind::Version), ..NodeDraft::text(content) });
        // A first half is the base of its own versions, because only its second half follows it.
        let has_second_half = self.loom.snapshot()?.second_half(node)?.is_some();
        let place = if has_second_half { Some(node.id) } else { node.version_of.or(Some(node.id)) };
        Ok(NewNode { version_of: place, edited_from: Some(node.id), ..new })
    }

    /// Replaces the other versions of `node` in a session's selection by `new`.
    pub(super) fn with_version(&self, chosen: &[NodeId], node: &Node, new: NodeId) -> Result<Vec<NodeId>> {
        let others = self.loom.snapshot()?.versions(node.id)?;
        let mut versions: Vec<NodeId> =
            chosen.iter().copied().filter(|v| *v != new && others.iter().all(|o| o.id != *v)).collect();
        versions.push(new);
        Ok(versions)
    }
}
