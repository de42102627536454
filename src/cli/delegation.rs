//! Who does delegated work here: agents and models as the configuration and the command line have them.

use std::{path::PathBuf, sync::Arc};

use loomtree::{
    arrow::run::ToolError,
    context::ContextOptions,
    delegate::{
        AgentModel, DelegationUpdate, LazyOrchestrator, LocalOrchestrator, Orchestrator, OrchestratorConfig,
        WorkerTools,
    },
    ops::Loom,
    provider::Model,
    session::Approval,
    types::{Agent, AgentKind, Permission},
};

use super::{
    command_context::CommandContext,
    config::Config,
    error::{CliError, Result},
    models::{self, ConfigModels},
    output::{DIM, ID, MARK, count, paint},
    sanitize::{cut, one_line},
    terminal_lock::TerminalLock,
};

/// Everything that a crew is made of, before it is needed.
#[derive(Clone)]
pub(crate) struct OrchestratorBuilder {
    pub(crate) config: Config,
    pub(crate) worker: Agent,
    pub(crate) judge: Agent,
    /// The model of those who work, if the command line names one.
    pub(crate) model: Option<String>,
    pub(crate) approval: Arc<dyn Approval>,
    pub(crate) worker_tools: Option<Arc<dyn WorkerTools>>,
    pub(crate) rounds: u32,
    pub(crate) native: bool,
    pub(crate) context: ContextOptions,
    pub(crate) drafts: PathBuf,
}

/// Who works: this agent if it acts by commands, else the collaborator; and who judges: somebody else, if there is one.
pub(crate) fn select_agents(loom: &Loom, agent: &Agent) -> Result<(Agent, Agent)> {
    let can_work =
        |agent: &Agent| agent.profile.kind == AgentKind::Model && agent.profile.permissions.has(Permission::LoomAware);
    let worker = if can_work(agent) { agent.clone() } else { loom.agent("collaborator")? };
    if !can_work(&worker) {
        return Err(CliError::failed(format!("{} does not act by commands, so it cannot work", worker.name())));
    }
    let judge = loom.agent("subject").unwrap_or_else(|_| worker.clone());
    Ok((worker, judge))
}

/// Who is asked before something is done: the person at the terminal.
#[cfg(feature = "workspace")]
pub(crate) fn terminal_approval(json: bool, terminal_lock: &Arc<TerminalLock>) -> Arc<dyn Approval> {
    Arc::new(super::approval_prompt::TerminalApproval::new(json, Arc::clone(terminal_lock)))
}

/// Nobody: this program was built without what asks.
#[cfg(not(feature = "workspace"))]
pub(crate) fn terminal_approval(_: bool, _: &Arc<TerminalLock>) -> Arc<dyn Approval> {
    let why = "this program was built without the cargo feature workspace, which asks; --yes agrees beforehand";
    Arc::new(loomtree::session::Decision::No(Some(why.to_owned())))
}

/// Who does delegated work for whoever is at this desk, by models as configured, and with these tools; `None` where nobody
/// could do it, and who delegates is told that no orchestrator is set up.
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
        approval,
        worker_tools,
        rounds: loomtree::agent::TurnConfig::ROUNDS,
        native: false,
        context: cx.config.context(None),
        drafts: cx.partials_dir.clone(),
    }))
}

/// An orchestrator that is made when something is delegated.
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
    let default_model = model.or_else(|| worker.profile.model.clone()).or_else(|| config.model.clone());
    let open = async |reference: Option<&str>| -> std::result::Result<Arc<dyn Model>, ToolError> {
        models::open(reference, &config).await.map_err(|error| models::tool_error(&error))
    };
    let worker_model = open(default_model.as_deref()).await?;
    let role = async |reference: Option<&str>| match reference {
        Some(reference) => open(Some(reference)).await,
        None => Ok(Arc::clone(&worker_model)),
    };
    let planner = AgentModel { agent: worker.clone(), model: role(roles.planner.as_deref()).await? };
    let judge = AgentModel { agent: judge, model: role(roles.judge.as_deref()).await? };
    let stronger = match &roles.stronger {
        Some(reference) => Some(open(Some(reference)).await?),
        None => None,
    };
    let worker = AgentModel { agent: worker, model: Arc::clone(&worker_model) };
    let models = Arc::new(ConfigModels(config.clone()));
    let defaults = OrchestratorConfig::new(planner, worker, judge, models, approval);
    Ok(OrchestratorConfig {
        stronger,
        kit: worker_tools.unwrap_or_else(|| Arc::clone(&defaults.kit)),
        parallel: roles.parallel.unwrap_or(OrchestratorConfig::PARALLEL),
        attempts: roles.attempts.unwrap_or(OrchestratorConfig::ATTEMPTS),
        rounds,
        native,
        context,
        drafts: Some(drafts),
        prices: config.prices.clone(),
        ..defaults
    })
}

/// What happens in delegated work, as a line of that width; nothing for what is too small.
pub(crate) fn update_line(update: &DelegationUpdate, width: usize) -> Option<String> {
    let named = |task: &usize, title: &str| format!("{} {}", task + 1, one_line(title));
    // Beside a title there is room for half of the line.
    let (title_width, rest) = (width / 2, (width / 2).saturating_sub(14));
    let note = |text: &str| if text.is_empty() { String::new() } else { paint(DIM, cut(&one_line(text), rest)) };
    Some(match update {
        DelegationUpdate::Planning { delegation, model } => {
            format!("{}  is planned by {}", paint(ID, delegation), note(model))
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
            format!("        [-] {}  {}", cut(&named(task, title), title_width), note(&format!("it needs {needs}")))
        }
        _ => return None,
    })
}
