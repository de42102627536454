//! The command `respond`, and appends of an agent's own text.

use super::{AnswerResult, Executor, Position, TreeChange, agent_tree_change::not_empty};
use crate::{
    arrow::{NodeRef, ResponseKind},
    ops::{NodeDraft, require_parent},
    tools::Tool,
    types::{EdgeKind, Node, Op, Parent},
};

impl Executor<'_> {
    pub(super) fn respond(
        &self,
        here: &Position,
        node: Option<&NodeRef>,
        words: &str,
        kind: Option<ResponseKind>,
    ) -> AnswerResult {
        let node = self.node(here, node)?;
        not_empty(words, "a response")?;
        let kind = match kind {
            None | Some(ResponseKind::Continuation) => EdgeKind::Continuation,
            Some(ResponseKind::Context) => EdgeKind::Context,
            Some(ResponseKind::Instruction) => EdgeKind::Instruction,
        };
        require_parent(&node, kind)?;
        let draft = NodeDraft { kind: Some(kind), ..NodeDraft::text(words) };
        self.append(Tool::Respond, node, draft)
    }

    /// Appends a node under another one.
    pub(super) fn append(&self, tool: Tool, node: Node, draft: NodeDraft) -> AnswerResult {
        let actor = self.actor();
        let new = actor.draft(Parent::Node(node.id), draft);
        let receipt = actor.commit(Op::Append, actor.append_mutations(new)?)?;
        Ok(TreeChange::new(&actor, tool, Op::Append, vec![node], receipt)?.into())
    }
}
