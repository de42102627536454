//! Errors of prompt assembly.

use crate::{
    id::{NodeId, TreeId},
    store::StoreError,
};

/// Reason why no prompt could be assembled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The node to continue does not exist.
    #[error("there is no node {0}")]
    NoNode(NodeId),
    /// The tree of the node does not exist.
    #[error("there is no tree {0}")]
    NoTree(TreeId),
    /// The fixed sections leave no room for the conversation.
    #[error(
        "the fixed sections of the prompt take {fixed} tokens, {over} more than fit beside the \
         conversation in a budget of {budget}"
    )]
    Fixed {
        /// Tokens of the fixed sections.
        fixed: u32,
        /// Tokens above the limit.
        over: u32,
        /// Token budget of the prompt.
        budget: u32,
    },
    /// The strategy is `stop` and the conversation does not fit.
    #[error("the conversation is {}{over} tokens too long for a budget of {budget}", if *.exact { "" } else { "about " })]
    TooLong {
        /// Tokens above the limit.
        over: u32,
        /// True if the whole path was counted; otherwise `over` is an estimate.
        exact: bool,
        /// Token budget of the prompt.
        budget: u32,
    },
}
