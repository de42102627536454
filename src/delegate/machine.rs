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
pub struct Limits {
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
pub enum Event {
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
    Broke {
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
    Unverified {
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
pub enum Effect {
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
pub enum Standing {
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
pub struct Task {
    /// How far it is.
    pub standing: Standing,
    /// How often it was tried in vain since it was begun or taken up again.
    pub failures: u32,
    /// How often it was begun.
    pub begun: u32,
    /// The session that works on it.
    pub session: Option<SessionId>,
    /// Where its branch begins.
    pub brief: Option<NodeId>,
    /// Its last result.
    pub result: Option<NodeId>,
    /// What was said of that, if somebody looked.
    pub verdict: Option<NodeId>,
    /// Why it was not done the last time, where no verdict says it.
    pub trouble: Option<String>,
    /// Whether the stronger model had it last.
    pub stronger: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Proposed,
    Running,
    Stopped,
    Ended,
}

/// A delegation whose plan is there.
#[derive(Debug, Clone)]
pub struct Delegation {
    plan: Plan,
    limits: Limits,
    tasks: Vec<Task>,
    phase: Phase,
}

impl Delegation {
    /// A delegation with a plan that nobody agreed to yet.
    #[must_use]
    pub fn new(plan: Plan, limits: Limits) -> Self {
        let task = Task {
            standing: Standing::Waiting,
            failures: 0,
            begun: 0,
            session: None,
            brief: None,
            result: None,
            verdict: None,
            trouble: None,
            stronger: false,
        };
        let tasks = vec![task; plan.subtasks().len()];
        Self { plan, limits, tasks, phase: Phase::Proposed }
    }

    /// Its plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Its subtasks' states, by their place in the plan.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Whether somebody agreed to it.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        self.phase != Phase::Proposed
    }

    /// Whether it was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.phase == Phase::Stopped
    }

    /// Whether nothing is left to be done, now or later: every subtask is verified.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.tasks.iter().all(|task| matches!(task.standing, Standing::Verified(_)))
    }

    /// Takes in what happened; returns what is to be done. What does not fit the state changes nothing.
    pub fn step(&mut self, event: &Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Begun { .. } | Event::Planned { .. } => {}
            Event::Approved => self.phase = Phase::Running,
            Event::Refused => self.phase = Phase::Proposed,
            Event::Stopped => self.phase = Phase::Stopped,
            Event::Ended => self.phase = Phase::Ended,
            Event::Resumed => effects.extend(self.resume()),
            Event::Started { task, session, brief, stronger } => {
                if let Some(task) = self.tasks.get_mut(*task) {
                    task.standing = Standing::Working;
                    (task.session, task.stronger) = (Some(*session), *stronger);
                    task.brief.get_or_insert(*brief);
                    task.begun += 1;
                }
            }
            Event::Finished { task, node } => {
                if let Some(state) = self.tasks.get_mut(*task) {
                    state.standing = Standing::Verifying(*node);
                    (state.result, state.verdict, state.trouble) = (Some(*node), None, None);
                    effects.push(Effect::Verify { task: *task, node: *node });
                }
            }
            Event::Broke { task, why } => self.failed(*task, None, Some(why)),
            Event::Verified { task, node, passed: false } => self.failed(*task, Some(*node), None),
            Event::Verified { task, node, passed: true } => {
                if let Some(state) = self.tasks.get_mut(*task)
                    && let Some(result) = state.result
                {
                    state.standing = Standing::Verified(result);
                    state.verdict = Some(*node);
                }
            }
            Event::Unverified { task, why } => {
                if let Some(state) = self.tasks.get_mut(*task) {
                    state.standing = Standing::Failed(Some(why.clone()));
                }
            }
        }
        if self.phase == Phase::Running {
            effects.extend(self.due());
        }
        effects
    }

    /// A try was in vain: another one, if there may be one.
    fn failed(&mut self, task: usize, verdict: Option<NodeId>, why: Option<&String>) {
        let most = self.limits.attempts + u32::from(self.limits.stronger);
        let Some(state) = self.tasks.get_mut(task) else { return };
        (state.verdict, state.trouble) = (verdict, why.cloned());
        state.failures += 1;
        state.standing = if state.failures < most { Standing::Waiting } else { Standing::Failed(why.cloned()) };
    }

    /// What was going on begins anew; a result that nobody looked at is looked at.
    fn resume(&mut self) -> Vec<Effect> {
        if self.phase != Phase::Proposed {
            self.phase = Phase::Running;
        }
        let mut effects = Vec::new();
        for (at, task) in self.tasks.iter_mut().enumerate() {
            let unseen = task.verdict.is_none() && task.trouble.is_none();
            match (&task.standing, task.result) {
                (Standing::Verified(_), _) => {}
                (Standing::Verifying(_) | Standing::Failed(_), Some(node)) if unseen => {
                    task.standing = Standing::Verifying(node);
                    effects.push(Effect::Verify { task: at, node });
                }
                (Standing::Failed(_), _) => (task.standing, task.failures) = (Standing::Waiting, 0),
                _ => task.standing = Standing::Waiting,
            }
        }
        effects
    }

    /// What can be begun now.
    fn due(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        let busy = |task: &&Task| matches!(task.standing, Standing::Working | Standing::Verifying(_));
        let mut active = self.tasks.iter().filter(busy).count();
        for &task in self.plan.order() {
            if self.tasks[task].standing != Standing::Waiting {
                continue;
            }
            let needs = self.plan.needs(task);
            let lost =
                |need: &&usize| matches!(self.tasks[**need].standing, Standing::Failed(_) | Standing::Skipped(_));
            if let Some(&because) = needs.iter().find(lost) {
                self.tasks[task].standing = Standing::Skipped(because);
                effects.push(Effect::Skip { task, because });
            } else if active < self.limits.parallel.max(1)
                && needs.iter().all(|need| matches!(self.tasks[*need].standing, Standing::Verified(_)))
            {
                let stronger = self.limits.stronger && self.tasks[task].failures >= self.limits.attempts;
                self.tasks[task].standing = Standing::Working;
                effects.push(Effect::Work { task, stronger });
                active += 1;
            }
        }
        if active == 0 && !self.tasks.iter().any(|task| task.standing == Standing::Waiting) {
            effects.push(Effect::End);
        }
        effects
    }
}

#[cfg(test)]
mod tests;
