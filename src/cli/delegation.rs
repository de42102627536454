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
    pub(crate) kit: Option<Arc<dyn WorkerTools>>,
    pub(crate) rounds: u32,
    pub(crate) native: bool,
    pub(crate) context: ContextOptions,
    pub(crate) drafts: PathBuf,
}

/// Who works: this agent if it acts by commands, else the collaborator; and who judges: somebody else, if there is one.
pub(crate) fn agents(loom: &Loom, agent: &Agent) -> Result<(Agent, Agent)> {
    let acts =
        |agent: &Agent| agent.profile.kind == AgentKind::Model && agent.profile.permissions.has(Permission::LoomAware);
    let worker = if acts(agent) { agent.clone() } else { loom.agent("collaborator")? };
    if !acts(&worker) {
        return Err(CliError::failed(format!("{} does not act by commands, so it cannot work", worker.name())));
    }
    let judge = loom.agent("subject").unwrap_or_else(|_| worker.clone());
    Ok((worker, judge))
}

/// Who is asked before something is done: the person at the terminal.
#[cfg(feature = "workspace")]
pub(crate) fn asked(json: bool, floor: &Arc<TerminalLock>) -> Arc<dyn Approval> {
    Arc::new(super::approval_prompt::TerminalApproval::new(json, Arc::clone(floor)))
}

/// Nobody: this program was built without what asks.
#[cfg(not(feature = "workspace"))]
pub(crate) fn asked(_: bool, _: &Arc<TerminalLock>) -> Arc<dyn Approval> {
    let why = "this program was built without the cargo feature workspace, which asks; --yes agrees beforehand";
    Arc::new(loomtree::session::Decision::No(Some(why.to_owned())))
}

/// Who does delegated work for whoever is at this desk, by models as configured, and with these tools; `None` where nobody
/// could do it, and who delegates is told that no orchestrator is set up.
pub(crate) fn usual(
    desk: &CommandContext<'_>,
    approval: Arc<dyn Approval>,
    kit: Option<Arc<dyn WorkerTools>>,
) -> Option<Arc<dyn Orchestrator>> {
    let (worker, judge) = agents(&desk.loom, &desk.agent).ok()?;
    Some(lazy(OrchestratorBuilder {
        config: desk.config.clone(),
        worker,
        judge,
        model: None,
        approval,
        kit,
        rounds: loomtree::agent::TurnConfig::DEFAULT_ROUNDS,
        native: false,
        context: desk.config.context(None),
        drafts: desk.drafts.clone(),
    }))
}

/// An orchestrator that is made when something is delegated.
pub(crate) fn lazy(hiring: OrchestratorBuilder) -> Arc<dyn Orchestrator> {
    Arc::new(LazyOrchestrator::new(Box::new(move || {
        let hiring = hiring.clone();
        Box::pin(async move { Ok(Arc::new(LocalOrchestrator::new(hire(hiring).await?)) as Arc<dyn Orchestrator>) })
    })))
}

async fn hire(hiring: OrchestratorBuilder) -> std::result::Result<OrchestratorConfig, ToolError> {
    let OrchestratorBuilder { config, worker, judge, model, approval, kit, rounds, native, context, drafts } = hiring;
    let roles = &config.delegate;
    let usual = model.or_else(|| worker.profile.model.clone()).or_else(|| config.model.clone());
    let open = async |reference: Option<&str>| -> std::result::Result<Arc<dyn Model>, ToolError> {
        models::open(reference, &config).await.map_err(|error| models::failure(&error))
    };
    let works = open(usual.as_deref()).await?;
    let role = async |reference: Option<&str>| match reference {
        Some(reference) => open(Some(reference)).await,
        None => Ok(Arc::clone(&works)),
    };
    let planner = AgentModel { agent: worker.clone(), model: role(roles.planner.as_deref()).await? };
    let judge = AgentModel { agent: judge, model: role(roles.judge.as_deref()).await? };
    let stronger = match &roles.stronger {
        Some(reference) => Some(open(Some(reference)).await?),
        None => None,
    };
    let worker = AgentModel { agent: worker, model: Arc::clone(&works) };
    let models = Arc::new(ConfigModels(config.clone()));
    let usual = OrchestratorConfig::new(planner, worker, judge, models, approval);
    Ok(OrchestratorConfig {
        fallback_model: stronger,
        worker_tools: kit.unwrap_or_else(|| Arc::clone(&usual.worker_tools)),
        parallel: roles.parallel.unwrap_or(OrchestratorConfig::DEFAULT_PARALLEL),
        attempts: roles.attempts.unwrap_or(OrchestratorConfig::DEFAULT_ATTEMPTS),
        rounds,
        native,
        context,
        partials_dir: Some(drafts),
        prices: config.prices.clone(),
        ..usual
    })
}

/// What happens in delegated work, as a line of that width; nothing for what is too small.
pub(crate) fn line(told: &DelegationUpdate, width: usize) -> Option<String> {
    let named = |task: &usize, title: &str| format!("{} {}", task + 1, one_line(title));
    // Beside a title there is room for half of the line.
    let (title_width, rest) = (width / 2, (width / 2).saturating_sub(14));
    let note = |text: &str| if text.is_empty() { String::new() } else { paint(DIM, cut(&one_line(text), rest)) };
    Some(match told {
        DelegationUpdate::Planning { delegation, model } => {
            format!("{}  is planned by {}", paint(ID, delegation), note(model))
        }
        DelegationUpdate::Planned { delegation, subtasks } => {
            format!("{}  planned: {}", paint(ID, delegation), count(subtasks.len() as u64, "subtask"))
        }
        DelegationUpdate::Started { task, title, attempt, branch, model } => {
            let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            let title = cut(&named(task, title), title_width);
            format!("{}  [>] {title}  {}", paint(ID, branch), note(&format!("{model}{again}")))
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
