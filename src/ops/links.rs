//! Links between a node and another node, a tree, or a document.

use super::{Actor, OpsError, Result};
use crate::{
    id::NodeId,
    store::{Mutation, Receipt},
    types::{Link, LinkTarget, Op, section},
};

impl Actor {
    /// Links a node to a target.
    ///
    /// # Errors
    /// If the target is the node itself, the link exists, the document has no such section, or the store fails.
    pub fn link(&self, source: NodeId, target: LinkTarget, note: Option<String>) -> Result<Receipt> {
        if target == LinkTarget::Node(source) {
            return Err(OpsError::Invalid("a node cannot be linked to itself".to_owned()));
        }
        if let LinkTarget::Document { id, section: Some(name) } = &target
            && let Some(newest) = self.loom.snapshot()?.document_version(*id, 0)?
        {
            section(&newest.content, name)?;
        }
        let link =
            Link { id: self.loom.link_id(), source, target, note, author: self.agent, created_at: self.loom.now() };
        self.commit(Op::Link, vec![Mutation::Link(link)])
    }

    /// Removes the links between a node and a target, in both directions.
    ///
    /// # Errors
    /// If there is no such link, or the store fails.
    pub fn unlink(&self, node: NodeId, target: &LinkTarget) -> Result<Receipt> {
        let links = self.loom.snapshot()?.links(node)?;
        let meant = |link: &Link| {
            link.target == *target
                || matches!(target, LinkTarget::Node(other) if link.source == *other && link.target == LinkTarget::Node(node))
        };
        let mutations: Vec<Mutation> = links
            .iter()
            .filter(|link| meant(link))
            .map(|link| Mutation::SetLinkRemoved { link: link.id, removed: true })
            .collect();
        if mutations.is_empty() {
            return Err(OpsError::Invalid("there is no such link".to_owned()));
        }
        self.commit(Op::Unlink, mutations)
    }
}
