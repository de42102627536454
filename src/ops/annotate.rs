//! Annotate: append a note to a node. The note is a node too, so it has an author, a time and a local id.

use super::{Actor, NodeDraft, OpsError, Result};
use crate::{
    id::NodeId,
    store::{Mutation, Receipt},
    types::{EdgeKind, Op, Parent},
};

impl Actor {
    /// Appends a note to a node.
    ///
    /// # Errors
    /// If the note is empty, the node does not exist, or the store fails.
    pub fn annotate(&self, node: NodeId, note: &str) -> Result<Receipt> {
        if note.trim().is_empty() {
            return Err(OpsError::Invalid("a note needs text".to_owned()));
        }
        let draft = NodeDraft { kind: Some(EdgeKind::Annotation), ..NodeDraft::text(note) };
        self.commit(Op::Annotate, vec![Mutation::Append(Box::new(self.draft(Parent::Node(node), draft)))])
    }
}
