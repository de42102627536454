//! The command `continue`: another agent writes continuations.

use super::{Answer, AnswerResult, ContinueRequest, Executor, Position};
use crate::{
    arrow::NodeRef,
    id::NodeId,
    ops::{NodeDraft, require_parent},
    store::Mutation,
    tools::{ErrorCode, ToolError},
    types::{EdgeKind, Op, Parent},
};

/// The agent that writes continuations if the command names none.
const DEFAULT_AUTHOR: &str = "subject";

/// Tokens per word that a continuation of a given length in words may have.
const MAX_TOKENS_PER_WORD: u32 = 3;

/// Number and length of the continuations of a `continue` command.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContinueLength {
    pub(super) n: u32,
    pub(super) tokens: Option<u32>,
    pub(super) words: Option<u32>,
}

impl Executor<'_> {
    pub(super) fn continue_(
        &self,
        here: &Position,
        from: Option<&NodeRef>,
        length: ContinueLength,
        agent: Option<&str>,
        instruction: Option<&str>,
    ) -> AnswerResult {
        let from = self.node(here, from)?;
        require_parent(&from, EdgeKind::Continuation)?;
        let author = self.loom.agent(agent.unwrap_or(DEFAULT_AUTHOR))?;
        if author.id() == self.agent.id() {
            let failure = ToolError::new(ErrorCode::PermissionDenied, "an agent cannot have itself continue");
            return Err(failure.hint("→ continue using agent:\"NAME\" names another one"));
        }
        let limit = length.words.map(|words| format!("Write about {words} words."));
        // Each author sees the words for all of them.
        let alone = (length.n > 1 && instruction.is_some())
            .then(|| format!("Write one message; {} are written, each on its own.", length.n));
        let parts: Vec<&str> = instruction.into_iter().chain(limit.as_deref()).chain(alone.as_deref()).collect();
        let instruction = (!parts.is_empty()).then(|| parts.join("\n"));
        let words = length.words.map(|words| words.saturating_mul(MAX_TOKENS_PER_WORD));
        let asked = ContinueRequest {
            from: &from,
            versions: &here.session.versions,
            author: &author,
            n: length.n.max(1),
            tokens: length.tokens.or(words),
            instruction: instruction.as_deref(),
        };
        let saved = self.host.generate(&self.actor(), &asked)?;
        if let Some(instruction) = &instruction {
            self.keep_instruction(&saved, instruction)?;
        }
        let nodes = saved.into_iter().map(|node| self.loom.node(node)).collect::<Result<_, _>>()?;
        let by = author.name().to_owned();
        Ok(Answer::Continued { from: Box::new(from), by, nodes })
    }

    /// Appends the instruction of a generation to its nodes. It is part of the generation and not an own operation.
    fn keep_instruction(&self, nodes: &[NodeId], instruction: &str) -> Result<(), ToolError> {
        let actor = self.actor();
        let draft = || NodeDraft { kind: Some(EdgeKind::Instruction), ..NodeDraft::text(instruction) };
        let append = |node: &NodeId| Mutation::Append(Box::new(actor.draft(Parent::Node(*node), draft())));
        if !nodes.is_empty() {
            actor.commit(Op::Turn, nodes.iter().map(append).collect())?;
        }
        Ok(())
    }
}
