//! Errors of operations.

use crate::{
    store::{Direction, StoreError},
    types::{Node, SectionError, Tree},
};

/// Maximum number of names in a hint.
const MAX_HINT_NAMES: usize = 10;

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
        /// Similar local ids or titles, the most similar first.
        similar: Vec<String>,
        /// All ids, names or titles; empty if there are similar ones, or too many to list.
        known: Vec<String>,
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
        Self::NotFound { what, text: id.to_string(), similar: Vec::new(), known: Vec::new() }
    }

    /// An error that lists the known names.
    pub(crate) fn unknown(what: &'static str, text: &str, known: Vec<String>) -> Self {
        Self::NotFound { what, text: text.to_owned(), similar: Vec::new(), known }
    }

    /// Hint for a caller whose id or name is unknown: similar ones, else the known ones. `None` for other errors.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        self.hint_of(str::to_owned)
    }

    /// Formats the hint with names as `shown` returns them.
    pub(crate) fn hint_of(&self, shown: impl Fn(&str) -> String) -> Option<String> {
        let Self::NotFound { similar, known, .. } = self else { return None };
        let names = if similar.is_empty() { known } else { similar };
        let mut listed: Vec<String> = names.iter().take(MAX_HINT_NAMES).map(|name| shown(name)).collect();
        listed.extend((names.len() > MAX_HINT_NAMES).then(|| "…".to_owned()));
        let listed = listed.join(", ");
        match names.is_empty() {
            true => None,
            false if similar.is_empty() => Some(format!("there are: {listed}")),
            false => Some(format!("did you mean {listed}?")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_says_whether_names_are_similar_or_all() {
        let hint = |similar: &[&str], known: &[&str]| {
            let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let (similar, known) = (names(similar), names(known));
            OpsError::NotFound { what: "tree", text: "x".to_owned(), similar, known }.hint()
        };
        assert_eq!(hint(&["a7x2kq"], &[]).as_deref(), Some("did you mean a7x2kq?"));
        assert_eq!(hint(&[], &["Letters", "Notes"]).as_deref(), Some("there are: Letters, Notes"));
        assert!(hint(&[], &["n"; 11]).is_some_and(|hint| hint.ends_with("n, …")));
        assert_eq!(hint(&[], &[]), None);
    }
}
