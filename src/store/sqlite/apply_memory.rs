//! Application of mutations of an agent's operational memory. An undo restores the original placement, because prompts list
//! pins in that order.

use super::{
    apply::{Applied, AppliedMutation, ChangeApplier, unsupported},
    tables::{documents, memory},
};
use crate::{
    id::TreeId,
    store::{ChangeKind, Mutation, PriorPlacement, Result},
    types::{PinTarget, StashContent},
};

impl ChangeApplier<'_> {
    pub(super) fn apply_memory(&mut self, mutation: &Mutation) -> Result<Applied> {
        let (conn, agent, at) = (self.conn, self.agent, self.change.at);
        Ok(match mutation {
            Mutation::Pin { tree: id, target, placement } => {
                let tree = self.tree_row(*id)?;
                let pin = self.pin(tree, target)?;
                let changed =
                    memory::pin(conn, agent, tree, &pin, placement.unwrap_or(PriorPlacement { number: 0, since: at }))?;
                let undo = Mutation::Unpin { tree: *id, target: target.clone() };
                (ChangeKind::Pin, changed.then(|| AppliedMutation::new(Some(tree), pin.node, Some(undo))))
            }
            Mutation::Unpin { tree: id, target } => {
                let tree = self.tree_row(*id)?;
                let pin = self.pin(tree, target)?;
                let placement = memory::unpin(conn, agent, tree, &pin)?;
                let undo = Mutation::Pin { tree: *id, target: target.clone(), placement };
                (ChangeKind::Unpin, placement.map(|_| AppliedMutation::new(Some(tree), pin.node, Some(undo))))
            }
            Mutation::Stash { tree: id, label, content, tokens, placement } => {
                let tree = self.tree_row(*id)?;
                let node = match content {
                    StashContent::Node(id) => Some(self.node_of(*id, tree)?.row),
                    _ => None,
                };
                let journaled = !matches!(content, StashContent::Result(_));
                let before = if journaled { self.stashed(*id, tree, label)? } else { None };
                let undo = before.unwrap_or_else(|| Mutation::Unstash { tree: *id, label: label.clone() });
                let placement = placement.unwrap_or(PriorPlacement { number: 0, since: at });
                memory::stash(
                    conn,
                    agent,
                    tree,
                    &memory::NewStash { label, content, node, tokens: *tokens, placement },
                )?;
                (ChangeKind::Stash, journaled.then(|| AppliedMutation::new(Some(tree), node, Some(undo))))
            }
            Mutation::Unstash { tree: id, label } => {
                let tree = self.tree_row(*id)?;
                let before = self.stashed(*id, tree, label)?;
                memory::unstash(conn, agent, tree, label)?;
                (ChangeKind::Unstash, before.map(|undo| AppliedMutation::new(Some(tree), None, Some(undo))))
            }
            Mutation::RecordActions { tree, action } => {
                memory::add_action(conn, agent, self.tree_row(*tree)?, action, at)?;
                (ChangeKind::RecordActions, None)
            }
            _ => return Err(unsupported()),
        })
    }

    /// The inverse of replacing or removing the stash with this label.
    fn stashed(&self, id: TreeId, tree: i64, label: &str) -> Result<Option<Mutation>> {
        let Some((tokens, placement)) = memory::stash_placement(self.conn, self.agent, tree, label)? else {
            return Ok(None);
        };
        let content = memory::stashed(self.conn, self.agent, tree, label, false)?;
        let put = |content| Mutation::Stash {
            tree: id,
            label: label.to_owned(),
            content,
            tokens,
            placement: Some(placement),
        };
        Ok(content.map(put))
    }

    fn pin<'t>(&mut self, tree: i64, target: &'t PinTarget) -> Result<memory::PinRow<'t>> {
        Ok(match target {
            PinTarget::Node(id) => {
                memory::PinRow { node: Some(self.node_of(*id, tree)?.row), document: None, section: None }
            }
            PinTarget::Document { id, section } => memory::PinRow {
                node: None,
                document: Some(documents::row(self.conn, *id)?),
                section: section.as_deref(),
            },
        })
    }
}
