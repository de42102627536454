//! What `chat` and `continue` share: how a reply is drawn, and what an agent may do in its turn.

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

/// Options of a turn.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TurnArgs {
    /// The longest reply, in tokens
    #[arg(long, value_name = "COUNT")]
    max_tokens: Option<u32>,
    /// Sampling temperature
    #[arg(long, value_name = "NUMBER")]
    temperature: Option<f32>,
    /// The model's context window, in tokens [default: 128000, or what the configuration says]
    #[arg(long, value_name = "TOKENS")]
    window: Option<u32>,
    /// Rounds of commands that a reply may have
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: u32,
    /// Offers the commands as the provider's own tools too
    #[arg(long)]
    native: bool,
    /// Lets the agent read and change files of the workspace and run commands there; changes and commands are asked about
    #[arg(long)]
    tools: bool,
    /// Commands that are run without asking, such as 'cargo test*'; may be repeated
    #[arg(long, value_name = "PATTERN", requires = "tools")]
    allow: Vec<String>,
    /// Files that are changed without asking, such as 'src/**'; may be repeated
    #[arg(long, value_name = "GLOB", requires = "tools")]
    allow_write: Vec<String>,
}

impl TurnArgs {
    /// How to draw.
    pub(crate) fn sampling(&self) -> Sampling {
        Sampling { temperature: self.temperature, max_tokens: self.max_tokens, ..Sampling::default() }
    }

    /// How much the model is shown.
    pub(crate) fn context(&self, config: &Config) -> loomtree::context::ContextOptions {
        config.context(self.window)
    }

    /// Whether the agent is to have tools for the workspace.
    pub(crate) fn wants_tools(&self) -> bool {
        self.tools
    }

    /// What an agent may do by commands in its turn.
    pub(crate) fn commands(&self, desk: &CommandContext<'_>, agent: &Agent, model: Option<&str>) -> Result<ToolAccess> {
        let usual = models::commands(&desk.config);
        let mut commands = ToolAccess { rounds: self.rounds, native: self.native, ..usual };
        if agent.profile.permissions.has(Permission::Delegate) {
            commands.orchestrator = self.orchestrator(desk, agent, model)?;
        }
        if !self.tools {
            return Ok(commands);
        }
        Ok(ToolAccess {
            tools: self.toolbox(desk, agent.name(), Arc::clone(&desk.asked))?,
            max_inline_tokens: ANSWER,
            ..commands
        })
    }

    /// Who does what is delegated in a conversation with an agent, by its model; nobody if no agent here could work.
    pub(crate) fn orchestrator(
        &self,
        desk: &CommandContext<'_>,
        agent: &Agent,
        model: Option<&str>,
    ) -> Result<Option<Arc<dyn Orchestrator>>> {
        let Ok(agents) = delegation::agents(&desk.loom, agent) else { return Ok(None) };
        let (config, model) = (desk.config.clone(), model.map(str::to_owned));
        Ok(Some(delegation::lazy(self.hiring(desk, config, agents, model, Arc::clone(&desk.asked))?)))
    }

    /// Who does delegated work, and with what; `approval` is asked about plans, the terminal about everything else.
    pub(crate) fn hiring(
        &self,
        desk: &CommandContext<'_>,
        config: Config,
        (worker, judge): (Agent, Agent),
        model: Option<String>,
        approval: Arc<dyn Approval>,
    ) -> Result<OrchestratorBuilder> {
        Ok(OrchestratorBuilder {
            config,
            worker,
            judge,
            model,
            kit: if self.tools { Some(self.kit(desk, Arc::clone(&desk.asked))?) } else { None },
            approval,
            rounds: self.rounds,
            native: self.native,
            context: self.context(&desk.config),
            drafts: desk.drafts.clone(),
        })
    }

    #[cfg(feature = "workspace")]
    fn kit(&self, desk: &CommandContext<'_>, approval: Arc<dyn Approval>) -> Result<Arc<dyn WorkerTools>> {
        Ok(Arc::new(workspace(desk, approval, &self.allow, &self.allow_write)?))
    }

    #[cfg(not(feature = "workspace"))]
    fn kit(&self, _: &CommandContext<'_>, _: Arc<dyn Approval>) -> Result<Arc<dyn WorkerTools>> {
        Err(CliError::usage(WITHOUT))
    }

    /// The tools for the person's own lines; none if they are not wanted.
    pub(crate) fn own_tools(&self, desk: &CommandContext<'_>) -> Result<OwnTools> {
        let mut own = OwnTools::default();
        if self.tools {
            let approval = OwnLine { typed: Arc::clone(&own.typed), asked: Arc::clone(&desk.asked) };
            own.tools = self.toolbox(desk, desk.agent.name(), Arc::new(approval))?;
        }
        Ok(own)
    }

    #[cfg(feature = "workspace")]
    fn toolbox(&self, desk: &CommandContext<'_>, who: &str, approval: Arc<dyn Approval>) -> Result<Arc<HostTools>> {
        toolbox(desk, who, approval, &self.allow, &self.allow_write)
    }

    #[cfg(not(feature = "workspace"))]
    fn toolbox(&self, _: &CommandContext<'_>, _: &str, _: Arc<dyn Approval>) -> Result<Arc<HostTools>> {
        Err(CliError::usage(WITHOUT))
    }
}

#[cfg(not(feature = "workspace"))]
const WITHOUT: &str = "--tools: this program was built without them; the cargo feature workspace has them";

/// Tokens of an answer that are shown at once where files are read: what these tools give at most.
pub(crate) const ANSWER: u32 = 4_000;

/// The tools for a person's own lines.
#[derive(Default)]
pub(crate) struct OwnTools {
    pub(crate) tools: Arc<HostTools>,
    /// True while the line that runs is a single one, typed at the prompt: that is consent to what it says.
    pub(crate) typed: Arc<AtomicBool>,
}

/// Consent to a person's own line: given by typing it; what was pasted, piped or passed as an argument is asked about.
struct OwnLine {
    typed: Arc<AtomicBool>,
    asked: Arc<dyn Approval>,
}

impl Approval for OwnLine {
    fn ask<'a>(&'a self, asking: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        if self.typed.load(std::sync::atomic::Ordering::Relaxed) {
            Box::pin(async { Decision::Yes })
        } else {
            self.asked.ask(asking)
        }
    }
}

/// The tools for the folder, by which an agent of this name works in it.
#[cfg(feature = "workspace")]
fn toolbox(
    desk: &CommandContext<'_>,
    who: &str,
    approval: Arc<dyn Approval>,
    allow: &[String],
    allow_write: &[String],
) -> Result<Arc<HostTools>> {
    Ok(Arc::new(workspace(desk, approval, allow, allow_write)?.host_tools(who).map_err(CliError::failed)?))
}

/// The folder, with what is done there unasked.
#[cfg(feature = "workspace")]
pub(crate) fn workspace(
    desk: &CommandContext<'_>,
    approval: Arc<dyn Approval>,
    allow: &[String],
    allow_write: &[String],
) -> Result<loomtree::workspace::Workspace> {
    use std::time::Duration;

    use loomtree::workspace::{Allowlist, Environment, Workspace, WorkspaceSettings};

    let config = &desk.config.workspace;
    let commands = [config.allow.as_slice(), allow].concat();
    let files = [config.write.as_slice(), allow_write].concat();
    let allowed = Allowlist::new(&commands, &files).map_err(CliError::usage)?;
    let environment = Environment::of(super::env::variables(), &desk.config.key_variables(), &config.pass);
    let mut settings = WorkspaceSettings { allowlist: allowed, environment, ..WorkspaceSettings::new(approval) };
    if let Some(seconds) = config.seconds {
        settings.timeout = Duration::from_secs(seconds.into());
    }
    Workspace::open(&desk.workspace, settings)
        .map_err(|error| CliError::io(format!("opening the workspace {}", desk.workspace), error))
}
