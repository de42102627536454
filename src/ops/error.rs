//! Errors of operations.

use crate::{
    store::{Direction, StoreError},
    types::{Node, SectionError, Tree},
};

/// Error of an operation. The operation changed nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpsError {
    /// No object has the given id or name.
    #[error("no {what} {text:?}")]
    NotFound {
        /// Kind of the object.
        what: &'static str,
        /// Id or name as given.
        text: String,
        /// Similar local ids, names or titles.
        nearest: Vec<String>,
    },
    /// An id prefix matches several nodes.
    #[error("{text:?} names several nodes")]
    Ambiguous {
        /// Id as given by the caller.
        text: String,
        /// Matching nodes, at most ten.
        candidates: Vec<Node>,
    },
    /// A text matches several trees.
    #[error("{text:?} names several trees")]
    AmbiguousTree {
        /// Text as given by the caller.
        text: String,
        /// Trees that match the text.
        candidates: Vec<Tree>,
    },
    /// A heading matches no section or several sections of a document.
    #[error(transparent)]
    Section(#[from] SectionError),
    /// No operation of the agent is left to undo or redo.
    #[error("there is nothing to {}", match .0 { Direction::Undo => "undo", Direction::Redo => "redo" })]
    NothingToRevert(Direction),
    /// Invalid arguments; the text states the reason.
    #[error("{0}")]
    Invalid(String),
    /// More items than a limit allows; the text states the limit.
    #[error("{0}")]
    LimitExceeded(String),
    /// Error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Result of an operation.
pub type Result<T, E = OpsError> = std::result::Result<T, E>;

impl OpsError {
    pub(crate) fn missing(what: &'static str, id: impl ToString) -> Self {
        Self::NotFound { what, text: id.to_string(), nearest: Vec::new() }
    }
}
