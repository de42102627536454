//! The commands, one a file of one shape: `Args` is what clap reads, `run` does it.

mod agents;
mod annotate;
mod archive;
mod backup;
mod bookmark;
mod branch;
mod chat;
mod completions;
mod config;
mod context;
mod continue_;
mod default;
mod delegate;
mod demo;
mod do_;
mod docs;
mod doctor;
mod edit;
mod exclude;
mod export;
#[cfg(feature = "local")]
mod fetch;
#[cfg(not(feature = "local"))]
#[path = "fetch_unsupported.rs"]
mod fetch;
mod import;
mod link;
mod log;
mod man;
mod merge;
mod models;
mod new;
mod parse;
mod prune;
mod purge;
mod rebuild;
mod recall;
mod rename;
mod resume;
mod say;
mod sessions;
mod split;
mod stats;
mod switch;
mod tree;
mod trees;
#[cfg(feature = "tui")]
mod tui;
mod undo;
mod verify;
mod view;

use clap::Subcommand;
use loomtree::tools::Tool;

use super::{args::Globals, command_context::CommandContext, error::Result, output::CliOutput};

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Start a tree with its first words
    New(new::Args),
    /// List trees, or take one up
    Trees(trees::Args),
    /// Draw the tree
    Tree(tree::Args),
    /// Read the conversation up to here, or one node with all that belongs to it
    View(view::Args),
    /// Find again what was said, by words, turn or tool
    Recall(recall::Args),
    /// Add a node after the one where you are
    Say(say::Args),
    /// Have a model continue
    Continue(continue_::Args),
    /// Talk with an agent that acts by commands
    Chat(chat::Args),
    /// Hand a goal to agents that plan, work beside each other, and verify
    Delegate(delegate::Args),
    /// List resumable sessions
    Sessions(sessions::Args),
    /// Go on with a session: the conversation stands where it stood
    Resume(resume::Args),
    /// Show what a model would be sent from here
    Context(context::Args),
    /// Run arrow lines as a model would, and print the answers
    Do(do_::Args),
    /// Go to another node
    Switch(switch::Args),
    /// Edit a node; the original stays
    Edit(edit::Args),
    /// Write a note on a node
    Annotate(annotate::Args),
    /// Link a node to a node, a tree or a document
    Link(link::Args),
    /// Take links away
    Unlink(link::UnlinkArgs),
    /// Bookmark a node, or list bookmarks
    Bookmark(bookmark::Args),
    /// Hide a branch
    Prune(prune::Args),
    /// Show a hidden branch again
    Restore(prune::RestoreArgs),
    /// Keep a node out of what models read
    Exclude(exclude::Args),
    /// Let models read a node again
    Include(exclude::IncludeArgs),
    /// Write a node that draws on several
    Merge(merge::Args),
    /// Cut a node in two
    Split(split::Args),
    /// Copy a branch under another node
    Copy(branch::CopyArgs),
    /// Move a branch under another node
    Move(branch::MoveArgs),
    /// Take your last change back
    Undo(undo::Args),
    /// Do again what undo took back
    Redo(undo::RedoArgs),
    /// Show who did what and when
    Log(log::Args),
    /// Sum tokens and money, and say whose branches were taken up
    Stats(stats::Args),
    /// Change the title, description or system prompt of the tree
    Rename(rename::Args),
    /// Put the tree away, or take it out again
    Archive(archive::Args),
    /// Read and write documents
    Docs(docs::Args),
    /// List, make and change agents
    Agents(agents::Args),
    /// Show which models there are, or fetch one
    Models(models::Args),
    /// Bring in conversations from files
    Import(import::Args),
    /// Write trees or a path out
    Export(export::Args),
    /// Check everything in the database
    Verify(verify::Args),
    /// Recalculate counts
    Rebuild(rebuild::Args),
    /// Copy the database, also while others write
    Backup(backup::Args),
    /// Remove content for good
    Purge(purge::Args),
    /// Walk and grow a sample tree
    Demo(demo::Args),
    /// Check the program, its files and its models, and say what to do
    Doctor(doctor::Args),
    /// Show the configuration, or begin one
    Config(config::Args),
    /// Tell what arrow lines on standard input come to, as JSON
    Parse(parse::Args),
    /// Print a script that completes commands in your shell
    Completions(completions::Args),
    /// Print the manual page
    Man(man::Args),
}

impl CliCommand {
    /// Whether it makes the database if that is not there: where something is put in.
    fn makes_database(&self) -> bool {
        matches!(self, Self::New(_) | Self::Demo(_) | Self::Docs(_) | Self::Agents(_) | Self::Import(_))
    }

    /// The tool whose permission the acting agent needs. Looking is the person's at the terminal, whoever acts; arrow
    /// lines are checked one by one.
    fn tool(&self) -> Option<Tool> {
        Some(match self {
            Self::New(_)
            | Self::Say(_)
            | Self::Chat(_)
            | Self::Resume(_)
            | Self::Import(_)
            | Self::Rename(_)
            | Self::Archive(_) => Tool::Respond,
            Self::Continue(_) => Tool::Continue,
            Self::Edit(_) => Tool::Edit,
            Self::Annotate(_) => Tool::Annotate,
            Self::Link(_) => Tool::Link,
            Self::Unlink(_) => Tool::Unlink,
            Self::Bookmark(args) => args.changes().then_some(Tool::Bookmark)?,
            Self::Prune(_) | Self::Purge(_) => Tool::Prune,
            Self::Restore(_) => Tool::Restore,
            Self::Exclude(_) => Tool::Exclude,
            Self::Include(_) => Tool::Include,
            Self::Merge(_) => Tool::Merge,
            Self::Split(_) => Tool::Split,
            Self::Copy(_) => Tool::Copy,
            Self::Move(_) => Tool::Move,
            Self::Undo(_) => Tool::Undo,
            Self::Redo(_) => Tool::Redo,
            Self::Docs(args) => args.changes().then_some(Tool::Write)?,
            _ => return None,
        })
    }
}

/// Runs a command.
pub(crate) fn run(command: Option<CliCommand>, globals: &Globals, out: &mut CliOutput) -> Result<()> {
    let Some(command) = command else { return default::run(globals, out) };
    match command {
        CliCommand::Config(args) => config::run(args, globals, out),
        CliCommand::Models(args) => models::run(args, globals, out),
        CliCommand::Completions(args) => completions::run(&args, out),
        CliCommand::Doctor(args) => doctor::run(&args, globals, out),
        CliCommand::Parse(args) => parse::run(&args, out),
        CliCommand::Man(args) => man::run(args, out),
        command => {
            let create = command.makes_database();
            let mut desk = CommandContext::open(globals, out, create)?;
            if let Some(tool) = command.tool() {
                desk.allow(tool)?;
            }
            run_at(command, &mut desk)
        }
    }
}

fn run_at(command: CliCommand, desk: &mut CommandContext<'_>) -> Result<()> {
    match command {
        CliCommand::New(args) => new::run(args, desk),
        CliCommand::Trees(args) => trees::run(&args, desk),
        CliCommand::Tree(args) => tree::run(&args, desk),
        CliCommand::View(args) => view::run(&args, desk),
        CliCommand::Recall(args) => recall::run(&args, desk),
        CliCommand::Say(args) => say::run(args, desk),
        CliCommand::Continue(args) => continue_::run(&args, desk),
        CliCommand::Chat(args) => chat::run(args, desk),
        CliCommand::Delegate(args) => delegate::run(args, desk),
        CliCommand::Sessions(args) => sessions::run(&args, desk),
        CliCommand::Resume(args) => resume::run(args, desk),
        CliCommand::Context(args) => context::run(&args, desk),
        CliCommand::Do(args) => do_::run(args, desk),
        CliCommand::Switch(args) => switch::run(&args, desk),
        CliCommand::Edit(args) => edit::run(args, desk),
        CliCommand::Annotate(args) => annotate::run(args, desk),
        CliCommand::Link(args) => link::run(args, desk),
        CliCommand::Unlink(args) => link::unlink(&args, desk),
        CliCommand::Bookmark(args) => bookmark::run(&args, desk),
        CliCommand::Prune(args) => prune::run(&args, desk),
        CliCommand::Restore(args) => prune::restore(&args, desk),
        CliCommand::Exclude(args) => exclude::run(&args, desk),
        CliCommand::Include(args) => exclude::include(&args, desk),
        CliCommand::Merge(args) => merge::run(args, desk),
        CliCommand::Split(args) => split::run(args, desk),
        CliCommand::Copy(args) => branch::copy(&args, desk),
        CliCommand::Move(args) => branch::move_(&args, desk),
        CliCommand::Undo(args) => undo::run(&args, desk),
        CliCommand::Redo(args) => undo::redo(&args, desk),
        CliCommand::Log(args) => log::run(&args, desk),
        CliCommand::Stats(args) => stats::run(&args, desk),
        CliCommand::Rename(args) => rename::run(args, desk),
        CliCommand::Archive(args) => archive::run(&args, desk),
        CliCommand::Demo(args) => demo::run(&args, desk),
        CliCommand::Docs(args) => docs::run(args, desk),
        CliCommand::Agents(args) => agents::run(args, desk),
        CliCommand::Import(args) => import::run(&args, desk),
        CliCommand::Export(args) => export::run(&args, desk),
        CliCommand::Verify(args) => verify::run(&args, desk),
        CliCommand::Rebuild(args) => rebuild::run(&args, desk),
        CliCommand::Backup(args) => backup::run(&args, desk),
        CliCommand::Purge(args) => purge::run(&args, desk),
        // These need no database and were run before.
        CliCommand::Config(_)
        | CliCommand::Doctor(_)
        | CliCommand::Models(_)
        | CliCommand::Parse(_)
        | CliCommand::Completions(_)
        | CliCommand::Man(_) => Ok(()),
    }
}
