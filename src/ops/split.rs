//! Split: replace a node by two halves. The continuations of the original follow the second half. The original remains
//! as the source of both and as one of the versions.

use super::{Actor, NodeDraft, OpsError, Result, require_visible};
use crate::{
    id::NodeId,
    store::{Mutation, Receipt},
    types::{EdgeKind, NewNode, Op, Parent, SessionPatch},
};

/// Position of a split.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SplitAt {
    /// Before a character, counted from 0.
    Character(usize),
    /// After the first occurrence of a text.
    After(String),
}

impl Actor {
    /// Splits a node in two. The nodes of the receipt are the halves.
    ///
    /// # Errors
    /// If a half would be empty, the text does not occur, or the store fails.
    pub fn split(&self, node: NodeId, at: &SplitAt) -> Result<Receipt> {
        let node = self.loom.node(node)?;
        if node.kind != EdgeKind::Continuation && node.kind != EdgeKind::Version {
            return Err(OpsError::Invalid(format!(
                "[{}] is {}; only nodes of the conversation can be split",
                node.local, node.kind
            )));
        }
        require_visible(&node)?;
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
                "[{}] has {length} characters; the split must be inside it",
                node.local
            )));
        };
        let session = self.session.map(|session| self.loom.session(session)).transpose()?;
        let at_node = session.as_ref().is_some_and(|session| session.position == Some(node.id));
        let (first, second) = node.content.split_at(at);
        // The first half of a root, or of a version of it, is a version of the root. Otherwise it is a node of its own.
        let mut head = self.build_version(&node, first)?;
        if node.parent.is_some() && Some(self.loom.version_base(&node)?) != node.parent {
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
            advance: at_node,
            ..tail
        };
        // The halves replace the version that the session has selected: the second one leads to the first.
        let halves = [head.id, tail.id];
        let half = tail.id;
        let mut mutations = vec![Mutation::Append(Box::new(head))];
        mutations.extend(self.append_in_tree(tail, node.tree)?);
        if node.state.excluded {
            mutations.extend(halves.map(|node| Mutation::SetExcluded { node, excluded: true }));
        }
        if let Some(session) = session.filter(|session| !session.versions.is_empty()) {
            let versions = self.with_version(&session.versions, &node, half)?;
            let patch = SessionPatch { versions: Some(versions), ..SessionPatch::default() };
            mutations.push(Mutation::UpdateSession { session: session.id, patch });
        }
        self.commit(Op::Split, mutations)
    }
}
