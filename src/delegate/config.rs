//! Configuration of the orchestrator: models, tools and limits.

use std::{path::PathBuf, sync::Arc};

use tokio_util::sync::CancellationToken;

use crate::{
    context,
    provider::{Model, Prices},
    session::{Approval, BoxFuture, ModelResolver, ToolHandler},
    tools::{DEFAULT_REPLY_TOKENS, HostTool, ToolError},
    types::Agent,
};

/// Agent with its model.
#[derive(Clone)]
pub struct AgentModel {
    /// Author of the replies.
    pub agent: Agent,
    /// Model that writes the replies.
    pub model: Arc<dyn Model>,
}

/// Models, tools and limits of delegations.
#[derive(Clone)]
pub struct OrchestratorConfig {
    /// Agent that plans.
    pub planner: AgentModel,
    /// Agent that works on subtasks with commands.
    pub worker: AgentModel,
    /// Agent that verifies results without a check command.
    pub judge: AgentModel,
    /// Model for one more attempt after the worker's model failed.
    pub fallback: Option<Arc<dyn Model>>,
    /// Resolver for the models of agents that workers invoke with `continue`.
    pub models: Arc<dyn ModelResolver>,
    /// Asks the user to approve plans.
    pub approval: Arc<dyn Approval>,
    /// Tools of the workers.
    pub worker_tools: Arc<dyn WorkerTools>,
    /// Maximum number of subtasks in work at once.
    pub parallel: usize,
    /// Attempts of a subtask by the worker's model.
    pub attempts: u32,
    /// Maximum number of subtasks in a plan.
    pub subtasks: usize,
    /// Maximum rounds of an attempt.
    pub rounds: u32,
    /// Tokens of a worker's result before it is paged; see [`crate::session::ToolAccess::max_inline_tokens`].
    pub max_inline_tokens: u32,
    /// True if workers also get tools through the provider's tool-call API.
    pub native: bool,
    /// Context options of the workers.
    pub context: context::ContextOptions,
    /// Directory of partial replies and lock files. Without it, a second process is detected only when it appends its
    /// first event.
    pub partials_dir: Option<PathBuf>,
    /// Token prices for cost calculation.
    pub prices: Prices,
}

impl OrchestratorConfig {
    /// Default of [`OrchestratorConfig::parallel`].
    pub const DEFAULT_PARALLEL: usize = 4;
    /// Default of [`OrchestratorConfig::attempts`]: the second attempt sees the verdict on the first.
    pub const DEFAULT_ATTEMPTS: u32 = 2;
    /// Default of [`OrchestratorConfig::subtasks`].
    pub const DEFAULT_SUBTASKS: usize = 100;

    /// Creates a configuration with default limits, no tools and no fallback model.
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
            fallback: None,
            models,
            approval,
            worker_tools: Arc::new(NoTools),
            parallel: Self::DEFAULT_PARALLEL,
            attempts: Self::DEFAULT_ATTEMPTS,
            subtasks: Self::DEFAULT_SUBTASKS,
            rounds: crate::turn::TurnConfig::DEFAULT_ROUNDS,
            max_inline_tokens: DEFAULT_REPLY_TOKENS,
            native: false,
            context: context::ContextOptions::default(),
            partials_dir: None,
            prices: Prices::default(),
        }
    }

    /// Returns the model that verifies work of `worker`. It differs from the worker's model if any configured model
    /// does.
    pub(super) fn judge_for(&self, worker: &dyn Model) -> Arc<dyn Model> {
        let others = [Some(&self.judge.model), self.fallback.as_ref(), Some(&self.worker.model)];
        let other = others.into_iter().flatten().find(|model| model.reference() != worker.reference());
        Arc::clone(other.unwrap_or(&self.judge.model))
    }
}

/// Result of a check command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    /// True if the exit status is 0.
    pub passed: bool,
    /// Output of the command and its exit status.
    pub output: String,
}

/// Tools of workers other than the tree.
pub trait WorkerTools: Send + Sync {
    /// Returns the host tools of a worker; `who` is its name for other agents.
    fn tools(&self, who: &str) -> Vec<(HostTool, ToolHandler)>;

    /// Returns true if commands can run as checks.
    fn checks(&self) -> bool {
        false
    }

    /// Runs a command as a check. Approval of the plan does not cover it: the host asks as for any other command.
    ///
    /// # Errors
    /// If the command cannot be started. A command that fails is not an error.
    fn check<'a>(
        &'a self,
        command: &'a str,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<CheckResult, ToolError>> {
        let _ = (command, cancel);
        Box::pin(async { Err(ToolError::new(crate::tools::ErrorCode::NotConfigured, "no commands are run here")) })
    }

    /// Returns the files that the named workers have changed, each with the kind of change.
    fn changed(&self, who: &[String]) -> Vec<String> {
        let _ = who;
        Vec::new()
    }
}

/// No tools other than the tree.
struct NoTools;

impl WorkerTools for NoTools {
    fn tools(&self, _: &str) -> Vec<(HostTool, ToolHandler)> {
        Vec::new()
    }
}
