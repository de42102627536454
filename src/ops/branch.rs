//! Copy and move of a branch to another node, in the same or another tree. A move is a copy and a prune, so the
//! original branch can be restored.

use super::{Actor, NodeDraft, OpsError, Result, require_visible};
use crate::{
    id::NodeId,
    store::{Mutation, Receipt},
    types::{EdgeKind, NewNode, Node, Op, Parent},
};

impl Actor {
    /// Copies a node and its visible descendants under `to`; with the first half of a split also the second. The first
    /// node of the receipt is the copy.
    ///
    /// # Errors
    /// If a node does not exist, `from` is a note or the like, or the store fails.
    pub fn copy_branch(&self, from: NodeId, to: NodeId) -> Result<Receipt> {
        let node = self.conversation_node(from)?;
        require_visible(&self.loom.node(to)?)?;
        // A snapshot must not stay open while a transaction commits.
        let second = self.loom.snapshot()?.second_half(&node)?;
        match second {
            Some(second) => self.transaction(|actor| actor.copy_halves(Op::Copy, &node, second.id, to)),
            None => self.commit(Op::Copy, vec![Mutation::CopyBranch { from, to, id: self.loom.node_id() }]),
        }
    }

    /// Moves a node and its visible descendants under `to`: copies them, and prunes the original.
    ///
    /// # Errors
    /// If `to` is inside the branch, `from` is a root, already a child of `to`, a note or the like or the second half of a
    /// split, or the store fails.
    pub fn move_branch(&self, from: NodeId, to: NodeId) -> Result<Receipt> {
        let node = self.conversation_node(from)?;
        require_visible(&self.loom.node(to)?)?;
        if node.parent == Some(to) {
            return Err(OpsError::Invalid(format!("[{}] is already a child of that node", node.local)));
        }
        let before = node.parent.map(|parent| self.loom.node(parent)).transpose()?;
        if let Some(first) = before.filter(|before| node.is_second_half_of(before)) {
            let message = format!("[{}] is the second half of a split: move the first, [{}]", node.local, first.local);
            return Err(OpsError::Invalid(message));
        }
        // A version stands for its original on the path.
        let (place, path, second) = {
            let snapshot = self.loom.snapshot()?;
            (snapshot.original(&node)?.id, snapshot.path_back(to, &[], 0)?, snapshot.second_half(&node)?)
        };
        let inside = path.iter().any(|n| n.id == from || n.id == place || n.version_of == Some(place));
        if inside {
            return Err(OpsError::Invalid(format!("[{}] cannot be moved into its own branch", node.local)));
        }
        // Of an edited passage all versions go.
        let prune = Mutation::Prune { node: place };
        if let Some(second) = second {
            return self.transaction(|actor| {
                let copied = actor.copy_halves(Op::Move, &node, second.id, to)?;
                actor.commit(Op::Move, vec![prune])?;
                Ok(copied)
            });
        }
        let id = self.loom.node_id();
        self.commit(Op::Move, vec![Mutation::CopyBranch { from, to, id }, prune])
    }

    /// Copies the first half of a split, then the second with what follows.
    fn copy_halves(&self, op: Op, first: &Node, second: NodeId, to: NodeId) -> Result<Receipt> {
        // As every copy, it says what it is a copy of.
        let metadata = Some(serde_json::json!({ "copied_from": first.id }).into());
        let head = self.draft(Parent::Node(to), NodeDraft::text(&first.content));
        let head = NewNode {
            author: first.author,
            author_type: first.author_type,
            role: first.role,
            advance: false,
            metadata,
            ..head
        };
        let copy = head.id;
        let mut receipt = self.commit(op, vec![Mutation::Append(Box::new(head))])?;
        let rest = self.commit(op, vec![Mutation::CopyBranch { from: second, to: copy, id: self.loom.node_id() }])?;
        receipt.nodes.extend(rest.nodes);
        receipt.affected = rest.affected + 1;
        Ok(receipt)
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
