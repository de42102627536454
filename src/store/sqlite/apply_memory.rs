//! Application of mutations of an agent's memory. An undo restores the original placement, because prompts list pins in
//! that order.

use super::{
    apply::{AppliedMutation, ChangeApplier},
    tables::{documents, memory},
};
use crate::{
    id::TreeId,
    store::{ChangeKind, Mutation, PriorPlacement, Result, StoreError},
    types::{PinTarget, StashContent},
};

impl ChangeApplier<'_> {
    pub(super) fn memory(&mut self, mutation: &Mutation) -> Result<(ChangeKind, Option<AppliedMutation>)> {
        let (conn, agent, at) = (self.conn, self.agent, self.change.at);
        Ok(match mutation {
            Mutation::Pin { tree: id, target, stood } => {
                let tree = self.tree_row(*id)?;
                let pin = self.pin(tree, target)?;
                let changed =
                    memory::pin(conn, agent, tree, &pin, stood.unwrap_or(PriorPlacement { number: 0, since: at }))?;
                let undo = Mutation::Unpin { tree: *id, target: target.clone() };
                (ChangeKind::Pin, changed.then(|| AppliedMutation::new(Some(tree), pin.node, Some(undo))))
            }
            Mutation::Unpin { tree: id, target } => {
                let tree = self.tree_row(*id)?;
                let pin = self.pin(tree, target)?;
                let stood = memory::unpin(conn, agent, tree, &pin)?;
                let undo = Mutation::Pin { tree: *id, target: target.clone(), stood };
                (ChangeKind::Unpin, stood.map(|_| AppliedMutation::new(Some(tree), pin.node, Some(undo))))
            }
            Mutation::Stash { tree: id, label, content, tokens, stood } => {
                let tree = self.tree_row(*id)?;
                let node = match content {
                    StashContent::Node(id) => Some(self.node_of(*id, tree)?.row),
                    _ => None,
                };
                let told = !matches!(content, StashContent::Result(_));
                let before = if told { self.stashed(*id, tree, label)? } else { None };
                let undo = before.unwrap_or_else(|| Mutation::Unstash { tree: *id, label: label.clone() });
                let stood = stood.unwrap_or(PriorPlacement { number: 0, since: at });
                memory::stash(conn, agent, tree, &memory::NewStash { label, content, node, tokens: *tokens, stood })?;
                (ChangeKind::Stash, told.then(|| AppliedMutation::new(Some(tree), node, Some(undo))))
            }
            Mutation::Unstash { tree: id, label } => {
                let tree = self.tree_row(*id)?;
                let before = self.stashed(*id, tree, label)?;
                memory::unstash(conn, agent, tree, label)?;
                (ChangeKind::Unstash, before.map(|undo| AppliedMutation::new(Some(tree), None, Some(undo))))
            }
            Mutation::Act { tree, action } => {
                memory::act(conn, agent, self.tree_row(*tree)?, action, at)?;
                (ChangeKind::Act, None)
            }
            _ => return Err(StoreError::Refused("not a change to a memory".to_owned())),
        })
    }

    /// The inverse of replacing or removing the stash with this label.
    fn stashed(&self, id: TreeId, tree: i64, label: &str) -> Result<Option<Mutation>> {
        let Some((tokens, stood)) = memory::standing(self.conn, self.agent, tree, label)? else { return Ok(None) };
        let content = memory::stashed(self.conn, self.agent, tree, label, false)?;
        let put = |content| Mutation::Stash { tree: id, label: label.to_owned(), content, tokens, stood: Some(stood) };
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
