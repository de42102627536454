//! The command line: the root parser [`Cli`], and [`GlobalArgs`], the options that every command accepts.

use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};

use super::command::CliCommand;

const HELP_FOOTER: &str = "\
Ids: nodes have short ids such as a7x2kq; a unique prefix or a full ULID works too. \
`.` is your position, `..` the node before it, `/` the root; so are `here`, `parent` and `root`.

Exit codes:
  0    success
  1    the command failed: not found, a conflict, a model's error
  2    an error in the command line or the configuration
  3    the database cannot be opened, is locked or is damaged
  4    `loom verify` found damage
  130  cancelled with Ctrl-C";

/// Stores and runs branching LLM conversations in one SQLite file
#[derive(Debug, Parser)]
#[command(name = "loom", version, after_help = HELP_FOOTER, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

/// The options that every command accepts.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct GlobalArgs {
    /// The database file, or the URL of a PostgreSQL database [default: loom.db in your data folder]
    #[arg(long, global = true, value_name = "FILE|URL", env = "LOOM_DB", hide_env_values = true)]
    pub(crate) db: Option<PathBuf>,
    /// Work on this tree instead of the current one: the end of its id, or part of its title
    #[arg(long, short = 't', global = true, value_name = "TREE")]
    pub(crate) tree: Option<String>,
    /// Act as this agent, with its permissions [default: owner]
    #[arg(
        id = "acting_agent",
        long = "as",
        global = true,
        value_name = "AGENT",
        env = "LOOM_AGENT",
        hide_env_values = true
    )]
    pub(crate) agent: Option<String>,
    /// The folder whose sessions are used [default: the current folder]
    #[arg(long, global = true, value_name = "DIR", env = "LOOM_WORKSPACE", hide_env_values = true)]
    pub(crate) workspace: Option<PathBuf>,
    /// The configuration file [default: config.yaml in your configuration folder]
    #[arg(long, global = true, value_name = "FILE", env = "LOOM_CONFIG", hide_env_values = true)]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON: one object, or one object a line for lists
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Use colours
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub(crate) color: ColorChoice,
    /// Log to standard error; repeat for more detail
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// The colour setting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// Colours on a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Colours in every output.
    Always,
    /// No colours.
    Never,
}
