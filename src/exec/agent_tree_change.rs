//! An agent's commands that change the tree: their checks, and references resolved at the agent's position. The change
//! itself is [`commit`], which the front ends share.

use super::{AnswerResult, Executor, NodeResolver, Position, commit, escape::quoted, node_format::id};
use crate::{
    arrow::{Command, LinkEnd, NodeRef},
    tools::{ErrorCode, Tool, ToolError},
    types::{LinkTarget, Node},
};

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
}

pub(super) fn not_empty(words: &str, what: &str) -> Result<(), ToolError> {
    if words.trim().is_empty() {
        Err(ToolError::new(ErrorCode::InvalidSyntax, format!("{what} needs text")))
    } else {
        Ok(())
    }
}
