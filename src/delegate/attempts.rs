//! Attempts at a subtask: their limit, and when the fallback model makes the last one.

use super::{DelegationState, TaskStatus};
use crate::id::NodeId;

/// Limits of concurrency and attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DelegationLimits {
    /// Maximum number of subtasks in work or verification at once; at least 1.
    pub parallel: usize,
    /// Attempts of a subtask by the worker's model; at least 1.
    pub attempts: u32,
    /// True if a fallback model makes one more attempt.
    pub stronger: bool,
    /// True if the checks of the plan can run.
    pub checks: bool,
}

impl DelegationLimits {
    /// True if the fallback model makes the attempt after so many failures.
    pub(super) fn uses_stronger(self, failures: u32) -> bool {
        self.stronger && failures >= self.attempts
    }
}

impl DelegationState {
    /// Records a failed attempt. The subtask waits for another attempt unless the limit is reached.
    pub(super) fn failed(&mut self, task: usize, verdict: Option<NodeId>, why: Option<&String>) {
        let most = self.limits.attempts + u32::from(self.limits.stronger);
        let Some(state) = self.tasks.get_mut(task) else { return };
        (state.verdict, state.last_error) = (verdict, why.cloned());
        state.failures += 1;
        state.status = if state.failures < most { TaskStatus::Waiting } else { TaskStatus::Failed(why.cloned()) };
    }
}
