//! Dispatch of the program: the subcommands that clap parses, and the module that runs each.

use clap::Subcommand;
use loomtree::tools::Tool;

#[cfg(feature = "mcp")]
use super::mcp;
#[cfg(feature = "serve")]
use super::open;
#[cfg(feature = "serve")]
use super::serve;
use super::{
    agents, archive, backup, change, chat, completions, config, context, continue_, default, delegate, demo, do_, docs,
    doctor, export, import, log, man, models, new, parse, purge, rebuild, recall, rename, resume, sample, say, score,
    sessions, stats, switch, table, transfer, tree, trees, undo, verify, view,
};
use crate::cli::{
    args::GlobalArgs, changes_by_others, command_context::CommandContext, error::Result, output::CliOutput,
};

/// The subcommands of `loom`.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Create a tree with its first node
    New(new::Args),
    /// List trees, or select one
    Trees(trees::Args),
    /// Draw the tree as an outline
    Tree(tree::Args),
    /// Print the path to your position, or one node with its children, notes and links
    View(view::Args),
    /// Search the archive by words, turns or tool
    #[command(alias = "search")]
    Recall(recall::Args),
    /// Append a node after your position
    Say(say::Args),
    /// Generate continuations with a model
    Continue(continue_::Args),
    /// Grow branches by several models to a depth; a repeated command continues a stopped one
    Sample(sample::Args),
    /// Score branches by a model or by a command
    Score(score::Args),
    /// Print a table with a row for each branch
    Table(table::Args),
    /// Talk with an agent, which may run commands
    Chat(chat::Args),
    /// Give a goal to agents that plan, work in parallel and verify
    Delegate(delegate::Args),
    /// List, begin, name, end, reset and show sessions
    Sessions(sessions::Args),
    /// Resume a session at its last position
    Resume(resume::Args),
    /// Print the prompt that a model would get
    Context(context::Args),
    /// Run arrow lines as a model would, and print the replies
    Do(do_::Args),
    /// Move to another node
    Switch(switch::Args),
    #[command(flatten)]
    Change(change::ChangeCommand),
    /// Revert your last change
    Undo(undo::Args),
    /// Repeat a reverted change
    Redo(undo::RedoArgs),
    /// Print the journal of changes
    Log(log::Args),
    /// Print tokens, costs and how often continuations were used
    Stats(stats::Args),
    /// Change the title, description or system prompt of the tree
    Rename(rename::Args),
    /// Hide the tree from lists, or show it again
    Archive(archive::Args),
    /// Read and write documents
    Docs(docs::Args),
    /// List, add and change agents
    Agents(agents::Args),
    /// List models, or download one
    Models(models::Args),
    /// Import conversations from files
    Import(import::Args),
    /// Export trees or a path
    Export(export::Args),
    /// Open the trees in the web browser
    #[cfg(feature = "serve")]
    Open(open::Args),
    /// Serve the web page and the HTTP API
    #[cfg(feature = "serve")]
    Serve(serve::Args),
    /// Serve MCP clients over standard input and output
    #[cfg(feature = "mcp")]
    Mcp(mcp::Args),
    /// Check all hashes and counts of the database
    Verify(verify::Args),
    /// Recompute counts and the search index
    Rebuild(rebuild::Args),
    /// Copy the database while others may write
    Backup(backup::Args),
    /// Copy a database file into a PostgreSQL database
    Transfer(transfer::Args),
    /// Remove content permanently
    Purge(purge::Args),
    /// Show the commands on a sample tree
    Demo(demo::Args),
    /// Check the program, its files and its models
    Doctor(doctor::Args),
    /// Show the configuration, or create a file
    Config(config::Args),
    /// Parse arrow lines of standard input, and print them as JSON
    Parse(parse::Args),
    /// Print a completion script for your shell
    Completions(completions::Args),
    /// Print the manual page
    Man(man::Args),
}

impl CliCommand {
    /// True if the command serves until it is stopped.
    pub(crate) fn serves(&self) -> bool {
        #[cfg(feature = "serve")]
        return matches!(self, Self::Serve(_) | Self::Open(_));
        #[cfg(not(feature = "serve"))]
        false
    }

    /// True if the command creates a missing database, because it adds content.
    fn makes_database(&self) -> bool {
        if self.serves() {
            return true;
        }
        if matches!(self, Self::Sessions(args) if args.begins()) {
            return true;
        }
        if matches!(self, Self::Sample(args) if args.has_prompt()) {
            return true;
        }
        match self {
            Self::Docs(args) => args.changes(),
            Self::Agents(args) => args.changes(),
            _ => matches!(self, Self::New(_) | Self::Chat(_) | Self::Demo(_) | Self::Import(_)),
        }
    }

    /// True if the command may make another tree the current one.
    const fn selects_tree(&self) -> bool {
        let selects_session = matches!(self, Self::Chat(_) | Self::Resume(_) | Self::Sessions(_));
        selects_session || matches!(self, Self::New(_) | Self::Trees(_) | Self::Switch(_))
    }

    /// Returns the tool whose permission the acting agent needs. Reading needs none at the terminal; arrow lines and
    /// [`change::ChangeCommand`] check each command.
    fn tool(&self) -> Option<Tool> {
        Some(match self {
            Self::New(_)
            | Self::Say(_)
            | Self::Chat(_)
            | Self::Resume(_)
            | Self::Import(_)
            | Self::Rename(_)
            | Self::Archive(_) => Tool::Respond,
            Self::Continue(_) | Self::Sample(_) => Tool::Continue,
            Self::Score(_) => Tool::Annotate,
            Self::Purge(_) => Tool::Prune,
            Self::Undo(_) => Tool::Undo,
            Self::Redo(_) => Tool::Redo,
            Self::Sessions(args) => args.changes().then_some(Tool::Respond)?,
            Self::Docs(args) => args.changes().then_some(Tool::Write)?,
            _ => return None,
        })
    }
}

/// Runs a command, or the default one.
pub(crate) fn run(command: Option<CliCommand>, globals: &GlobalArgs, out: &mut CliOutput) -> Result<()> {
    let Some(command) = command else { return default::run(globals, out) };
    match command {
        CliCommand::Config(args) => config::run(args, globals, out),
        CliCommand::Models(args) => models::run(args, globals, out),
        CliCommand::Completions(args) => completions::run(&args, out),
        CliCommand::Doctor(args) => doctor::run(&args, globals, out),
        CliCommand::Parse(args) => parse::run(&args, out),
        CliCommand::Man(args) => man::run(args, out),
        CliCommand::Transfer(args) => transfer::run(&args, globals, out),
        command => {
            let create = command.makes_database();
            let mut cx = CommandContext::open(globals, out, create)?;
            if let Some(tool) = command.tool() {
                cx.allow(tool)?;
            }
            if !matches!(command, CliCommand::Log(_) | CliCommand::Undo(_)) {
                changes_by_others::notify(&mut cx)?;
            }
            // A named tree is for this command; the current tree stays.
            let current = if globals.tree.is_some() && !command.selects_tree() { cx.session(None)? } else { None };
            let done = run_at(command, &mut cx);
            done.and(current.map_or(Ok(()), |session| cx.keep_current(&session)))
        }
    }
}

/// Runs a command that needs the database.
pub(super) fn run_at(command: CliCommand, cx: &mut CommandContext<'_>) -> Result<()> {
    match command {
        CliCommand::New(args) => new::run(args, cx),
        CliCommand::Trees(args) => trees::run(&args, cx),
        CliCommand::Tree(args) => tree::run(&args, cx),
        CliCommand::View(args) => view::run(&args, cx),
        CliCommand::Recall(args) => recall::run(&args, cx),
        CliCommand::Say(args) => say::run(args, cx),
        CliCommand::Continue(args) => continue_::run(&args, cx),
        CliCommand::Sample(args) => sample::run(args, cx),
        CliCommand::Score(args) => score::run(&args, cx),
        CliCommand::Table(args) => table::run(&args, cx),
        CliCommand::Chat(args) => chat::run(args, cx),
        CliCommand::Delegate(args) => delegate::run(args, cx),
        CliCommand::Sessions(args) => sessions::run(&args, cx),
        CliCommand::Resume(args) => resume::run(args, cx),
        CliCommand::Context(args) => context::run(&args, cx),
        CliCommand::Do(args) => do_::run(args, cx),
        CliCommand::Switch(args) => switch::run(&args, cx),
        CliCommand::Change(command) => command.run(cx),
        CliCommand::Undo(args) => undo::run(&args, cx),
        CliCommand::Redo(args) => undo::redo(&args, cx),
        CliCommand::Log(args) => log::run(&args, cx),
        CliCommand::Stats(args) => stats::run(&args, cx),
        CliCommand::Rename(args) => rename::run(args, cx),
        CliCommand::Archive(args) => archive::run(&args, cx),
        CliCommand::Demo(args) => demo::run(&args, cx),
        CliCommand::Docs(args) => docs::run(args, cx),
        CliCommand::Agents(args) => agents::run(args, cx),
        CliCommand::Import(args) => import::run(&args, cx),
        CliCommand::Export(args) => export::run(&args, cx),
        #[cfg(feature = "serve")]
        CliCommand::Open(args) => open::run(&args, cx),
        #[cfg(feature = "serve")]
        CliCommand::Serve(args) => serve::run(args, cx),
        CliCommand::Verify(args) => verify::run(&args, cx),
        CliCommand::Rebuild(args) => rebuild::run(&args, cx),
        CliCommand::Backup(args) => backup::run(&args, cx),
        CliCommand::Purge(args) => purge::run(&args, cx),
        // `run` executes these commands without a database.
        CliCommand::Config(_)
        | CliCommand::Doctor(_)
        | CliCommand::Models(_)
        | CliCommand::Parse(_)
        | CliCommand::Completions(_)
        | CliCommand::Transfer(_)
        | CliCommand::Man(_) => Ok(()),
        // `main` runs this command, because it needs standard output unlocked.
        #[cfg(feature = "mcp")]
        CliCommand::Mcp(_) => Ok(()),
    }
}
