//! Why there is no prompt.

use crate::{
    id::{NodeId, TreeId},
    store::StoreError,
};

/// Why there is no prompt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The node to continue is not there.
    #[error("there is no node {0}")]
    NoNode(NodeId),
    /// Its tree is not there.
    #[error("there is no tree {0}")]
    NoTree(TreeId),
    /// What has to be in the prompt leaves no room for a word of the conversation.
    #[error(
        "the system prompts and what else has to be there take {fixed} tokens, {over} more than fit beside the \
         conversation in a budget of {budget}"
    )]
    Fixed {
        /// Tokens of the fixed parts.
        fixed: u32,
        /// By how many that is too much.
        over: u32,
        /// Tokens that the prompt may have.
        budget: u32,
    },
    /// The strategy is `stop`, and the conversation does not fit.
    #[error("the conversation is {}{over} tokens too long for a budget of {budget}", if *.exact { "" } else { "about " })]
    TooLong {
        /// By how many tokens.
        over: u32,
        /// Whether the whole path was counted, and not only as much of it as a window holds.
        exact: bool,
        /// Tokens that the prompt may have.
        budget: u32,
    },
}
