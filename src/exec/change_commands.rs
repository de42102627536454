//! Commands that change the tree, with the executor's rules for references.

use super::{
    Answer, AnswerResult, ContinueRequest, Executor, NodeResolver, Position, TreeChange, commit,
    escape::{id, quoted},
};
use crate::{
    arrow::{Command, LinkEnd, NodeRef, ResponseKind},
    id::NodeId,
    ops::{NodeDraft, require_parent},
    store::{Mutation, UndoReach},
    tools::{ErrorCode, MAX_UNDO_STEPS, Tool, ToolError},
    types::{EdgeKind, LinkTarget, Node, Op, Parent, Permission},
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

/// Resolves references as an agent at its position.
struct PositionResolver<'a, 'h> {
    executor: &'a Executor<'h>,
    here: &'a Position,
}

impl NodeResolver for PositionResolver<'_, '_> {
    type Error = ToolError;

    fn node(&self, reference: Option<&NodeRef>) -> Result<Node, ToolError> {
        self.executor.node(self.here, reference)
    }

    fn link_end(&self, end: &LinkEnd) -> Result<(LinkTarget, String), ToolError> {
        self.executor.link_end(self.here, end)
    }
}

impl Executor<'_> {
    /// Runs a command that [`commit`] knows.
    pub(super) fn change(&self, here: &Position, command: &Command) -> AnswerResult {
        match command {
            Command::Edit { content, .. } => not_empty(content, "an edit")?,
            Command::Split { at, after, .. } if at.is_some() == after.is_some() => {
                let failure = ToolError::new(ErrorCode::InvalidSyntax, "one place to cut is needed");
                return Err(failure.hint("→ split ID at:120 · → split ID after \"words\""));
            }
            _ => {}
        }
        let change = commit(&self.actor(), command, &PositionResolver { executor: self, here })?;
        match change.nodes.first() {
            Some(node) if change.tool == Tool::Unbookmark && node.state.bookmark.is_none() => {
                Err(ToolError::new(ErrorCode::NotFound, format!("{} has no bookmark", id(node))))
            }
            _ => Ok(change.into()),
        }
    }

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

    /// Resolves the target of a link. Returns it with its name for the reply.
    fn link_end(&self, here: &Position, end: &LinkEnd) -> Result<(LinkTarget, String), ToolError> {
        if let Some(name) = &end.doc {
            let document = self.loom.document(name)?;
            let target = LinkTarget::Document { id: document.id, section: None };
            return Ok((target, format!("doc:{}", quoted(&document.name))));
        }
        match (&end.tree, &end.node) {
            (Some(tree), node) => {
                let tree = self.loom.find_tree_among(tree, |tree| tree.is_visible_to(&here.session))?;
                let name = format!("tree:{}", quoted(&tree.title));
                let Some(node) = node else { return Ok((LinkTarget::Tree(tree.id), name)) };
                let node = self.resolve_node_in(&tree, node)?;
                Ok((LinkTarget::Node(node.id), format!("{} in {name}", id(&node))))
            }
            (None, Some(node)) => {
                let node = self.resolve_node(here, node)?;
                Ok((LinkTarget::Node(node.id), id(&node)))
            }
            (None, None) => {
                let failure = ToolError::new(ErrorCode::InvalidSyntax, "a link needs another end");
                Err(failure.hint("→ link ID to ID · → link ID to doc:\"NAME\""))
            }
        }
    }

    /// Undoes the agent's last operations in this tree, or redoes them.
    pub(super) fn revert(&self, here: &Position, n: u32, redo: bool) -> AnswerResult {
        if n == 0 {
            return Err(ToolError::new(ErrorCode::InvalidSyntax, "n counts operations from 1"));
        }
        if n > MAX_UNDO_STEPS {
            let message = format!("one line takes at most {MAX_UNDO_STEPS} operations back");
            return Err(ToolError::new(ErrorCode::LimitExceeded, message));
        }
        // No command changes agents.
        let writes = self.agent.profile.permissions.has(Permission::DocWrite);
        let reach = if writes { UndoReach::Documents } else { UndoReach::Tree };
        let (actor, tree) = (self.actor().reverting(reach), Some(here.tree.id));
        let (mut operations, mut stopped) = (Vec::new(), None);
        for _ in 0..n {
            match if redo { actor.redo(tree) } else { actor.undo(tree) } {
                Ok(undone) => operations.push(undone),
                Err(error) if operations.is_empty() => return Err(error.into()),
                Err(error) => {
                    stopped = Some(error.to_string());
                    break;
                }
            }
        }
        Ok(Answer::Reverted { redo, operations, stopped })
    }
}

pub(super) fn not_empty(words: &str, what: &str) -> Result<(), ToolError> {
    if words.trim().is_empty() {
        Err(ToolError::new(ErrorCode::InvalidSyntax, format!("{what} needs text")))
    } else {
        Ok(())
    }
}
