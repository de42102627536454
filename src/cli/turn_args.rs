//! Options that `chat` and `continue` share: sampling, context and the agent's tools.

use std::sync::{Arc, atomic::AtomicBool};

use loomtree::{
    delegate::{Orchestrator, WorkerTools},
    provider::Sampling,
    session::{Approval, ApprovalRequest, BoxFuture, Decision, HostTools, ToolAccess},
    types::{Agent, Permission},
};

use super::{
    command_context::CommandContext,
    config::Config,
    delegation::{self, OrchestratorBuilder},
    error::{CliError, Result},
    models,
};

/// The options of an agent's turn.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TurnArgs {
    /// Limit of a reply, in tokens [default: the model's]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    max_tokens: Option<u32>,
    /// Sampling temperature, 0 to 10 [default: the model's]
    #[arg(long, value_name = "NUMBER")]
    temperature: Option<f32>,
    /// The model's context window, in tokens [default: 128000, or the configured window]
    #[arg(long, value_name = "TOKENS")]
    window: Option<u32>,
    /// Maximum rounds of commands in a reply
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: u32,
    /// Also offer the commands as the provider's native tools
    #[arg(long)]
    native: bool,
    /// Let the agent read and change files of the workspace and run commands there; changes and commands need approval
    #[arg(long)]
    tools: bool,
    /// Run matching commands without asking, such as 'cargo test*'; may be repeated
    #[arg(long, value_name = "PATTERN", requires = "tools")]
    allow: Vec<String>,
    /// Let agents delegate without asking about each plan; its commands and changes still need approval
    #[arg(long)]
    allow_delegate: bool,
    /// Change matching files without asking, such as 'src/**'; may be repeated
    #[arg(long, value_name = "GLOB", requires = "tools")]
    allow_write: Vec<String>,
}

impl TurnArgs {
    /// Returns the sampling parameters.
    pub(crate) fn sampling(&self) -> Sampling {
        Sampling { temperature: self.temperature, max_tokens: self.max_tokens, ..Sampling::default() }
    }

    /// Returns the context options.
    pub(crate) fn context(&self, config: &Config) -> loomtree::context::ContextOptions {
        config.context(self.window)
    }

    /// True if the agent gets tools for the workspace.
    pub(crate) fn has_workspace_tools(&self) -> bool {
        self.tools
    }

    /// Returns the services for the agent's commands. `model` is the model that the user named.
    pub(crate) fn tool_access(
        &self,
        cx: &CommandContext<'_>,
        agent: &Agent,
        model: Option<&str>,
    ) -> Result<ToolAccess> {
        let defaults = models::tool_access(&cx.config, model);
        let native = self.native || defaults.native;
        let mut commands = ToolAccess { rounds: self.rounds, native, ..defaults };
        if agent.profile.permissions.has(Permission::Delegate) {
            commands.orchestrator = self.orchestrator(cx, agent, model)?;
        }
        if !self.tools {
            return Ok(commands);
        }
        Ok(ToolAccess {
            tools: self.host_tools(cx, agent.name(), Arc::clone(&cx.approval))?,
            max_inline_tokens: delegation::MAX_INLINE_ANSWER_TOKENS,
            ..commands
        })
    }

    /// Returns the orchestrator of delegations in a conversation with `agent`. Returns `None` if no agent can work.
    pub(crate) fn orchestrator(
        &self,
        cx: &CommandContext<'_>,
        agent: &Agent,
        model: Option<&str>,
    ) -> Result<Option<Arc<dyn Orchestrator>>> {
        let Ok(agents) = delegation::select_agents(&cx.loom, agent) else { return Ok(None) };
        let (config, model) = (cx.config.clone(), model.map(str::to_owned));
        Ok(Some(delegation::lazy(self.builder(cx, config, agents, model, self.plan_approval(cx))?)))
    }

    /// Returns the approval of plans: given in advance by the option or the configuration, else asked for.
    pub(crate) fn plan_approval(&self, cx: &CommandContext<'_>) -> Arc<dyn Approval> {
        if self.allow_delegate { Arc::new(Decision::Yes) } else { delegation::plan_approval(cx, &cx.approval) }
    }

    /// Returns the builder of an orchestrator. `approval` decides on plans, the terminal on all other actions.
    pub(crate) fn builder(
        &self,
        cx: &CommandContext<'_>,
        config: Config,
        (worker, judge): (Agent, Agent),
        model: Option<String>,
        approval: Arc<dyn Approval>,
    ) -> Result<OrchestratorBuilder> {
        let native = self.native || config.native;
        Ok(OrchestratorBuilder {
            config,
            worker,
            judge,
            model,
            worker_tools: match self.tools {
                true => Some(worker_tools(cx, Arc::clone(&cx.approval), &self.allow, &self.allow_write)?),
                false => None,
            },
            approval,
            rounds: self.rounds,
            native,
            context: self.context(&cx.config),
            drafts: cx.partials_dir.clone(),
        })
    }

    /// Returns the workspace tools for the user's own arrow lines; empty without `--tools`.
    pub(crate) fn own_tools(&self, cx: &CommandContext<'_>) -> Result<OwnTools> {
        let mut own = OwnTools::default();
        if self.tools {
            let approval = OwnLineApproval { typed: Arc::clone(&own.typed), fallback: Arc::clone(&cx.approval) };
            own.tools = self.host_tools(cx, cx.agent.name(), Arc::new(approval))?;
        }
        Ok(own)
    }

    #[cfg(feature = "workspace")]
    fn host_tools(
        &self,
        cx: &CommandContext<'_>,
        agent_name: &str,
        approval: Arc<dyn Approval>,
    ) -> Result<Arc<HostTools>> {
        host_tools(cx, agent_name, approval, &self.allow, &self.allow_write)
    }

    #[cfg(not(feature = "workspace"))]
    fn host_tools(&self, _: &CommandContext<'_>, _: &str, _: Arc<dyn Approval>) -> Result<Arc<HostTools>> {
        Err(CliError::usage(NO_WORKSPACE_FEATURE))
    }
}

#[cfg(not(feature = "workspace"))]
const NO_WORKSPACE_FEATURE: &str = "--tools: this program was built without the cargo feature workspace";

/// The workspace tools for the user's own arrow lines.
#[derive(Default)]
pub(crate) struct OwnTools {
    pub(crate) tools: Arc<HostTools>,
    /// True while a single line typed at the prompt runs. Typing it is consent to what it does.
    pub(crate) typed: Arc<AtomicBool>,
}

/// The approval of the user's own line. A typed line is approved; pasted, piped or argument text is passed to
/// `fallback`.
struct OwnLineApproval {
    typed: Arc<AtomicBool>,
    fallback: Arc<dyn Approval>,
}

impl Approval for OwnLineApproval {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        if self.typed.load(std::sync::atomic::Ordering::Relaxed) {
            Box::pin(async { Decision::Yes })
        } else {
            self.fallback.ask(request)
        }
    }
}

/// Returns the workspace tools of an agent.
#[cfg(feature = "workspace")]
fn host_tools(
    cx: &CommandContext<'_>,
    agent_name: &str,
    approval: Arc<dyn Approval>,
    allow: &[String],
    allow_write: &[String],
) -> Result<Arc<HostTools>> {
    Ok(Arc::new(workspace(cx, approval, allow, allow_write)?.host_tools(agent_name)?))
}

/// Returns the workspace tools of a delegation's workers, with the actions that need no approval.
#[cfg(feature = "workspace")]
pub(crate) fn worker_tools(
    cx: &CommandContext<'_>,
    approval: Arc<dyn Approval>,
    allow: &[String],
    allow_write: &[String],
) -> Result<Arc<dyn WorkerTools>> {
    Ok(Arc::new(workspace(cx, approval, allow, allow_write)?))
}

/// Returns an error: this build has no workspace tools.
#[cfg(not(feature = "workspace"))]
pub(crate) fn worker_tools(
    _: &CommandContext<'_>,
    _: Arc<dyn Approval>,
    _: &[String],
    _: &[String],
) -> Result<Arc<dyn WorkerTools>> {
    Err(CliError::usage(NO_WORKSPACE_FEATURE))
}

/// Opens the workspace with the actions that need no approval.
#[cfg(feature = "workspace")]
pub(crate) fn workspace(
    cx: &CommandContext<'_>,
    approval: Arc<dyn Approval>,
    allow: &[String],
    allow_write: &[String],
) -> Result<loomtree::workspace::Workspace> {
    use std::time::Duration;

    use loomtree::workspace::{Allowlist, Environment, Workspace, WorkspaceSettings};

    let config = &cx.config.workspace;
    let commands = [config.allow.as_slice(), allow].concat();
    let files = [config.write.as_slice(), allow_write].concat();
    let allowed = Allowlist::new(&commands, &files).map_err(|error| CliError::usage(error.to_string()))?;
    let environment = Environment::of(super::env::variables(), &cx.config.key_variables(), &config.pass);
    let mut settings = WorkspaceSettings { allowlist: allowed, environment, ..WorkspaceSettings::new(approval) };
    if let Some(seconds) = config.seconds {
        settings.timeout = Duration::from_secs(seconds.into());
    }
    Workspace::open(&cx.workspace, settings)
        .map_err(|error| CliError::io(format!("opening the workspace {}", cx.workspace), error))
}
