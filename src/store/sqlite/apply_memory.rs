//! Applying changes to what an agent keeps at hand. Undo passes over them, as over a session's moves.

use super::{
    apply::{Apply, Trace},
    tables::{documents, memory},
};
use crate::{
    model::{PinTarget, Stashed},
    store::{ChangeKind, Mutation, Result, StoreError},
};

impl Apply<'_> {
    pub(super) fn memory(&mut self, mutation: &Mutation) -> Result<(ChangeKind, Option<Trace>)> {
        let (conn, agent, at) = (self.conn, self.agent, self.change.at);
        Ok(match mutation {
            Mutation::Pin { tree, target } => {
                let tree = self.tree_row(*tree)?;
                let pin = self.pin(tree, target)?;
                let changed = memory::pin(conn, agent, tree, &pin, at)?;
                (ChangeKind::Pin, changed.then(|| Trace::new(Some(tree), pin.node, None)))
            }
            Mutation::Unpin { tree, target } => {
                let tree = self.tree_row(*tree)?;
                let pin = self.pin(tree, target)?;
                let changed = memory::unpin(conn, agent, tree, &pin)?;
                (ChangeKind::Unpin, changed.then(|| Trace::new(Some(tree), pin.node, None)))
            }
            Mutation::Stash { tree, label, content, tokens } => {
                let tree = self.tree_row(*tree)?;
                let node = match content {
                    Stashed::Node(id) => Some(self.node_of(*id, tree)?.row),
                    _ => None,
                };
                memory::stash(conn, agent, tree, &memory::NewStash { label, content, node, tokens: *tokens, at })?;
                let told = !matches!(content, Stashed::Result(_));
                (ChangeKind::Stash, told.then(|| Trace::new(Some(tree), node, None)))
            }
            Mutation::Unstash { tree, label } => {
                let tree = self.tree_row(*tree)?;
                let changed = memory::unstash(conn, agent, tree, label)?;
                (ChangeKind::Unstash, changed.then(|| Trace::new(Some(tree), None, None)))
            }
            Mutation::Act { tree, action } => {
                memory::act(conn, agent, self.tree_row(*tree)?, action, at)?;
                (ChangeKind::Act, None)
            }
            _ => return Err(StoreError::Refused("not a change to a memory".to_owned())),
        })
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
