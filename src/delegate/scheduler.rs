//! Decides which subtasks of a delegation start now: those whose dependencies are verified, up to
//! [`DelegationLimits::parallel`] at once.
//!
//! It also decides on retries: a failed subtask is tried again up to [`DelegationLimits::attempts`], and then once by the
//! fallback model.

use super::state_machine::{DelegationEffect, DelegationState, SubtaskState, TaskStatus};
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
    pub fallback: bool,
    /// True if the checks of the plan can run.
    pub checks: bool,
}

impl DelegationLimits {
    /// True if the fallback model makes the attempt after so many failures.
    fn uses_fallback(self, failures: u32) -> bool {
        self.fallback && failures >= self.attempts
    }
}

impl DelegationState {
    /// Records a failed attempt. The subtask waits for another attempt unless the limit is reached.
    pub(super) fn record_failure(&mut self, task: usize, verdict: Option<NodeId>, why: Option<&String>) {
        let most = self.limits.attempts + u32::from(self.limits.fallback);
        let Some(state) = self.tasks.get_mut(task) else { return };
        (state.verdict, state.last_error) = (verdict, why.cloned());
        state.failures += 1;
        state.status = if state.failures < most { TaskStatus::Waiting } else { TaskStatus::Failed(why.cloned()) };
    }

    /// Returns the effects of all subtasks that can start now.
    pub(super) fn ready_effects(&mut self) -> Vec<DelegationEffect> {
        let mut effects = Vec::new();
        let busy = |task: &&SubtaskState| matches!(task.status, TaskStatus::Working | TaskStatus::Verifying(_));
        let mut active = self.tasks.iter().filter(busy).count();
        for &task in self.plan.order() {
            if self.tasks[task].status != TaskStatus::Waiting {
                continue;
            }
            let needs = self.plan.needs(task);
            let lost =
                |need: &&usize| matches!(self.tasks[**need].status, TaskStatus::Failed(_) | TaskStatus::Skipped(_));
            if let Some(&because) = needs.iter().find(lost) {
                self.tasks[task].status = TaskStatus::Skipped(because);
                effects.push(DelegationEffect::Skip { task, because });
            } else if active < self.limits.parallel.max(1)
                && self.plan.after(task).iter().all(|before| self.tasks[*before].status.has_ended())
                && needs.iter().all(|need| matches!(self.tasks[*need].status, TaskStatus::Verified(_)))
            {
                let fallback = self.limits.uses_fallback(self.tasks[task].failures);
                let state = &mut self.tasks[task];
                state.status = TaskStatus::Working;
                let has_check = self.limits.checks && self.plan.subtasks()[task].check.is_some();
                effects.push(if has_check && state.attempts == 0 && state.checked_before.is_none() {
                    DelegationEffect::CheckFirst { task }
                } else {
                    DelegationEffect::Work { task, fallback }
                });
                active += 1;
            }
        }
        if active == 0 && !self.tasks.iter().any(|task| task.status == TaskStatus::Waiting) {
            effects.push(DelegationEffect::End);
        }
        effects
    }
}
