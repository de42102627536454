//! What `chat` and `continue` share: how a reply is drawn, and what an agent may do in its turn.

use std::sync::Arc;

use loomtree::{
    provider::Sampling,
    session::{Commands, Toolbox},
};

use super::{
    attach,
    config::Config,
    desk::Desk,
    error::{CliError, Result},
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
    pub(crate) fn context(&self, config: &Config) -> loomtree::context::Options {
        config.context(self.window)
    }

    /// Whether the agent is to have tools for the workspace.
    pub(crate) fn wants_tools(&self) -> bool {
        self.tools
    }

    /// What an agent may do by commands in its turn.
    pub(crate) fn commands(&self, desk: &Desk<'_>, who: &str) -> Result<Commands> {
        let usual = attach::commands(&desk.config);
        let commands = Commands { rounds: self.rounds, native: self.native, ..usual };
        if !self.tools {
            return Ok(commands);
        }
        Ok(Commands { tools: self.toolbox(desk, who, Whom::Person)?, inline: ANSWER, ..commands })
    }

    /// The tools for the person's own lines, which need nobody's consent; none if they are not wanted.
    pub(crate) fn own_tools(&self, desk: &Desk<'_>) -> Result<Arc<Toolbox>> {
        if self.tools { self.toolbox(desk, desk.agent.name(), Whom::Nobody) } else { Ok(Arc::default()) }
    }

    #[cfg(feature = "workspace")]
    fn toolbox(&self, desk: &Desk<'_>, who: &str, asked: Whom) -> Result<Arc<Toolbox>> {
        use std::time::Duration;

        use loomtree::{
            session::{Approval, Verdict},
            workspace::{Allowed, Environment, Settings, Workspace},
        };

        let config = &desk.config.workspace;
        let commands = [config.allow.as_slice(), &self.allow].concat();
        let files = [config.write.as_slice(), &self.allow_write].concat();
        let allowed = Allowed::new(&commands, &files).map_err(CliError::usage)?;
        let approval: Arc<dyn Approval> = match asked {
            Whom::Person => Arc::new(super::consent::Terminal::new(desk.out.json)),
            Whom::Nobody => Arc::new(Verdict::Yes),
        };
        let environment = Environment::of(super::host::variables(), &desk.config.key_variables(), &config.pass);
        let mut settings = Settings { allowed, environment, ..Settings::new(approval) };
        if let Some(seconds) = config.seconds {
            settings.time = Duration::from_secs(seconds.into());
        }
        let workspace = Workspace::open(&desk.workspace, settings)
            .map_err(|error| CliError::io(format!("opening the workspace {}", desk.workspace), error))?;
        Ok(Arc::new(workspace.toolbox(who).map_err(CliError::failed)?))
    }

    #[cfg(not(feature = "workspace"))]
    fn toolbox(&self, _: &Desk<'_>, _: &str, _: Whom) -> Result<Arc<Toolbox>> {
        Err(CliError::usage("--tools: this program was built without them; the cargo feature workspace has them"))
    }
}

/// Tokens of an answer that are shown at once where files are read: what these tools give at most.
const ANSWER: u32 = 4_000;

/// Who is asked before something is changed.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "workspace"), allow(dead_code))] // without it there is nothing to ask about
enum Whom {
    Person,
    Nobody,
}
