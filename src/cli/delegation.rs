//! Builds the orchestrator of delegated work from the configuration and the command line.

use std::{path::PathBuf, sync::Arc};

use loomtree::{
    context::ContextOptions,
    delegate::{
        AgentModel, DelegationUpdate, LazyOrchestrator, LocalOrchestrator, Orchestrator, OrchestratorConfig,
        WorkerTools,
    },
    ops::Loom,
    provider::Model,
    session::Approval,
    tools::ToolError,
    types::{Agent, AgentKind, Permission},
};

use super::{
    command_context::CommandContext,
    config::Config,
    error::{CliError, Result},
    model_choice::{self, named_model},
    models::{self, ConfigModels},
    output::{DIM, ID, MARK, count, paint},
    sanitize::{cut, one_line},
    terminal_lock::TerminalLock,
};

/// Tokens of an answer that are shown at once. This is the maximum that the workspace tools return.
pub(crate) const MAX_INLINE_ANSWER_TOKENS: u32 = 4_000;

/// The settings of an orchestrator that is built when it is first needed.
#[derive(Clone)]
pub(crate) struct OrchestratorBuilder {
    pub(crate) config: Config,
    pub(crate) worker: Agent,
    pub(crate) judge: Agent,
    /// The workers' model, if the command line names one.
    pub(crate) model: Option<String>,
    pub(crate) approval: Arc<dyn Approval>,
    pub(crate) worker_tools: Option<Arc<dyn WorkerTools>>,
    pub(crate) rounds: u32,
    pub(crate) native: bool,
    pub(crate) context: ContextOptions,
    pub(crate) drafts: PathBuf,
}

/// Returns the worker and the judge. The worker is `agent` if it runs commands, else the collaborator. The judge is the
/// subject, if that agent exists.
pub(crate) fn select_agents(loom: &Loom, agent: &Agent) -> Result<(Agent, Agent)> {
    let can_work =
        |agent: &Agent| agent.profile.kind == AgentKind::Model && agent.profile.permissions.has(Permission::LoomAware);
    let worker = if can_work(agent) { agent.clone() } else { loom.agent("collaborator")? };
    if !can_work(&worker) {
        return Err(CliError::failed(format!("{} does not run commands, so it cannot be a worker", worker.name())));
    }
    let judge = loom.agent("subject").unwrap_or_else(|_| worker.clone());
    Ok((worker, judge))
}

/// Returns the approval that prompts at the terminal.
#[cfg(feature = "workspace")]
pub(crate) fn terminal_approval(json: bool, terminal_lock: &Arc<TerminalLock>) -> Arc<dyn Approval> {
    Arc::new(super::approval_prompt::TerminalApproval::new(json, Arc::clone(terminal_lock)))
}

/// Returns an approval that refuses: a build without the feature `workspace` cannot prompt.
#[cfg(not(feature = "workspace"))]
pub(crate) fn terminal_approval(_: bool, _: &Arc<TerminalLock>) -> Arc<dyn Approval> {
    let why = "this program was built without the cargo feature workspace and cannot ask; --allow-delegate approves in advance";
    Arc::new(loomtree::session::Decision::No(Some(why.to_owned())))
}

/// Returns the approval of plans: given by the configuration, else `asked`.
pub(crate) fn plan_approval(cx: &CommandContext<'_>, asked: &Arc<dyn Approval>) -> Arc<dyn Approval> {
    if cx.config.delegate.allow { Arc::new(loomtree::session::Decision::Yes) } else { Arc::clone(asked) }
}

/// Returns the orchestrator of the acting agent's delegations, with the configured models. Returns `None` if no agent
/// can work; the executor then reports that no orchestrator is configured.
pub(crate) fn default_orchestrator(
    cx: &CommandContext<'_>,
    approval: Arc<dyn Approval>,
    worker_tools: Option<Arc<dyn WorkerTools>>,
) -> Option<Arc<dyn Orchestrator>> {
    let (worker, judge) = select_agents(&cx.loom, &cx.agent).ok()?;
    Some(lazy(OrchestratorBuilder {
        config: cx.config.clone(),
        worker,
        judge,
        model: None,
        approval: plan_approval(cx, &approval),
        worker_tools,
        rounds: loomtree::turn::TurnConfig::DEFAULT_ROUNDS,
        native: cx.config.native,
        context: cx.config.context(None),
        drafts: cx.partials_dir.clone(),
    }))
}

/// Returns an orchestrator that is built at the first delegation.
pub(crate) fn lazy(builder: OrchestratorBuilder) -> Arc<dyn Orchestrator> {
    Arc::new(LazyOrchestrator::new(Box::new(move || {
        let builder = builder.clone();
        Box::pin(async move { Ok(Arc::new(LocalOrchestrator::new(build(builder).await?)) as Arc<dyn Orchestrator>) })
    })))
}

async fn build(builder: OrchestratorBuilder) -> std::result::Result<OrchestratorConfig, ToolError> {
    let OrchestratorBuilder { config, worker, judge, model, approval, worker_tools, rounds, native, context, drafts } =
        builder;
    let roles = &config.delegate;
    let default_model = named_model(model.as_deref(), Some(&worker), &config).map(str::to_owned);
    let open = async |reference: Option<&str>| -> std::result::Result<Arc<dyn Model>, ToolError> {
        model_choice::open(reference, &config).await.map_err(|error| models::tool_error(&error))
    };
    let worker_model = open(default_model.as_deref()).await?;
    let role = async |reference: Option<&str>| match reference {
        Some(reference) => open(Some(reference)).await,
        None => Ok(Arc::clone(&worker_model)),
    };
    let planner = AgentModel { agent: worker.clone(), model: role(roles.planner.as_deref()).await? };
    let judge = AgentModel { agent: judge, model: role(roles.judge.as_deref()).await? };
    let fallback = match &roles.fallback {
        Some(reference) => Some(open(Some(reference)).await?),
        None => None,
    };
    let worker = AgentModel { agent: worker, model: Arc::clone(&worker_model) };
    let models = Arc::new(ConfigModels::new(&config, default_model.as_deref()));
    let max_inline_tokens = match &worker_tools {
        Some(_) => MAX_INLINE_ANSWER_TOKENS,
        None => loomtree::tools::DEFAULT_REPLY_TOKENS,
    };
    let defaults = OrchestratorConfig::new(planner, worker, judge, models, approval);
    Ok(OrchestratorConfig {
        fallback,
        worker_tools: worker_tools.unwrap_or_else(|| Arc::clone(&defaults.worker_tools)),
        parallel: roles.parallel.unwrap_or(OrchestratorConfig::DEFAULT_PARALLEL),
        attempts: roles.attempts.unwrap_or(OrchestratorConfig::DEFAULT_ATTEMPTS),
        rounds,
        max_inline_tokens,
        native,
        context,
        partials_dir: Some(drafts),
        prices: config.prices.clone(),
        ..defaults
    })
}

/// Returns an update as a line of at most `width` columns, or `None` for minor updates.
pub(crate) fn update_line(update: &DelegationUpdate, width: usize) -> Option<String> {
    let named = |task: &usize, title: &str| format!("{} {}", task + 1, one_line(title));
    // The title takes half of the line.
    let (title_width, rest) = (width / 2, (width / 2).saturating_sub(14));
    let note = |text: &str| if text.is_empty() { String::new() } else { paint(DIM, cut(&one_line(text), rest)) };
    Some(match update {
        DelegationUpdate::Planning { delegation, model } => {
            format!("{}  planning with {}", paint(ID, delegation), note(model))
        }
        DelegationUpdate::Planned { delegation, subtasks } => {
            format!("{}  planned: {}", paint(ID, delegation), count(subtasks.len() as u64, "subtask"))
        }
        DelegationUpdate::Started { task, title, attempt, branch, model } => {
            let attempt_note = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            let title = cut(&named(task, title), title_width);
            format!("{}  [>] {title}  {}", paint(ID, branch), note(&format!("{model}{attempt_note}")))
        }
        DelegationUpdate::Verdict { task, title, passed, why } => {
            let (mark, why) = if *passed { ("[x]".to_owned(), "") } else { (paint(MARK, "[!]"), why.as_str()) };
            format!("        {mark} {}  {}", cut(&named(task, title), title_width), note(why))
        }
        DelegationUpdate::Skipped { task, title, needs } => {
            format!("        [-] {}  {}", cut(&named(task, title), title_width), note(&format!("requires {needs}")))
        }
        DelegationUpdate::Ended { delegation, report, .. } => {
            let first = report.lines().next().unwrap_or_default();
            format!("{}  {}", paint(ID, delegation), cut(&one_line(first), width.saturating_sub(12)))
        }
        _ => return None,
    })
}
