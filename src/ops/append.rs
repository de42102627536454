//! Append: continue, respond, fork. A node can be appended to any node. If the parent has continuations, the new node
//! starts a branch. Only the new node is written.

use super::{Actor, OpsError, Result};
use crate::{
    id::{NodeId, TreeId},
    store::{Mutation, Receipt},
    types::{AuthorType, EdgeKind, Json, NewNode, Node, Op, Parent, SessionPatch, ToolCallFields, setters},
};

/// Content and options of a node to be appended. Text converts into a draft of a continuation.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct NodeDraft {
    /// Text of the node.
    pub content: String,
    /// Kind of the edge to the parent; `None`: a continuation.
    pub kind: Option<EdgeKind>,
    /// Kind of the author, if it differs from the agent's: `tool` for a tool result.
    pub author_type: Option<AuthorType>,
    /// Original output of the model, if it differs from `content`.
    pub raw: Option<String>,
    /// Calls of the node, or the call that it answers.
    pub tool: ToolCallFields,
    /// Number of tokens; `None` if it was not counted.
    pub tokens: Option<u32>,
    /// True if the generation of the content was interrupted.
    pub interrupted: bool,
    /// Metadata as JSON, stored verbatim.
    pub metadata: Option<Json>,
    /// Provider's response metadata as JSON.
    pub provenance: Option<Json>,
    /// True if the session's position does not move to the node.
    pub keep_position: bool,
}

setters!(NodeDraft {
    /// Sets the kind of the edge to the parent.
    kind(option EdgeKind);
    /// Sets the kind of the author, if it differs from the agent's.
    author_type(option AuthorType);
    /// Sets the original output of the model.
    raw(some into String);
    /// Sets the calls of the node, or the call that it answers.
    tool(ToolCallFields);
    /// Sets the number of tokens.
    tokens(some u32);
    /// Sets whether the generation was interrupted.
    interrupted(bool);
    /// Sets the metadata.
    metadata(option Json);
    /// Sets the provider's response metadata.
    provenance(option Json);
    /// Sets whether the session's position stays.
    keep_position(bool);
});

impl NodeDraft {
    /// Creates a draft of a continuation with this text.
    #[must_use]
    pub fn text(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }
}

impl From<&str> for NodeDraft {
    fn from(content: &str) -> Self {
        Self::text(content)
    }
}

impl From<String> for NodeDraft {
    fn from(content: String) -> Self {
        Self::text(content)
    }
}

impl Actor {
    /// Appends a node under `parent` and moves the session's position to it.
    ///
    /// # Errors
    /// If the parent does not exist, or the store fails.
    pub fn append(&self, parent: impl Into<Parent>, draft: impl Into<NodeDraft>) -> Result<Receipt> {
        self.commit(Op::Append, vec![Mutation::Append(Box::new(self.draft(parent.into(), draft.into())))])
    }

    /// Builds a node by this agent, without appending it.
    #[must_use]
    pub fn draft(&self, parent: Parent, draft: NodeDraft) -> NewNode {
        let (agent, own) = self.author();
        let author = (agent, draft.author_type.unwrap_or(own));
        let kind = draft.kind.unwrap_or(EdgeKind::Continuation);
        NewNode {
            kind,
            raw: draft.raw,
            tool: draft.tool,
            tokens: draft.tokens,
            interrupted: draft.interrupted,
            metadata: draft.metadata,
            provenance: draft.provenance,
            advance: !draft.keep_position && !self.keeps_position && kind == EdgeKind::Continuation,
            ..NewNode::new(self.loom.node_id(), parent, author, self.loom.now(), draft.content)
        }
    }

    /// Returns the mutations that append a node. A node that does not continue the session's position moves the session
    /// by a mutation of its own, so that an undo moves the session back.
    ///
    /// # Errors
    /// If the session or the parent does not exist, or the store fails.
    pub fn append_mutations(&self, node: NewNode) -> Result<Vec<Mutation>> {
        match (self.session, node.parent) {
            (Some(_), Parent::Node(parent)) => self.append_in_tree(node, self.loom.node(parent)?.tree),
            _ => Ok(vec![Mutation::Append(Box::new(node))]),
        }
    }

    /// Returns the mutations that append a node to this tree, as [`Actor::append_mutations`]. Its parent may be new.
    pub(super) fn append_in_tree(&self, mut node: NewNode, tree: TreeId) -> Result<Vec<Mutation>> {
        let session = self.session.filter(|_| node.advance).map(|session| self.loom.session(session)).transpose()?;
        let left = session.filter(|session| {
            session.tree == tree && session.position.is_some_and(|position| Parent::Node(position) != node.parent)
        });
        node.advance &= left.is_none();
        let moved = left.map(|session| {
            let patch = SessionPatch { position: Some(node.id), ..SessionPatch::default() };
            Mutation::UpdateSession { session: session.id, patch }
        });
        Ok([Mutation::Append(Box::new(node))].into_iter().chain(moved).collect())
    }

    /// Reads the first node that a commit appended.
    pub(super) fn first_node(&self, receipt: &Receipt) -> Result<Node> {
        let id: NodeId = receipt.nodes.first().map(|n| n.id).ok_or_else(|| OpsError::missing("node", "new"))?;
        self.loom.node(id)
    }
}
