//! Append: continue, respond, fork. A node goes under any node; under one that has continuations already it starts
//! a new branch, and nothing but the node itself is written.

use super::{Actor, OpsError, Result};
use crate::{
    id::NodeId,
    store::{Mutation, Receipt},
    types::{AuthorType, EdgeKind, Json, NewNode, Node, Op, Parent, ToolCallFields},
};

/// A node that somebody is about to write.
#[derive(Debug, Clone, Default)]
pub struct NodeDraft {
    /// The text.
    pub content: String,
    /// How it hangs on its parent; a continuation if not set.
    pub kind: Option<EdgeKind>,
    /// Who speaks, if not what the agent is: `tool` for a tool's result.
    pub author_type: Option<AuthorType>,
    /// What the model really produced, where that differs.
    pub raw: Option<String>,
    /// Tool calls, or which call this answers.
    pub tool: ToolCallFields,
    /// The number of tokens, where known.
    pub tokens: Option<u32>,
    /// Whether it was cut off.
    pub interrupted: bool,
    /// Kept beside the node.
    pub metadata: Option<Json>,
    /// The provider's envelope.
    pub provenance: Option<Json>,
    /// Whether the session's position stays where it is.
    pub stay: bool,
}

impl NodeDraft {
    /// A continuation with this text.
    #[must_use]
    pub fn text(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }
}

impl Actor {
    /// Adds a node under `parent`; the session's position moves to it.
    ///
    /// # Errors
    /// If the parent is not there, or the store fails.
    pub fn append(&self, parent: Parent, draft: NodeDraft) -> Result<Receipt> {
        self.commit(Op::Append, vec![Mutation::Append(Box::new(self.draft(parent, draft)))])
    }

    /// A node to be added by this agent.
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
            advance: !draft.stay && kind == EdgeKind::Continuation,
            ..NewNode::new(self.loom.node_id(), parent, author, self.loom.now(), draft.content)
        }
    }

    /// The node that a commit added first.
    pub(super) fn added(&self, receipt: &Receipt) -> Result<Node> {
        let id: NodeId = receipt.nodes.first().map(|n| n.id).ok_or_else(|| OpsError::missing("node", "new"))?;
        self.loom.node(id)
    }
}
