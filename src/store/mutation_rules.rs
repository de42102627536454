//! Rules of changes and mutations that read no row, on every backend.

use super::{Change, Mutation, PurgeTarget, Result, StoreError};

impl Change {
    /// True if the change contains a purge.
    pub(super) fn is_purge(&self) -> bool {
        self.mutations.iter().any(|mutation| matches!(mutation, Mutation::Purge(_)))
    }

    /// True if a mutation sets its session's time of last activity. All other changes set it, also those that write nothing
    /// else.
    pub(super) fn sets_activity(&self) -> bool {
        let sets = |m: &Mutation| {
            matches!(m, Mutation::Append(_) | Mutation::CreateSession(_) | Mutation::UpdateSession { .. })
        };
        self.mutations.iter().any(sets)
    }
}

impl Mutation {
    /// Refuses a mutation that no stored state permits.
    pub(super) fn check(&self) -> Result<()> {
        let is_blank = |text: &str| text.trim().is_empty();
        let reason = match self {
            Self::Record { content, .. } if is_blank(content) => "a record must not be empty",
            Self::SaveSummary { content, .. } if is_blank(content) => "a summary must not be empty",
            Self::UpdateTodo { patch, .. } if patch.title.as_deref().is_some_and(is_blank) => "a todo needs a title",
            Self::FinishTodo { status, outcome, .. } if status.is_open() || is_blank(outcome) => {
                "an item must be completed or cancelled with an outcome"
            }
            _ => return Ok(()),
        };
        Err(StoreError::Refused(reason.to_owned()))
    }
}

impl PurgeTarget {
    /// Refuses a purge that removed the content of no node. A session or a tree may have other text, so that it is purged
    /// also then.
    pub(super) fn check_purged(self, nodes: u64) -> Result<()> {
        match self {
            Self::Node(_) if nodes == 0 => Err(StoreError::Conflict("it is purged already".to_owned())),
            _ => Ok(()),
        }
    }
}

/// The error of a mutation that is dispatched to a function without a case for it.
pub(super) fn unsupported() -> StoreError {
    StoreError::Refused("this mutation cannot be applied here".to_owned())
}

/// The error of a change of a todo that has an outcome.
pub(super) fn already_closed() -> StoreError {
    StoreError::Conflict("this item is already closed".to_owned())
}
