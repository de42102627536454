//! Merge: a new node that continues the first of several nodes and links to all of them.

use super::{Actor, NodeDraft, OpsError, Result};
use crate::{
    id::NodeId,
    store::{Mutation, Receipt},
    types::{Link, LinkTarget, Op, Parent},
};

impl Actor {
    /// Appends a node that continues the first of `nodes` and links to each of them.
    ///
    /// # Errors
    /// If there are fewer than two different nodes, they are in several trees, the content is empty, or the store
    /// fails.
    pub fn merge(&self, nodes: &[NodeId], content: &str) -> Result<Receipt> {
        let mut unique: Vec<NodeId> = Vec::new();
        for node in nodes {
            if !unique.contains(node) {
                unique.push(*node);
            }
        }
        let [first, _, ..] = unique.as_slice() else {
            return Err(OpsError::Invalid("a merge needs at least two nodes".to_owned()));
        };
        if content.trim().is_empty() {
            return Err(OpsError::Invalid("a merge needs text".to_owned()));
        }
        let tree = self.loom.node(*first)?.tree;
        for node in &unique {
            let other = self.loom.node(*node)?;
            if other.tree != tree {
                return Err(OpsError::Invalid(format!("[{}] is in another tree", other.local)));
            }
        }
        let new = self.draft(Parent::Node(*first), NodeDraft::text(content));
        let source = new.id;
        let mut mutations = self.append_in_tree(new, tree)?;
        mutations.extend(unique.iter().map(|target| {
            Mutation::Link(Link {
                id: self.loom.link_id(),
                source,
                target: LinkTarget::Node(*target),
                note: Some("merged".to_owned()),
                author: self.agent,
                created_at: self.loom.now(),
            })
        }));
        self.commit(Op::Merge, mutations)
    }
}
