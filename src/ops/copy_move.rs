//! Copy and move of a branch to another node, in the same or another tree. A move is a copy and a prune, so the
//! original branch can be restored.

use super::{
    Actor, OpsError, Result, require_parent,
    split_parts::{parts_after, parts_to},
};
use crate::{
    id::NodeId,
    store::{ChildFilter, Mutation, Receipt, Snapshot, copy_of},
    types::{EdgeKind, Node, Op, SessionPatch},
};

/// Nodes of a tree in which a session goes along with a moved branch. A larger branch is moved in slices, without sessions.
const MAX_FOLLOWED_NODES: u64 = 4_096;

impl Actor {
    /// Copies a node and its visible descendants under `to`; with a part of a node also the parts that follow it, in the
    /// versions that the session has selected. The first node of the receipt is the copy.
    ///
    /// # Errors
    /// If a node does not exist, `from` is a note or the like, or the store fails.
    pub fn copy_branch(&self, from: NodeId, to: NodeId) -> Result<Receipt> {
        let node = self.conversation_node(from)?;
        require_parent(&self.loom.node(to)?, EdgeKind::Continuation)?;
        let parts = self.parts_from(&node)?;
        match parts.as_slice() {
            [] => self.commit(Op::Copy, vec![Mutation::CopyBranch { from, to, id: self.loom.node_id() }]),
            parts => self.transaction(|actor| actor.copy_parts(Op::Copy, &node, parts, to)),
        }
    }

    /// Moves a node and its visible descendants under `to`: copies them, and prunes the original. A session of the actor
    /// whose position is among them goes along.
    ///
    /// # Errors
    /// If `to` is inside the branch, `from` is a root, already a child of `to`, a note or the like or the second half of a
    /// split, or the store fails.
    pub fn move_branch(&self, from: NodeId, to: NodeId) -> Result<Receipt> {
        let node = self.conversation_node(from)?;
        require_parent(&self.loom.node(to)?, EdgeKind::Continuation)?;
        if node.parent == Some(to) {
            return Err(OpsError::Invalid(format!("[{}] is already a child of that node", node.local)));
        }
        let parts = parts_to(&*self.loom.snapshot()?, &node, &[])?;
        if let [first, .., _] = parts.as_slice() {
            let message = format!("[{}] is the second half of a split: move the first, [{}]", node.local, first.local);
            return Err(OpsError::Invalid(message));
        }
        // A version stands for its original on the path.
        let parts = self.parts_from(&node)?;
        let (place, path) = {
            let snapshot = self.loom.snapshot()?;
            (snapshot.original(&node)?.id, snapshot.path_back(to, &[], 0)?)
        };
        let inside = path.iter().any(|n| n.id == from || n.id == place || n.version_of == Some(place));
        if inside {
            return Err(OpsError::Invalid(format!("[{}] cannot be moved into its own branch", node.local)));
        }
        // Of an edited passage all versions go.
        let prune = Mutation::Prune { node: place };
        let copy = Mutation::CopyBranch { from, to, id: self.loom.node_id() };
        let position = self.path_of_position(place, to)?;
        if parts.is_empty() && position.is_empty() {
            return self.commit(Op::Move, vec![copy, prune]);
        }
        self.transaction(|actor| {
            let copied = match parts.is_empty() {
                true => actor.commit(Op::Move, vec![copy])?,
                false => actor.copy_parts(Op::Move, &node, &parts, to)?,
            };
            let mut hidden = vec![prune];
            if let (Some(session), [first, ..]) = (self.session.filter(|_| !position.is_empty()), &*copied.nodes) {
                let position = copy_of_position(&*actor.loom.snapshot()?, first.id, &position)?;
                let patch = SessionPatch { position: Some(position), ..SessionPatch::default() };
                hidden.insert(0, Mutation::UpdateSession { session, patch });
            }
            actor.commit(Op::Move, hidden)?;
            Ok(copied)
        })
    }

    /// Returns the nodes from `top` to the session's position if the session goes along with a move to `to`: it stands in
    /// the branch, stays in its tree, and the tree is not so large that other writers would wait for the move.
    fn path_of_position(&self, top: NodeId, to: NodeId) -> Result<Vec<NodeId>> {
        let Some(session) = self.session.map(|session| self.loom.session(session)).transpose()? else {
            return Ok(Vec::new());
        };
        let Some(position) = session.position else { return Ok(Vec::new()) };
        let target = self.loom.tree(self.loom.node(to)?.tree)?;
        if target.id != session.tree || target.counts.nodes > MAX_FOLLOWED_NODES {
            return Ok(Vec::new());
        }
        let path = self.loom.snapshot()?.path_back(position, &session.versions, 0)?;
        let start = path.iter().position(|node| node.id == top || node.version_of == Some(top));
        Ok(start.map_or_else(Vec::new, |start| path[start..].iter().map(|node| node.id).collect()))
    }

    /// Returns the parts that follow a node, in the versions that the session has selected.
    fn parts_from(&self, node: &Node) -> Result<Vec<Node>> {
        let session = self.session.map(|session| self.loom.session(session)).transpose()?;
        let selected = session.map(|session| session.versions).unwrap_or_default();
        // A snapshot must not stay open while a transaction commits.
        Ok(parts_after(&*self.loom.snapshot()?, node, &selected)?)
    }

    /// Copies the first part of a node and its notes, then the others, the last with what follows.
    fn copy_parts(&self, op: Op, first: &Node, parts: &[Node], to: NodeId) -> Result<Receipt> {
        let (mut parent, mut nodes, mut affected) = (to, Vec::with_capacity(parts.len()), 0);
        let (last, between) = parts.split_last().ok_or_else(|| OpsError::missing("part", first.id))?;
        for part in std::iter::once(first).chain(between) {
            let copy = copy_of(part.clone(), (self.loom.node_id(), parent), true, [None; 2])?;
            parent = copy.id;
            nodes.extend(self.commit(op, vec![Mutation::Append(Box::new(copy))])?.nodes);
            affected += 1;
            affected += self.copy_notes(op, part.id, parent)?;
        }
        let copy = Mutation::CopyBranch { from: last.id, to: parent, id: self.loom.node_id() };
        let rest = self.commit(op, vec![copy])?;
        nodes.extend(rest.nodes);
        Ok(Receipt { nodes, affected: affected + rest.affected, ..rest })
    }

    /// Copies the notes of a node, with the notes on them, under its copy. Returns their number.
    fn copy_notes(&self, op: Op, from: NodeId, to: NodeId) -> Result<u64> {
        let children = self.loom.snapshot()?.children(from, &ChildFilter::default())?;
        let is_note = |child: &Node| !matches!(child.kind, EdgeKind::Continuation | EdgeKind::Version);
        let mut copied = 0;
        for note in children.into_iter().filter(is_note) {
            let (original, id) = (note.id, self.loom.node_id());
            let copy = copy_of(note, (id, to), false, [None; 2])?;
            self.commit(op, vec![Mutation::Append(Box::new(copy))])?;
            copied += 1 + self.copy_notes(op, original, id)?;
        }
        Ok(copied)
    }

    /// Returns a node that can be copied: one of the conversation.
    fn conversation_node(&self, id: NodeId) -> Result<Node> {
        let node = self.loom.node(id)?;
        if matches!(node.kind, EdgeKind::Continuation | EdgeKind::Version) {
            return Ok(node);
        }
        let (local, kind) = (&node.local, node.kind);
        Err(OpsError::Invalid(format!("[{local}] is {kind}; only nodes of the conversation can be copied or moved")))
    }
}

/// Follows the path to a position down a copy of its branch, as far as it was copied. `first` is the copy of the branch's
/// first node.
fn copy_of_position(snapshot: &dyn Snapshot, first: NodeId, path: &[NodeId]) -> Result<NodeId> {
    let first = snapshot.node(first)?.ok_or_else(|| OpsError::missing("node", first))?;
    let copy_below = |parent: NodeId, original: NodeId| -> Result<Option<Node>> {
        for kind in [EdgeKind::Continuation, EdgeKind::Version] {
            let children = snapshot.children(parent, &ChildFilter::default().kind(kind))?;
            if let Some(copy) = children.into_iter().find(|child| copied_from(child) == Some(original)) {
                return Ok(Some(copy));
            }
        }
        Ok(None)
    };
    // The path may have another version of the branch's first node.
    let beside = first.parent.map(|parent| copy_below(parent, path[0])).transpose()?.flatten();
    let mut copy = beside.unwrap_or_else(|| first.clone());
    for original in &path[1..] {
        // What follows an edited node continues the node that it is a version of.
        let parents = [Some(copy.id), copy.version_of];
        let mut next = None;
        for parent in parents.into_iter().flatten() {
            next = copy_below(parent, *original)?;
            if next.is_some() {
                break;
            }
        }
        match next {
            Some(next) => copy = next,
            None => break,
        }
    }
    Ok(copy.id)
}

/// Returns the node that a node is a copy of.
fn copied_from(node: &Node) -> Option<NodeId> {
    let metadata = node.metadata.as_ref()?.value().ok()?;
    metadata["copied_from"].as_str()?.parse().ok()
}
