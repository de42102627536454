//! Errors of commands: pending until the same command succeeds, then resolved.

use serde::{Deserialize, Serialize};

use super::{
    SessionState, StateEntry,
    state::{entry_text, push_bounded},
};
use crate::types::{first_words, one_line};

/// Maximum number of resolved errors. The oldest are dropped.
pub(super) const MAX_RESOLVED_ERRORS: usize = 5;
/// Maximum length in characters of a resolved error.
const MAX_RESOLVED_CHARS: usize = 280;
/// Maximum number of failed commands that may still succeed.
const MAX_PENDING_ERRORS: usize = 10;

/// A failed command that has not succeeded since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingError {
    command: String,
    /// Failures that the output names.
    error: String,
    turn: u64,
}

impl SessionState {
    /// Records a failed command.
    pub(super) fn command_failed(&mut self, command: &str, error: String, turn: u64) {
        let pending = PendingError { command: entry_text(command), error, turn };
        push_bounded(&mut self.pending_errors, MAX_PENDING_ERRORS, pending, |old, new| old.command == new.command);
    }

    /// Moves an error to the resolved ones if the command failed before.
    pub(super) fn command_succeeded(&mut self, command: &str, turn: u64) {
        let command = entry_text(command);
        let Some(at) = self.pending_errors.iter().position(|pending| pending.command == command) else { return };
        let PendingError { error, turn: failed, .. } = self.pending_errors.remove(at);
        // A file changed in between probably fixed the error.
        let by = self.files_touched.iter().rev().find(|file| file.turn > failed);
        let by = by.map(|file| format!("after {} was {}, ", file.path, file.action)).unwrap_or_default();
        let text = first_words(&one_line(&format!("{error} — fixed: {by}`{command}` works")), MAX_RESOLVED_CHARS);
        push_bounded(&mut self.errors_resolved, MAX_RESOLVED_ERRORS, StateEntry { text, turn }, |old, new| {
            old.text == new.text
        });
    }
}
