//! Delegation as a pure state machine: events in, effects out. It uses no model, store or clock. A driver performs each
//! [`DelegationEffect`] and reports each [`DelegationEvent`].
//!
//! `scheduler.rs` decides which subtasks start after an event, and whether a failed one is tried again.
//!
//! The store keeps only the events. They hold ids; the texts are nodes. After a crash a new state machine replays the
//! events in order. [`DelegationEvent::Resumed`] then restarts unfinished subtasks; verified ones stay verified.

use serde::{Deserialize, Serialize};

use super::{Plan, scheduler::DelegationLimits};
use crate::id::{NodeId, SessionId};

/// Event of a delegation, stored as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum DelegationEvent {
    /// The delegation was created.
    Begun {
        /// Session that plans and verifies. The workers' sessions are its sub-sessions.
        session: SessionId,
    },
    /// A valid plan exists. It replaces an earlier one that is no longer valid, together with the work on that.
    Planned {
        /// Node with the plan.
        node: NodeId,
    },
    /// The user approved the plan.
    Approved,
    /// The user refused the plan.
    Refused,
    /// The check of a subtask ran before the work began.
    CheckedBefore {
        /// Index of the subtask in the plan.
        task: usize,
        /// True if it passed, so that it does not show whether the work was done.
        passed: bool,
    },
    /// A worker started an attempt at a subtask.
    Started {
        /// Index of the subtask in the plan.
        task: usize,
        /// Session of the worker.
        session: SessionId,
        /// Node with the worker's instructions.
        brief: NodeId,
        /// True if the fallback model works on it.
        #[serde(rename = "stronger")]
        fallback: bool,
    },
    /// The worker reported a result.
    Finished {
        /// Index of the subtask in the plan.
        task: usize,
        /// Node with the result.
        node: NodeId,
    },
    /// The attempt failed.
    #[serde(rename = "broke")]
    WorkFailed {
        /// Index of the subtask in the plan.
        task: usize,
        /// Error message.
        why: String,
    },
    /// A check or a judge verified the result.
    Verified {
        /// Index of the subtask in the plan.
        task: usize,
        /// Node with the verdict.
        node: NodeId,
        /// True if the result meets the criteria.
        passed: bool,
    },
    /// The verification failed to run.
    #[serde(rename = "unverified")]
    VerifyFailed {
        /// Index of the subtask in the plan.
        task: usize,
        /// Error message.
        why: String,
    },
    /// A process resumed the delegation; subtasks that are not verified are tried again.
    Resumed,
    /// The delegation was stopped.
    Stopped,
    /// No subtask is left to run.
    Ended,
}

/// Effect that the driver must perform.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DelegationEffect {
    /// Run the check of a subtask before its work. Answered by [`DelegationEvent::CheckedBefore`].
    CheckFirst {
        /// Index of the subtask in the plan.
        task: usize,
    },
    /// Start an attempt. Answered by [`DelegationEvent::Started`], then by [`DelegationEvent::Finished`] or
    /// [`DelegationEvent::WorkFailed`].
    Work {
        /// Index of the subtask in the plan.
        task: usize,
        /// True if the fallback model makes the attempt.
        fallback: bool,
    },
    /// Verify a result. Answered by [`DelegationEvent::Verified`] or [`DelegationEvent::VerifyFailed`].
    Verify {
        /// Index of the subtask in the plan.
        task: usize,
        /// Node with the result.
        node: NodeId,
    },
    /// Report that a subtask is skipped.
    Skip {
        /// Index of the subtask in the plan.
        task: usize,
        /// Index of the failed or skipped subtask that it depends on.
        because: usize,
    },
    /// No subtask is left to run. Answered by [`DelegationEvent::Ended`].
    End,
}

/// Progress of a subtask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TaskStatus {
    /// Waits for its dependencies or for a free worker.
    #[default]
    Waiting,
    /// A worker runs.
    Working,
    /// The result is being verified.
    Verifying(NodeId),
    /// The result passed verification.
    Verified(NodeId),
    /// All attempts failed; holds the error if no verdict does.
    Failed(Option<String>),
    /// A dependency failed or was skipped; holds its index.
    Skipped(usize),
}

impl TaskStatus {
    /// True if nothing more is done for the subtask.
    pub(super) const fn has_ended(&self) -> bool {
        matches!(self, Self::Verified(_) | Self::Failed(_) | Self::Skipped(_))
    }
}

/// State of a subtask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubtaskState {
    /// Progress of the subtask.
    pub status: TaskStatus,
    /// Consecutive failures since the subtask was started or resumed.
    pub failures: u32,
    /// Number of started attempts.
    pub attempts: u32,
    /// Session of the worker.
    pub session: Option<SessionId>,
    /// First node of the subtask's branch.
    pub brief: Option<NodeId>,
    /// Last result.
    pub result: Option<NodeId>,
    /// Verdict on the last result, if verified.
    pub verdict: Option<NodeId>,
    /// Error of the last attempt, if there is no verdict.
    pub last_error: Option<String>,
    /// True if the fallback model made the last attempt.
    pub fallback: bool,
    /// Outcome of the check before the work; `None` if it did not run.
    pub checked_before: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DelegationPhase {
    Proposed,
    Running,
    Stopped,
    Ended,
}

/// State of a delegation that has a plan.
#[derive(Debug, Clone)]
pub struct DelegationState {
    pub(super) plan: Plan,
    pub(super) limits: DelegationLimits,
    pub(super) tasks: Vec<SubtaskState>,
    phase: DelegationPhase,
}

impl DelegationState {
    /// Creates the state of a plan that is not approved yet.
    #[must_use]
    pub fn new(plan: Plan, limits: DelegationLimits) -> Self {
        let tasks = vec![SubtaskState::default(); plan.subtasks().len()];
        Self { plan, limits, tasks, phase: DelegationPhase::Proposed }
    }

    /// Creates the state of a plan after the events of its delegation.
    #[must_use]
    pub fn replay(plan: Plan, limits: DelegationLimits, events: &[DelegationEvent]) -> Self {
        let mut state = Self::new(plan, limits);
        for event in events {
            state.step(event);
        }
        state
    }

    /// Returns the plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the states of the subtasks, in plan order.
    #[must_use]
    pub fn tasks(&self) -> &[SubtaskState] {
        &self.tasks
    }

    /// Returns true if the plan was approved.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        self.phase != DelegationPhase::Proposed
    }

    /// Returns true if the delegation was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.phase == DelegationPhase::Stopped
    }

    /// Returns true if every subtask is verified.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.tasks.iter().all(|task| matches!(task.status, TaskStatus::Verified(_)))
    }

    /// Applies an event and returns the effects. An event that does not fit the state has no effect.
    pub fn step(&mut self, event: &DelegationEvent) -> Vec<DelegationEffect> {
        let mut effects = Vec::new();
        match event {
            DelegationEvent::Begun { .. } => {}
            DelegationEvent::Planned { .. } => {
                // Events of an earlier plan say nothing about this one, which needs its own approval.
                self.tasks.fill(SubtaskState::default());
                self.phase = DelegationPhase::Proposed;
            }
            DelegationEvent::Approved => self.phase = DelegationPhase::Running,
            DelegationEvent::Refused => self.phase = DelegationPhase::Proposed,
            DelegationEvent::Stopped => self.phase = DelegationPhase::Stopped,
            DelegationEvent::Ended => self.phase = DelegationPhase::Ended,
            DelegationEvent::Resumed => effects.extend(self.resume()),
            DelegationEvent::CheckedBefore { task, passed } => {
                if let Some(state) = self.tasks.get_mut(*task) {
                    state.checked_before = Some(*passed);
                    if state.status == TaskStatus::Working {
                        effects.push(DelegationEffect::Work { task: *task, fallback: false });
                    }
                }
            }
            DelegationEvent::Started { task, session, brief, fallback } => {
                if let Some(task) = self.tasks.get_mut(*task) {
                    task.status = TaskStatus::Working;
                    (task.session, task.fallback) = (Some(*session), *fallback);
                    task.brief.get_or_insert(*brief);
                    task.attempts += 1;
                }
            }
            DelegationEvent::Finished { task, node } => {
                if let Some(state) = self.tasks.get_mut(*task) {
                    state.status = TaskStatus::Verifying(*node);
                    (state.result, state.verdict, state.last_error) = (Some(*node), None, None);
                    effects.push(DelegationEffect::Verify { task: *task, node: *node });
                }
            }
            DelegationEvent::WorkFailed { task, why } => self.record_failure(*task, None, Some(why)),
            DelegationEvent::Verified { task, node, passed: false } => self.record_failure(*task, Some(*node), None),
            DelegationEvent::Verified { task, node, passed: true } => {
                if let Some(state) = self.tasks.get_mut(*task)
                    && let Some(result) = state.result
                {
                    state.status = TaskStatus::Verified(result);
                    state.verdict = Some(*node);
                }
            }
            DelegationEvent::VerifyFailed { task, why } => {
                if let Some(state) = self.tasks.get_mut(*task) {
                    state.status = TaskStatus::Failed(Some(why.clone()));
                }
            }
        }
        if self.phase == DelegationPhase::Running {
            effects.extend(self.ready_effects());
        }
        effects
    }

    /// Restarts unfinished subtasks. Results without a verdict are verified again.
    fn resume(&mut self) -> Vec<DelegationEffect> {
        if self.phase != DelegationPhase::Proposed {
            self.phase = DelegationPhase::Running;
        }
        let mut effects = Vec::new();
        for (at, task) in self.tasks.iter_mut().enumerate() {
            let unseen = task.verdict.is_none() && task.last_error.is_none();
            match (&task.status, task.result) {
                (TaskStatus::Verified(_), _) => {}
                (TaskStatus::Verifying(_) | TaskStatus::Failed(_), Some(node)) if unseen => {
                    task.status = TaskStatus::Verifying(node);
                    effects.push(DelegationEffect::Verify { task: at, node });
                }
                (TaskStatus::Failed(_), _) => (task.status, task.failures) = (TaskStatus::Waiting, 0),
                _ => task.status = TaskStatus::Waiting,
            }
        }
        effects
    }
}

#[cfg(test)]
mod tests;
