//! What changes the tree. Each is one operation of [`crate::ops`]; here are the arguments and the answer.

use super::{
    CommandOutput, ContinueRequest, ErrorCode, Executor, Outcome, Position, ToolError,
    escape::{count, gist, id, mention, quoted},
};
use crate::{
    arrow::{LinkEnd, NodeRef, ResponseKind},
    id::NodeId,
    ops::{NodeDraft, OpsError, SplitAt},
    store::Receipt,
    types::{EdgeKind, LinkTarget, Node, Parent},
};

/// Who continues where nobody is named.
const SUBJECT: &str = "subject";
/// Operations that one line takes back or does again.
const UNDONE: u32 = 50;

impl Executor<'_> {
    pub(super) fn continue_(
        &self,
        here: &Position,
        from: Option<&NodeRef>,
        n: u32,
        tokens: Option<u32>,
        agent: Option<&str>,
    ) -> Outcome {
        let from = self.node(here, from)?;
        let author = self.loom.agent(agent.unwrap_or(SUBJECT))?;
        if author.id() == self.agent.id() {
            let failure = ToolError::new(ErrorCode::PermissionDenied, "an agent cannot have itself continue");
            return Err(failure.hint("→ continue using agent:\"NAME\" names another one"));
        }
        let asked =
            ContinueRequest { from: &from, versions: &here.session.versions, author: &author, n: n.max(1), tokens };
        let saved = self.host.generate(&self.actor(), &asked)?;
        let mut text = format!("✓ {} from {}", count(saved.len() as u64, "continuation"), id(&from));
        for node in saved {
            let node = self.loom.node(node)?;
            let cut = if node.interrupted { " · interrupted" } else { "" };
            text.push_str(&format!("\n  {} {}{cut}", id(&node), gist(&node)));
        }
        Ok(CommandOutput::about(text, from.local.as_str()))
    }

    pub(super) fn respond(
        &self,
        here: &Position,
        node: Option<&NodeRef>,
        words: &str,
        kind: Option<ResponseKind>,
    ) -> Outcome {
        let node = self.node(here, node)?;
        not_empty(words, "a response")?;
        let (kind, name) = match kind {
            None | Some(ResponseKind::Continuation) => (EdgeKind::Continuation, "continuation"),
            Some(ResponseKind::Context) => (EdgeKind::Context, "context"),
            Some(ResponseKind::Instruction) => (EdgeKind::Instruction, "instruction"),
        };
        // Only who stands there goes on to what they said; a word left elsewhere leaves them where they are.
        let stay = node.id != here.position.id;
        let draft = NodeDraft { kind: Some(kind), stay, ..NodeDraft::text(words) };
        let added = self.added(&self.actor().append(Parent::Node(node.id), draft)?)?;
        Ok(CommandOutput::about(format!("✓ created {} as {name} of {}", id(&added), id(&node)), node.local.as_str()))
    }

    pub(super) fn annotate(&self, here: &Position, node: Option<&NodeRef>, note: &str) -> Outcome {
        let node = self.node(here, node)?;
        let added = self.added(&self.actor().annotate(node.id, note)?)?;
        Ok(CommandOutput::about(format!("✓ annotation {} added to {}", id(&added), id(&node)), node.local.as_str()))
    }

    pub(super) fn link(&self, here: &Position, node: Option<&NodeRef>, to: &LinkEnd, note: Option<String>) -> Outcome {
        let node = self.node(here, node)?;
        let (target, name) = self.link_end(here, to)?;
        self.actor().link(node.id, target, note)?;
        Ok(CommandOutput::about(format!("✓ linked {} ↔ {name}", id(&node)), node.local.as_str()))
    }

    pub(super) fn unlink(&self, here: &Position, node: Option<&NodeRef>, from: &LinkEnd) -> Outcome {
        let node = self.node(here, node)?;
        let (target, name) = self.link_end(here, from)?;
        self.actor().unlink(node.id, &target)?;
        Ok(CommandOutput::about(format!("✓ unlinked {} from {name}", id(&node)), node.local.as_str()))
    }

    /// What a link points at, and how it is named in the answer.
    fn link_end(&self, here: &Position, end: &LinkEnd) -> Result<(LinkTarget, String), ToolError> {
        if let Some(name) = &end.doc {
            let document = self.loom.document(name)?;
            let target = LinkTarget::Document { id: document.id, section: None };
            return Ok((target, format!("doc:{}", quoted(&document.name))));
        }
        match (&end.tree, &end.node) {
            (Some(tree), node) => {
                let tree = self.loom.find_tree_among(tree, |tree| tree.is_seen_by(&here.session))?;
                let name = format!("tree:{}", quoted(&tree.title));
                let Some(node) = node else { return Ok((LinkTarget::Tree(tree.id), name)) };
                let node = self.node_in(&tree, node)?;
                Ok((LinkTarget::Node(node.id), format!("{} in {name}", id(&node))))
            }
            (None, Some(node)) => {
                let node = self.named(here, node)?;
                Ok((LinkTarget::Node(node.id), id(&node)))
            }
            (None, None) => {
                let failure = ToolError::new(ErrorCode::InvalidSyntax, "a link needs another end");
                Err(failure.hint("→ link ID to ID · → link ID to doc:\"NAME\""))
            }
        }
    }

    pub(super) fn edit(&self, here: &Position, node: Option<&NodeRef>, words: &str) -> Outcome {
        let node = self.node(here, node)?;
        not_empty(words, "an edit")?;
        let added = self.added(&self.actor().edit(node.id, words)?)?;
        let text = match added.kind {
            EdgeKind::Version => format!("✓ created version {} of {}", id(&added), id(&node)),
            _ => format!("✓ created branch {} from {}", id(&added), id(&node)),
        };
        Ok(CommandOutput::about(text, node.local.as_str()))
    }

    pub(super) fn merge(&self, here: &Position, nodes: &[NodeRef], words: &str) -> Outcome {
        let nodes = nodes.iter().map(|node| self.named(here, node)).collect::<Result<Vec<Node>, _>>()?;
        let ids: Vec<NodeId> = nodes.iter().map(|node| node.id).collect();
        let added = self.added(&self.actor().merge(&ids, words)?)?;
        let names = nodes.iter().map(id).collect::<Vec<_>>().join(" + ");
        Ok(CommandOutput::about(format!("✓ created {} from {names}", id(&added)), added.local.as_str()))
    }

    pub(super) fn bookmark(&self, here: &Position, node: Option<&NodeRef>, label: Option<&str>) -> Outcome {
        let node = self.node(here, node)?;
        self.actor().bookmark(node.id, label.unwrap_or(""))?;
        let named = label.map(|label| format!(" as {}", quoted(label))).unwrap_or_default();
        Ok(CommandOutput::about(format!("✓ bookmarked {}{named}", id(&node)), node.local.as_str()))
    }

    pub(super) fn unbookmark(&self, here: &Position, node: Option<&NodeRef>) -> Outcome {
        let node = self.node(here, node)?;
        if node.state.bookmark.is_none() {
            return Err(ToolError::new(ErrorCode::NotFound, format!("{} has no bookmark", id(&node))));
        }
        self.actor().unbookmark(node.id)?;
        Ok(CommandOutput::about(format!("✓ took the bookmark off {}", id(&node)), node.local.as_str()))
    }

    pub(super) fn prune(&self, here: &Position, node: &NodeRef) -> Outcome {
        let node = self.named(here, node)?;
        let receipt = self.actor().prune(node.id)?;
        let below = descendants(&receipt);
        Ok(CommandOutput::about(
            format!("✓ pruned {}{below} · undo with → restore {}", id(&node), mention(&node)),
            node.local.as_str(),
        ))
    }

    pub(super) fn restore(&self, here: &Position, node: &NodeRef) -> Outcome {
        let node = self.named(here, node)?;
        let receipt = self.actor().restore(node.id)?;
        Ok(CommandOutput::about(format!("✓ restored {}{}", id(&node), descendants(&receipt)), node.local.as_str()))
    }

    /// Takes the agent's last operations in this tree back, or does them again.
    pub(super) fn undo(&self, here: &Position, n: u32, back: bool) -> Outcome {
        if n > UNDONE {
            let message = format!("one line takes at most {UNDONE} operations back");
            return Err(ToolError::new(ErrorCode::LimitExceeded, message));
        }
        let actor = self.actor();
        let (mut lines, mut left) = (Vec::new(), None);
        for _ in 0..n.max(1) {
            let done = if back { actor.undo(Some(here.tree.id)) } else { actor.redo(Some(here.tree.id)) };
            match done {
                Ok(undone) => lines.push(format!("  {}", undone.told.words(&|id| format!("[{id}]"), &quoted))),
                Err(error) if lines.is_empty() => return Err(error.into()),
                Err(error) => {
                    left = Some(error);
                    break;
                }
            }
        }
        let verb = if back { "took back" } else { "did again" };
        let mut text = format!("✓ {verb} {}\n{}", count(lines.len() as u64, "operation"), lines.join("\n"));
        if let Some(error) = left {
            text.push_str(&format!("\n  no more: {error}"));
        }
        Ok(text.into())
    }

    pub(super) fn copy(&self, here: &Position, node: &NodeRef, to: &NodeRef) -> Outcome {
        let (node, to) = (self.named(here, node)?, self.named(here, to)?);
        let receipt = self.actor().copy_branch(node.id, to.id)?;
        let copy = self.added(&receipt)?;
        let below = descendants(&receipt);
        Ok(CommandOutput::about(
            format!("✓ copied {}{below} to {} as {}", id(&node), id(&to), id(&copy)),
            node.local.as_str(),
        ))
    }

    pub(super) fn move_(&self, here: &Position, node: &NodeRef, to: &NodeRef) -> Outcome {
        let (node, to) = (self.named(here, node)?, self.named(here, to)?);
        let receipt = self.actor().move_branch(node.id, to.id)?;
        let copy = self.added(&receipt)?;
        let text = format!("✓ moved {} to {} as {} · undo with → undo", id(&node), id(&to), id(&copy));
        Ok(CommandOutput::about(text, node.local.as_str()))
    }

    pub(super) fn split(
        &self,
        here: &Position,
        node: Option<&NodeRef>,
        at: Option<u32>,
        after: Option<&str>,
    ) -> Outcome {
        let node = self.node(here, node)?;
        let at = match (at, after) {
            (Some(at), None) => SplitAt::Character(at as usize),
            (None, Some(words)) => SplitAt::After(words.to_owned()),
            _ => {
                let failure = ToolError::new(ErrorCode::InvalidSyntax, "one place to cut is needed");
                return Err(failure.hint("→ split ID at:120 · → split ID after \"words\""));
            }
        };
        let receipt = self.actor().split(node.id, &at)?;
        let halves = receipt.nodes.iter().map(|half| format!("[{}]", half.local)).collect::<Vec<_>>().join(" + ");
        Ok(CommandOutput::about(format!("✓ split {} into {halves}", id(&node)), node.local.as_str()))
    }

    pub(super) fn exclude(&self, here: &Position, node: Option<&NodeRef>, out: bool) -> Outcome {
        let node = self.node(here, node)?;
        let (actor, name) = (self.actor(), id(&node));
        let text = if out {
            actor.exclude(node.id)?;
            format!("✓ excluded {name} from the context · undo with → include {}", mention(&node))
        } else {
            actor.include(node.id)?;
            format!("✓ included {name} in the context")
        };
        Ok(CommandOutput::about(text, node.local.as_str()))
    }

    /// The node that a commit added first.
    pub(super) fn added(&self, receipt: &Receipt) -> Result<Node, ToolError> {
        let added = receipt.nodes.first().ok_or_else(|| OpsError::missing("node", "new"))?;
        Ok(self.loom.node(added.id)?)
    }
}

/// ` and 12 descendants` of what a branch was done to.
fn descendants(receipt: &Receipt) -> String {
    match receipt.affected.saturating_sub(1) {
        0 => String::new(),
        below => format!(" and {}", count(below, "descendant")),
    }
}

pub(super) fn not_empty(words: &str, what: &str) -> Result<(), ToolError> {
    if words.trim().is_empty() {
        Err(ToolError::new(ErrorCode::InvalidSyntax, format!("{what} needs text")))
    } else {
        Ok(())
    }
}
