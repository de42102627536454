//! Who does delegated work, with what, and how much at once: what a host brings along.

use std::{path::PathBuf, sync::Arc};

use tokio_util::sync::CancellationToken;

use crate::{
    arrow::run::{HostTool, ToolError},
    context,
    provider::{Model, Prices},
    session::{Approval, BoxFuture, ModelResolver, ToolHandler},
    types::Agent,
};

/// An agent with a model.
#[derive(Clone)]
pub struct AgentModel {
    /// In whose name it writes.
    pub agent: Agent,
    /// What writes.
    pub model: Arc<dyn Model>,
}

/// Everybody who takes part, and what they have.
#[derive(Clone)]
pub struct OrchestratorConfig {
    /// Who plans.
    pub planner: AgentModel,
    /// Who works; it acts by commands.
    pub worker: AgentModel,
    /// Who verifies where no command can.
    pub judge: AgentModel,
    /// What works where the usual model failed.
    pub fallback_model: Option<Arc<dyn Model>>,
    /// The models of agents that those who work have continue nodes.
    pub models: Arc<dyn ModelResolver>,
    /// Who agrees to plans.
    pub approval: Arc<dyn Approval>,
    /// What they work with.
    pub worker_tools: Arc<dyn WorkerTools>,
    /// Subtasks at once.
    pub parallel: usize,
    /// How often the usual model tries a subtask.
    pub attempts: u32,
    /// Subtasks of a plan at most.
    pub subtasks: usize,
    /// Rounds of a try.
    pub rounds: u32,
    /// Whether tools are offered in the provider's own way too.
    pub native: bool,
    /// How much those who work are shown.
    pub context: context::ContextOptions,
    /// Where words are kept while they stream, and where it is seen that somebody carries a delegation on; without one,
    /// who does so as a second one is not refused at once, and the first is told at the next thing that happens.
    pub partials_dir: Option<PathBuf>,
    /// What tokens cost.
    pub prices: Prices,
}

impl OrchestratorConfig {
    /// Subtasks at once, unless somebody says otherwise.
    pub const DEFAULT_PARALLEL: usize = 4;
    /// Tries of a subtask, unless somebody says otherwise: one, and one with the verdict.
    pub const DEFAULT_ATTEMPTS: u32 = 2;
    /// Subtasks of a plan, unless somebody says otherwise.
    pub const DEFAULT_SUBTASKS: usize = 100;

    /// The usual: no tools, no stronger model.
    #[must_use]
    pub fn new(
        planner: AgentModel,
        worker: AgentModel,
        judge: AgentModel,
        models: Arc<dyn ModelResolver>,
        approval: Arc<dyn Approval>,
    ) -> Self {
        Self {
            planner,
            worker,
            judge,
            fallback_model: None,
            models,
            approval,
            worker_tools: Arc::new(NoTools),
            parallel: Self::DEFAULT_PARALLEL,
            attempts: Self::DEFAULT_ATTEMPTS,
            subtasks: Self::DEFAULT_SUBTASKS,
            rounds: crate::agent::TurnConfig::DEFAULT_ROUNDS,
            native: false,
            context: context::ContextOptions::default(),
            partials_dir: None,
            prices: Prices::default(),
        }
    }

    /// The model that looks at what `worker` did: the judge's, unless that is the same and there is another one.
    pub(super) fn judge_of(&self, worker: &dyn Model) -> Arc<dyn Model> {
        let others = [Some(&self.judge.model), self.fallback_model.as_ref(), Some(&self.worker.model)];
        let other = others.into_iter().flatten().find(|model| model.reference() != worker.reference());
        Arc::clone(other.unwrap_or(&self.judge.model))
    }
}

/// What came of a command that checks something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    /// Whether it ended with the exit status 0.
    pub passed: bool,
    /// What it printed, and how it ended.
    pub output: String,
}

/// What those who work have beside the tree.
pub trait WorkerTools: Send + Sync {
    /// The program's tools for one of them, who is named so to the others.
    fn tools(&self, who: &str) -> Vec<(HostTool, ToolHandler)>;

    /// Whether commands can be run as checks.
    fn checks(&self) -> bool {
        false
    }

    /// Runs a command as a check. Consent to the plan is none to its commands: the host asks as for any other command.
    ///
    /// # Errors
    /// If it cannot be run; a command that fails is no error.
    fn check<'a>(
        &'a self,
        command: &'a str,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<CheckResult, ToolError>> {
        let _ = (command, cancel);
        Box::pin(async { Err(ToolError::new(crate::arrow::run::ErrorCode::NotConfigured, "no commands are run here")) })
    }

    /// The files that those named so changed since it was opened, each with what was done to it.
    fn changed(&self, who: &[String]) -> Vec<String> {
        let _ = who;
        Vec::new()
    }
}

/// Nothing but the tree.
struct NoTools;

impl WorkerTools for NoTools {
    fn tools(&self, _: &str) -> Vec<(HostTool, ToolHandler)> {
        Vec::new()
    }
}
