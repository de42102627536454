//! Split: a node in two, in its place. What followed the whole follows the second half; the original is kept as what
//! both were edited from, and is one of the versions of its place.

use super::{Actor, NodeDraft, OpsError, Result};
use crate::{
    id::NodeId,
    store::{Mutation, Receipt},
    types::{EdgeKind, NewNode, Op, Parent},
};

/// Where to cut a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitAt {
    /// Before this character, counted from 0.
    Character(usize),
    /// After the first occurrence of these words.
    After(String),
}

impl Actor {
    /// Cuts a node in two. The receipt's nodes are the halves.
    ///
    /// # Errors
    /// If the cut leaves one half empty, the words do not occur, or the store fails.
    pub fn split(&self, node: NodeId, at: &SplitAt) -> Result<Receipt> {
        let node = self.loom.node(node)?;
        if node.kind != EdgeKind::Continuation && node.kind != EdgeKind::Version {
            return Err(OpsError::Invalid(format!(
                "[{}] is {}; only the conversation is split",
                node.local, node.kind
            )));
        }
        if node.state.pruned_by.is_some() {
            return Err(OpsError::Invalid(format!("[{}] is pruned; restore it first", node.local)));
        }
        if let SplitAt::After(words) = at
            && !node.content.contains(words.as_str())
        {
            return Err(OpsError::Invalid(format!("{words:?} does not occur in [{}]", node.local)));
        }
        let at = match at {
            SplitAt::Character(count) => node.content.char_indices().nth(*count).map(|(byte, _)| byte),
            SplitAt::After(words) => node.content.find(words.as_str()).map(|byte| byte + words.len()),
        };
        let Some(at) = at.filter(|at| *at > 0 && *at < node.content.len()) else {
            let length = node.content.chars().count();
            return Err(OpsError::Invalid(format!(
                "[{}] has {length} characters; the cut must be inside it",
                node.local
            )));
        };
        let (first, second) = node.content.split_at(at);
        // The first half of a root, or of a version that hangs on it, takes the root's place; of any other node it
        // stands alone.
        let mut head = self.version(&node, first)?;
        if node.parent.is_some() && Some(self.place(&node)?) != node.parent {
            head.version_of = None;
        }
        head.author = node.author;
        head.author_type = node.author_type;
        head.role = node.role;
        let tail =
            self.draft(Parent::Node(head.id), NodeDraft { kind: Some(EdgeKind::Version), ..NodeDraft::text(second) });
        let tail = NewNode {
            author: node.author,
            author_type: node.author_type,
            role: node.role,
            edited_from: Some(node.id),
            version_of: node.version_of.or(Some(node.id)),
            advance: true,
            ..tail
        };
        self.commit(Op::Split, vec![Mutation::Append(Box::new(head)), Mutation::Append(Box::new(tail))])
    }
}
