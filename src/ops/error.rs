//! Why an operation was not done.

use crate::{
    store::StoreError,
    types::{Node, SectionError, Tree},
};

/// A failed operation. Nothing was changed by it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpsError {
    /// What somebody named is not there.
    #[error("no {what} {text:?}")]
    NotFound {
        /// What kind of thing.
        what: &'static str,
        /// What was written.
        text: String,
        /// What was perhaps meant: local ids, names, titles.
        nearest: Vec<String>,
    },
    /// An id names several nodes.
    #[error("{text:?} names several nodes")]
    Ambiguous {
        /// What was written.
        text: String,
        /// What it could be: at most ten.
        candidates: Vec<Node>,
    },
    /// A name fits several trees.
    #[error("{text:?} names several trees")]
    AmbiguousTree {
        /// What was written.
        text: String,
        /// What it could be.
        candidates: Vec<Tree>,
    },
    /// A section of a document is not there, or not the only one.
    #[error(transparent)]
    Section(#[from] SectionError),
    /// What was asked does not make sense; the text says why.
    #[error("{0}")]
    Invalid(String),
    /// The store did not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What operations return.
pub type Result<T, E = OpsError> = std::result::Result<T, E>;

impl OpsError {
    pub(crate) fn missing(what: &'static str, id: impl ToString) -> Self {
        Self::NotFound { what, text: id.to_string(), nearest: Vec::new() }
    }
}
