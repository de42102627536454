//! `loom agents`: lists, adds, changes and removes agents.

use std::{io::Write as _, str::FromStr as _};

use clap::Subcommand;
use loomtree::types::{AgentKind, NewAgent, Op, Permission, Permissions};

use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    output::{BOLD, DIM, paint},
    sanitize::{cut, one_line},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<AgentsCommand>,
}

impl Args {
    /// True if the command changes an agent.
    pub(crate) const fn changes(&self) -> bool {
        !matches!(self.command, None | Some(AgentsCommand::List))
    }
}

/// Changes of agents. Without a subcommand the agents are listed.
#[derive(Debug, Subcommand)]
enum AgentsCommand {
    /// List the agents
    List,
    /// Add an agent
    Add {
        /// The agent's name
        name: String,
        /// Human or model; this cannot be changed later
        #[arg(long, value_parser = ["human", "model"], default_value = "model")]
        kind: String,
        #[command(flatten)]
        profile: AgentProfile,
    },
    /// Change an agent; options that are not given stay unchanged
    Set {
        /// The agent's name
        name: String,
        /// The new name
        #[arg(long, value_name = "NAME")]
        rename: Option<String>,
        #[command(flatten)]
        profile: AgentProfile,
    },
    /// Remove an agent; the nodes it wrote stay
    Remove {
        /// The agent's name
        name: String,
    },
}

/// The options of an agent. An empty text clears a value.
#[derive(Debug, clap::Args)]
struct AgentProfile {
    /// The agent's model, such as ollama:llama3.2 or a name of the configuration; '' clears it
    #[arg(long, value_name = "REF")]
    model: Option<String>,
    /// The system prompt; '' clears it
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// Sampling temperature, 0 to 10
    #[arg(long, value_name = "NUMBER")]
    temperature: Option<f64>,
    /// Limit of a reply, in tokens
    #[arg(long, value_name = "COUNT")]
    max_tokens: Option<u32>,
    /// A stop sequence, which ends a reply; may be repeated; '' clears all
    #[arg(long, value_name = "TEXT")]
    stop: Vec<String>,
    /// The permissions, separated by commas, or `all` or `none`
    #[arg(long, value_name = "LIST")]
    permissions: Option<String>,
}

impl AgentProfile {
    fn apply(self, agent: &mut NewAgent) -> Result<()> {
        let words = |text: String| Some(text).filter(|text| !text.trim().is_empty());
        if let Some(model) = self.model {
            agent.model = words(model);
        }
        if let Some(system) = self.system {
            agent.system_prompt = words(system);
        }
        agent.temperature = self.temperature.or(agent.temperature);
        agent.max_tokens = self.max_tokens.or(agent.max_tokens);
        if !self.stop.is_empty() {
            agent.stop = self.stop.into_iter().filter(|stop| !stop.is_empty()).collect();
        }
        if let Some(list) = self.permissions {
            agent.permissions = permissions(&list)?;
        }
        Ok(())
    }
}

/// Parses a list of permissions: names separated by commas, `all` or `none`.
pub(super) fn permissions(list: &str) -> Result<Permissions> {
    match list {
        "all" => Ok(Permissions::all()),
        "none" => Ok(Permissions::default()),
        list => list
            .split(',')
            .map(|word| Permission::from_str(word.trim()).map_err(|e| CliError::usage(e.to_string())))
            .collect(),
    }
}

/// Lists or changes agents.
pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    match args.command {
        None | Some(AgentsCommand::List) => list(cx),
        Some(AgentsCommand::Add { name, kind, profile }) => {
            let kind = AgentKind::from_str(&kind).unwrap_or(AgentKind::Model);
            let mut agent = NewAgent::new(cx.loom.agent_id(), name.clone(), kind);
            profile.apply(&mut agent)?;
            let receipt = cx.actor().create_agent(agent)?;
            cx.print_receipt(Op::Agent, &receipt, || format!("{}  a new agent ({kind})", one_line(&name)))
        }
        Some(AgentsCommand::Set { name, rename, profile }) => {
            let before = cx.loom.agent(&name)?.profile;
            let mut agent = before.clone();
            agent.name = rename.unwrap_or(agent.name);
            profile.apply(&mut agent)?;
            if agent == before {
                return Err(CliError::usage("nothing would change; `loom agents set --help` lists the options"));
            }
            let receipt = cx.actor().update_agent(agent)?;
            cx.print_receipt(Op::Agent, &receipt, || format!("{}  changed", one_line(&name)))
        }
        Some(AgentsCommand::Remove { name }) => {
            let agent = cx.loom.agent(&name)?;
            let receipt = cx.actor().remove_agent(agent.id())?;
            cx.print_receipt(Op::Agent, &receipt, || format!("{}  removed; the nodes it wrote stay", one_line(&name)))
        }
    }
}

fn list(cx: &mut CommandContext<'_>) -> Result<()> {
    let agents: Vec<_> = cx.agents().iter().filter(|agent| !agent.removed).cloned().collect();
    for agent in agents {
        if cx.out.json {
            cx.out.json(&agent)?;
            continue;
        }
        let profile = &agent.profile;
        let may: Vec<&str> = profile.permissions.iter().map(Permission::as_str).collect();
        let may = match may.len() {
            0 => "can only write when asked".to_owned(),
            all if all == Permission::ALL.len() => "has all permissions".to_owned(),
            _ => format!("may {}", may.join(", ")),
        };
        let name = format!("{:<14}", cut(agent.name(), 14));
        let model = profile.model.as_deref().map(|m| format!("  {}", one_line(m))).unwrap_or_default();
        writeln!(cx.out, "{}  {:<5}{model}  {}", paint(BOLD, name), profile.kind, paint(DIM, may))?;
    }
    Ok(())
}
