//! What an agent keeps at hand in a tree: pins, stashes, decisions, its last actions.

use super::{Actor, OpsError, Result};
use crate::{
    id::TreeId,
    store::{Mutation, Receipt},
    types::{AgentAction, Op, PinTarget, RecordKind, StashContent, estimated_tokens, section},
};

impl Actor {
    /// Keeps something in this agent's context; nothing happens if it is there already.
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

    /// Lets go of a pin; nothing happens if it is not there.
    ///
    /// # Errors
    /// If the node is not in the tree, or the store fails.
    pub fn unpin(&self, tree: TreeId, target: PinTarget) -> Result<Receipt> {
        self.commit(Op::Unpin, vec![Mutation::Unpin { tree, target }])
    }

    /// Puts something aside under a label, in the place of what has the same label.
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

    /// Lets go of a stash.
    ///
    /// # Errors
    /// If there is none of that label, or the store fails.
    pub fn unstash(&self, tree: TreeId, label: &str) -> Result<Receipt> {
        let stashes = self.loom.snapshot()?.memory(self.agent, tree)?.stashes;
        if stashes.iter().all(|stash| stash.label != label) {
            let nearest = stashes.into_iter().map(|stash| stash.label).collect();
            return Err(OpsError::NotFound { what: "stash", text: label.to_owned(), nearest });
        }
        self.commit(Op::Unstash, vec![Mutation::Unstash { tree, label: label.to_owned() }])
    }

    /// Records a decision or a constraint in the state register of the session that the agent works in, or has it
    /// forget entries.
    ///
    /// # Errors
    /// If it works in none, there are no words, or the store fails.
    pub fn record(&self, kind: RecordKind, words: &str) -> Result<Receipt> {
        let session = self.session.ok_or_else(|| OpsError::Invalid("this needs a session".to_owned()))?;
        self.commit(Op::Record, vec![Mutation::Record { session, kind, content: words.to_owned(), turn: None }])
    }

    /// Keeps what the agent did, where the tree's journal does not tell: for the trace of its last actions.
    ///
    /// # Errors
    /// If the store fails.
    pub fn act(&self, tree: TreeId, actions: Vec<AgentAction>) -> Result<Receipt> {
        let mutations = actions.into_iter().map(|action| Mutation::RecordActions { tree, action }).collect();
        self.commit(Op::Memory, mutations)
    }
}
