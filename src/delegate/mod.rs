//! Delegation: work that needs a plan leaves the conversation, and comes back into it as a report.
//!
//! A delegation is a node, its head, below the one that delegates; everything that is done for it is below the head: the
//! plan, a branch for each subtask, what was said when it was verified. So it can be walked, searched, continued and
//! pruned as anything else, and its cost is in the tree's. What is kept beside the nodes is a list of [`Event`]s that
//! name them; a delegation that was cut off is as far as its events say, and goes on from there.
//!
//! [`begin`] makes the head. An [`Orchestrator`] does the work; [`LocalOrchestrator`] is the one there is, and [`LazyOrchestrator`] makes one
//! when it is first needed. It has a planner split the goal (`plan.rs` holds the plan against its rules), asks the
//! person, has subtasks worked on in sessions of their own, each by a turn ([`crate::session::generate()`]), verified by a
//! command or by a model that did not do the work, tried again with the verdict, and then by a stronger model. What needs
//! one that failed is skipped; the rest goes on. The order of all this is the machine's (`machine.rs`), which is pure.
//!
//! Left out: a delegation of a subtask's own.

mod config;
mod driver;
mod events;
mod judge;
mod lock;
mod plan;
mod prompts;
mod report;
mod state;
mod verdict;

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

pub use config::{AgentModel, CheckResult, OrchestratorConfig, WorkerTools};
pub use driver::LocalOrchestrator;
pub use events::{DelegationSummary, create, list};
pub use lock::lock_holder;
pub use plan::{Plan, PlanError, PlanRules, Subtask};
pub use report::{DelegationReport, DelegationStatus, SubtaskReport, SubtaskStatus};
pub use state::{DelegationEffect, DelegationEvent, DelegationLimits, DelegationState, SubtaskState, TaskStatus};
pub use verdict::{Verdict, read as read_verdict};

use crate::{
    arrow::run::ToolError,
    id::{LocalId, NodeId},
    ops::Actor,
    session::BoxFuture,
};

/// A delegation to be carried on.
#[derive(Clone)]
pub struct RunContext {
    /// Who delegated, in their session.
    pub actor: Actor,
    /// Its head, as [`begin`] made it.
    pub delegation: NodeId,
    /// Stops it. What was done stays, and it can be carried on later.
    pub cancel: CancellationToken,
    /// Hears of what happens.
    pub on_update: UpdateSink,
}

/// Hears of what happens in a delegation. It must not block.
pub type UpdateSink = Arc<dyn Fn(DelegationUpdate) + Send + Sync>;

/// What happens in a delegation. `task` is a subtask's place in the plan, from 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum DelegationUpdate {
    /// A plan is being made, which may take a while.
    Planning {
        /// The delegation, as it is named when it is taken up again.
        delegation: LocalId,
        /// By which model.
        model: String,
    },
    /// There is a plan.
    Planned {
        /// The delegation, as it is named when it is taken up again.
        delegation: LocalId,
        /// The subtasks' titles.
        subtasks: Vec<String>,
    },
    /// A subtask is tried.
    Started {
        /// Which.
        task: usize,
        /// What it is.
        title: String,
        /// Which try this is, from 1.
        attempt: u32,
        /// Where its branch begins.
        branch: LocalId,
        /// By which model.
        model: String,
    },
    /// Who works on it had a command run.
    Ran {
        /// Which.
        task: usize,
        /// The command.
        line: String,
        /// Whether it was done.
        ok: bool,
    },
    /// A try was looked at, or could not be made.
    Verdict {
        /// Which.
        task: usize,
        /// What it is.
        title: String,
        /// Whether it is done.
        passed: bool,
        /// What was said of it.
        why: String,
    },
    /// It will not be done.
    Skipped {
        /// Which.
        task: usize,
        /// What it is.
        title: String,
        /// The title of what it needs.
        needs: String,
    },
}

/// What carries delegations on.
pub trait Orchestrator: Send + Sync {
    /// Carries a delegation on to its end, or until it is stopped. One that was cut off goes on where it was; what was
    /// verified is not done again.
    ///
    /// The returned report says how it stands, also where not everything could be done.
    ///
    /// # Errors
    /// If there is no plan that holds, the person does not agree to it, somebody else carries it on, or the store fails.
    fn run(&self, work: RunContext) -> BoxFuture<'_, Result<DelegationReport, ToolError>>;
}

/// Makes an orchestrator.
type Make = Box<dyn Fn() -> BoxFuture<'static, Result<Arc<dyn Orchestrator>, ToolError>> + Send + Sync>;

/// An orchestrator that is made when it is first needed.
pub struct LazyOrchestrator {
    make: Make,
    made: OnceCell<Arc<dyn Orchestrator>>,
}

impl LazyOrchestrator {
    /// One that is made so.
    #[must_use]
    pub fn new(make: Make) -> Self {
        Self { make, made: OnceCell::new() }
    }
}

impl Orchestrator for LazyOrchestrator {
    fn run(&self, work: RunContext) -> BoxFuture<'_, Result<DelegationReport, ToolError>> {
        Box::pin(async move { self.made.get_or_try_init(|| (self.make)()).await?.run(work).await })
    }
}
