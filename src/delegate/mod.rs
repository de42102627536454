//! Delegation: an agent hands a goal to an orchestrator, which plans, runs workers, verifies and reports.
//!
//! The head node of a delegation is a child of the delegating node. The plan, a branch for each subtask and the verdicts
//! are below the head. They are ordinary nodes: users can read, search, continue and prune them, and their cost counts in
//! the tree. The store also keeps a list of [`DelegationEvent`]s that name the nodes. An interrupted delegation resumes
//! from its events.
//!
//! [`LocalOrchestrator`] is the implementation of [`Orchestrator`]; [`LazyOrchestrator`] creates one at its first use. A
//! planner splits the goal into subtasks, `plan.rs` validates the plan, and the user approves it. Each subtask runs in its
//! own session as a turn ([`crate::session::generate()`]). A command or a model that did not do the work verifies the
//! result. A failed subtask is tried again with the verdict, and then by a fallback model. Subtasks that depend on a failed
//! one are skipped. A pure state machine (`state_machine.rs`) holds the progress; `scheduler.rs` decides on order, retries and the fallback
//! model.
//!
//! Workers do not delegate further: `driver/worker_request.rs` builds their requests without an orchestrator.

mod config;
mod create;
mod delegation_store;
mod driver;
mod lock;
mod plan;
mod prompts;
mod scheduler;
mod state_machine;
mod verdict;
mod verification;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;

#[doc(hidden)] // for the program
pub use config::{AgentModel, CheckResult, OrchestratorConfig, WorkerTools};
pub use create::create;
pub use delegation_store::{DelegationSummary, events, list, summary};
pub use driver::LocalOrchestrator;
pub use lock::lock_holder;
pub use plan::{Plan, PlanError, PlanRules, Subtask};
pub use scheduler::DelegationLimits;
pub use state_machine::DelegationEvent;
#[doc(hidden)] // for the program
pub use state_machine::{DelegationEffect, DelegationState, SubtaskState, TaskStatus};
#[doc(hidden)] // for the program
pub use verdict::{Verdict, read as read_verdict};

#[doc(hidden)] // documented in `session`
pub use crate::session::{
    DelegationReport, DelegationStatus, DelegationUpdate, Orchestrator, RunContext, SubtaskReport, SubtaskStatus,
    SubtaskUsage, UpdateSink,
};
use crate::{id::NodeId, ops::Actor, tools::ToolError};

/// Constructor of an orchestrator.
type OrchestratorFactory = Box<dyn Fn() -> BoxFuture<'static, Result<Arc<dyn Orchestrator>, ToolError>> + Send + Sync>;

/// Orchestrator that is created at its first run.
pub struct LazyOrchestrator {
    factory: OrchestratorFactory,
    orchestrator: OnceCell<Arc<dyn Orchestrator>>,
}

impl LazyOrchestrator {
    /// Stores a constructor without calling it. A failed call is repeated at the next run.
    #[must_use]
    pub fn new(factory: OrchestratorFactory) -> Self {
        Self { factory, orchestrator: OnceCell::new() }
    }
}

impl Orchestrator for LazyOrchestrator {
    fn create(&self, actor: &Actor, parent: NodeId, goal: &str, context: &str) -> Result<NodeId, ToolError> {
        create(actor, parent, goal, context)
    }

    fn run(&self, run: RunContext) -> BoxFuture<'_, Result<DelegationReport, ToolError>> {
        Box::pin(async move { self.orchestrator.get_or_try_init(|| (self.factory)()).await?.run(run).await })
    }
}
