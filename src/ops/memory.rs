//! Operational memory of an agent in a tree: pins, stashes, recorded decisions, recent actions.

use super::{Actor, OpsError, Result};
use crate::{
    id::TreeId,
    session_state::RecordKind,
    store::{Mutation, Receipt},
    tokens::estimated_tokens,
    types::{AgentAction, Op, PinTarget, StashContent, section},
};

impl Actor {
    /// Pins a node or document in this agent's context. It has no effect if the pin exists.
    ///
    /// # Errors
    /// If the node is not in the tree, the document has no such section, or the store fails.
    pub fn pin(&self, tree: TreeId, target: PinTarget) -> Result<Receipt> {
        if let PinTarget::Document { id, section: Some(name) } = &target {
            let newest = self.loom.snapshot()?.document_version(*id, 0)?;
            section(&newest.ok_or_else(|| OpsError::missing("document", id))?.content, name)?;
        }
        self.commit(Op::Pin, vec![Mutation::Pin { tree, target, placement: None }])
    }

    /// Removes a pin. It has no effect if the pin does not exist.
    ///
    /// # Errors
    /// If the node is not in the tree, or the store fails.
    pub fn unpin(&self, tree: TreeId, target: PinTarget) -> Result<Receipt> {
        self.commit(Op::Unpin, vec![Mutation::Unpin { tree, target }])
    }

    /// Stashes content under a label, replacing a stash of the same label.
    ///
    /// # Errors
    /// If the label is empty, the node is not in the tree, or the store fails.
    pub fn stash(&self, tree: TreeId, label: &str, content: StashContent) -> Result<Receipt> {
        if label.trim().is_empty() {
            return Err(OpsError::Invalid("a stash needs a label".to_owned()));
        }
        let tokens = match &content {
            StashContent::Words(text) | StashContent::Summary(text) | StashContent::Result(text) => {
                estimated_tokens(text)
            }
            StashContent::Node(id) => estimated_tokens(&self.loom.node(*id)?.content),
        };
        let label = label.to_owned();
        self.commit(Op::Stash, vec![Mutation::Stash { tree, label, content, tokens, placement: None }])
    }

    /// Removes a stash by its label.
    ///
    /// # Errors
    /// If no stash has that label, or the store fails.
    pub fn unstash(&self, tree: TreeId, label: &str) -> Result<Receipt> {
        let stashes = self.loom.snapshot()?.memory(self.agent, tree)?.stashes;
        if stashes.iter().all(|stash| stash.label != label) {
            let labels = stashes.into_iter().map(|stash| stash.label).collect();
            return Err(OpsError::unknown("stash", label, labels));
        }
        self.commit(Op::Unstash, vec![Mutation::Unstash { tree, label: label.to_owned() }])
    }

    /// Records a decision or a constraint in the state of the actor's session, or removes entries.
    ///
    /// # Errors
    /// If the actor has no session, the text is empty, or the store fails.
    pub fn record(&self, kind: RecordKind, words: &str) -> Result<Receipt> {
        let session = self.session.ok_or_else(|| OpsError::Invalid("this operation needs a session".to_owned()))?;
        self.commit(Op::Record, vec![Mutation::Record { session, kind, content: words.to_owned(), turn: None }])
    }

    /// Records actions that the tree's journal does not contain, for the trace of recent actions.
    ///
    /// # Errors
    /// If the store fails.
    pub fn record_actions(&self, tree: TreeId, actions: Vec<AgentAction>) -> Result<Receipt> {
        let mutations = actions.into_iter().map(|action| Mutation::RecordActions { tree, action }).collect();
        self.commit(Op::Memory, mutations)
    }
}
