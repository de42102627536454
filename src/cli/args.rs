//! What is read from the command line: the options of every command, and the list of commands.

use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};

use super::command::CliCommand;

const HELP_FOOTER: &str = "\
Ids: nodes have short ids such as a7x2kq; any beginning that only one node has will do, and so will a full ULID. \
`.` is where you are, `..` the node before it, `/` the root.

Exit codes:
  0    done
  1    it could not be done: not found, a conflict, a model's error
  2    a mistake in the command line or the configuration
  3    the database cannot be opened, is locked or is damaged
  4    `loom verify` found damage
  130  cancelled with Ctrl-C";

/// Conversations that branch, kept in one file
#[derive(Debug, Parser)]
#[command(name = "loom", version, after_help = HELP_FOOTER, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

/// Options that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Globals {
    /// The database [default: loom.db in your data folder]
    #[arg(long, global = true, value_name = "FILE", env = "LOOM_DB", hide_env_values = true)]
    pub(crate) db: Option<PathBuf>,
    /// Another tree than the current one: the end of its id, or words of its title
    #[arg(long, short = 't', global = true, value_name = "TREE")]
    pub(crate) tree: Option<String>,
    /// Who acts [default: owner]
    #[arg(long = "as", global = true, value_name = "AGENT", env = "LOOM_AGENT", hide_env_values = true)]
    pub(crate) agent: Option<String>,
    /// The folder the work belongs to [default: the current one]
    #[arg(long, global = true, value_name = "DIR", env = "LOOM_WORKSPACE", hide_env_values = true)]
    pub(crate) workspace: Option<PathBuf>,
    /// The configuration [default: config.yaml in your configuration folder]
    #[arg(long, global = true, value_name = "FILE", env = "LOOM_CONFIG", hide_env_values = true)]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON: one object, or one a line for lists
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Colours
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub(crate) color: ColorChoice,
    /// Say on standard error what is going on; twice for more
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
