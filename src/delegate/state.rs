//! How far a delegation is: events in, what is to be done out. It knows no model, no store and no clock; whoever drives
//! it carries out each [`Effect`] and tells it what happened.
//!
//! The events are what is kept of a delegation, and they hold ids alone: the words are nodes. After a crash they are told
//! to a new machine in their order, which is then as far as the old one was; [`Event::Resumed`] has it begin anew what
//! was going on, and what was verified stays so.

use serde::{Deserialize, Serialize};

use super::Plan;
use crate::id::{NodeId, SessionId};

/// How much is done at once, and how often something is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelegationLimits {
    /// Subtasks that are worked on, or verified, at once; at least 1.
    pub parallel: usize,
    /// How often a subtask is tried by the usual model; at least 1.
    pub attempts: u32,
    /// Whether there is a stronger model that tries after that.
    pub stronger: bool,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum DelegationEvent {
    /// Somebody delegated.
    Begun {
        /// The session that plans and verifies; those that work are delegated by it.
        session: SessionId,
    },
    /// There is a plan that holds.
    Planned {
        /// The node that has it.
        node: NodeId,
    },
    /// The person agreed to it.
    Approved,
    /// The person did not.
    Refused,
    /// A subtask is being worked on.
    Started {
        /// Which, by its place in the plan.
        task: usize,
        /// The session that works.
        session: SessionId,
        /// What it is asked.
        brief: NodeId,
        /// Whether by the stronger model.
        stronger: bool,
    },
    /// The work is done, as whoever did it says.
    Finished {
        /// Which.
        task: usize,
        /// The node with its result.
        node: NodeId,
    },
    /// The work could not be done.
    #[serde(rename = "broke")]
    WorkFailed {
        /// Which.
        task: usize,
        /// Why.
        why: String,
    },
    /// Somebody else looked at the result.
    Verified {
        /// Which.
        task: usize,
        /// The node with what they say.
        node: NodeId,
        /// Whether it is what was wanted.
        passed: bool,
    },
    /// Nobody could look at it.
    #[serde(rename = "unverified")]
    VerifyFailed {
        /// Which.
        task: usize,
        /// Why.
        why: String,
    },
    /// It goes on after it was left: what is not verified is tried anew.
    Resumed,
    /// Somebody stopped it.
    Stopped,
    /// Nothing is left to be done.
    Ended,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DelegationEffect {
    /// Work on a subtask. Answered by [`Event::Started`], and then by [`Event::Finished`] or [`Event::Broke`].
    Work {
        /// Which.
        task: usize,
        /// Whether by the stronger model.
        stronger: bool,
    },
    /// Look at a result. Answered by [`Event::Verified`] or [`Event::Unverified`].
    Verify {
        /// Which.
        task: usize,
        /// The node with the result.
        node: NodeId,
    },
    /// Say that a subtask will not be done.
    Skip {
        /// Which.
        task: usize,
        /// The one that it needs.
        because: usize,
    },
    /// Nothing is left to be done. Answered by [`Event::Ended`].
    End,
}

/// How far a subtask is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskStatus {
    /// It waits for others, or for its turn.
    Waiting,
    /// It is being worked on.
    Working,
    /// Its result is being looked at.
    Verifying(NodeId),
    /// It is done, and somebody else has seen that it is.
    Verified(NodeId),
    /// It could not be done; why.
    Failed(Option<String>),
    /// It needs one that was not done.
    Skipped(usize),
}

/// A subtask's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubtaskState {
    /// How far it is.
    pub standing: TaskStatus,
    /// How often it was tried in vain since it was begun or taken up again.
    pub failures: u32,
    /// How often it was begun.
    pub attempts: u32,
    /// The session that works on it.
    pub session: Option<SessionId>,
    /// Where its branch begins.
    pub brief: Option<NodeId>,
    /// Its last result.
    pub result: Option<NodeId>,
    /// What was said of that, if somebody looked.
    pub verdict: Option<NodeId>,
    /// Why it was not done the last time, where no verdict says it.
    pub last_error: Option<String>,
    /// Whether the stronger model had it last.
    pub use_fallback: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DelegationPhase {
    Proposed,
    Running,
    Stopped,
    Ended,
}

/// A delegation whose plan is there.
#[derive(Debug, Clone)]
pub struct DelegationState {
    plan: Plan,
    limits: DelegationLimits,
    tasks: Vec<SubtaskState>,
    phase: DelegationPhase,
}

impl DelegationState {
    /// A delegation with a plan that nobody agreed to yet.
    #[must_use]
    pub fn new(plan: Plan, limits: DelegationLimits) -> Self {
        let task = SubtaskState {
            standing: TaskStatus::Waiting,
            failures: 0,
            attempts: 0,
            session: None,
            brief: None,
            result: None,
            verdict: None,
            last_error: None,
            use_fallback: false,
        };
        let tasks = vec![task; plan.subtasks().len()];
        Self { plan, limits, tasks, phase: DelegationPhase::Proposed }
    }

    /// Its plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Its subtasks' states, by their place in the plan.
    #[must_use]
    pub fn tasks(&self) -> &[SubtaskState] {
        &self.tasks
    }

    /// Whether somebody agreed to it.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        self.phase != DelegationPhase::Proposed
    }

    /// Whether it was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.phase == DelegationPhase::Stopped
    }

    /// Whether nothing is left to be done, now or later: every subtask is verified.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.tasks.iter().all(|task| matches!(task.standing, TaskStatus::Verified(_)))
    }

    /// Takes in what happened; returns what is to be done. What does not fit the state changes nothing.
    pub fn step(&mut self, event: &DelegationEvent) -> Vec<DelegationEffect> {
        let mut effects = Vec::new();
        match event {
            DelegationEvent::Begun { .. } | DelegationEvent::Planned { .. } => {}
            DelegationEvent::Approved => self.phase = DelegationPhase::Running,
            DelegationEvent::Refused => self.phase = DelegationPhase::Proposed,
            DelegationEvent::Stopped => self.phase = DelegationPhase::Stopped,
            DelegationEvent::Ended => self.phase = DelegationPhase::Ended,
            DelegationEvent::Resumed => effects.extend(self.resume()),
            DelegationEvent::Started { task, session, brief, stronger } => {
                if let Some(task) = self.tasks.get_mut(*task) {
                    task.standing = TaskStatus::Working;
                    (task.session, task.use_fallback) = (Some(*session), *stronger);
                    task.brief.get_or_insert(*brief);
                    task.attempts += 1;
                }
            }
            DelegationEvent::Finished { task, node } => {
                if let Some(state) = self.tasks.get_mut(*task) {
                    state.standing = TaskStatus::Verifying(*node);
                    (state.result, state.verdict, state.last_error) = (Some(*node), None, None);
                    effects.push(DelegationEffect::Verify { task: *task, node: *node });
                }
            }
            DelegationEvent::WorkFailed { task, why } => self.failed(*task, None, Some(why)),
            DelegationEvent::Verified { task, node, passed: false } => self.failed(*task, Some(*node), None),
            DelegationEvent::Verified { task, node, passed: true } => {
                if let Some(state) = self.tasks.get_mut(*task)
                    && let Some(result) = state.result
                {
                    state.standing = TaskStatus::Verified(result);
                    state.verdict = Some(*node);
                }
            }
            DelegationEvent::VerifyFailed { task, why } => {
                if let Some(state) = self.tasks.get_mut(*task) {
                    state.standing = TaskStatus::Failed(Some(why.clone()));
                }
            }
        }
        if self.phase == DelegationPhase::Running {
            effects.extend(self.ready_effects());
        }
        effects
    }

    /// A try was in vain: another one, if there may be one.
    fn failed(&mut self, task: usize, verdict: Option<NodeId>, why: Option<&String>) {
        let most = self.limits.attempts + u32::from(self.limits.stronger);
        let Some(state) = self.tasks.get_mut(task) else { return };
        (state.verdict, state.last_error) = (verdict, why.cloned());
        state.failures += 1;
        state.standing = if state.failures < most { TaskStatus::Waiting } else { TaskStatus::Failed(why.cloned()) };
    }

    /// What was going on begins anew; a result that nobody looked at is looked at.
    fn resume(&mut self) -> Vec<DelegationEffect> {
        if self.phase != DelegationPhase::Proposed {
            self.phase = DelegationPhase::Running;
        }
        let mut effects = Vec::new();
        for (at, task) in self.tasks.iter_mut().enumerate() {
            let unseen = task.verdict.is_none() && task.last_error.is_none();
            match (&task.standing, task.result) {
                (TaskStatus::Verified(_), _) => {}
                (TaskStatus::Verifying(_) | TaskStatus::Failed(_), Some(node)) if unseen => {
                    task.standing = TaskStatus::Verifying(node);
                    effects.push(DelegationEffect::Verify { task: at, node });
                }
                (TaskStatus::Failed(_), _) => (task.standing, task.failures) = (TaskStatus::Waiting, 0),
                _ => task.standing = TaskStatus::Waiting,
            }
        }
        effects
    }

    /// What can be begun now.
    fn ready_effects(&mut self) -> Vec<DelegationEffect> {
        let mut effects = Vec::new();
        let busy = |task: &&SubtaskState| matches!(task.standing, TaskStatus::Working | TaskStatus::Verifying(_));
        let mut active = self.tasks.iter().filter(busy).count();
        for &task in self.plan.order() {
            if self.tasks[task].standing != TaskStatus::Waiting {
                continue;
            }
            let needs = self.plan.needs(task);
            let lost =
                |need: &&usize| matches!(self.tasks[**need].standing, TaskStatus::Failed(_) | TaskStatus::Skipped(_));
            if let Some(&because) = needs.iter().find(lost) {
                self.tasks[task].standing = TaskStatus::Skipped(because);
                effects.push(DelegationEffect::Skip { task, because });
            } else if active < self.limits.parallel.max(1)
                && needs.iter().all(|need| matches!(self.tasks[*need].standing, TaskStatus::Verified(_)))
            {
                let stronger = self.limits.stronger && self.tasks[task].failures >= self.limits.attempts;
                self.tasks[task].standing = TaskStatus::Working;
                effects.push(DelegationEffect::Work { task, stronger });
                active += 1;
            }
        }
        if active == 0 && !self.tasks.iter().any(|task| task.standing == TaskStatus::Waiting) {
            effects.push(DelegationEffect::End);
        }
        effects
    }
}

#[cfg(test)]
mod tests;
