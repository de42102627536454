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
            let mut cx = CommandContext::open(globals, out, create)?;
            if let Some(tool) = command.tool() {
                cx.allow(tool)?;
            }
            run_at(command, &mut cx)
        }
    }
}

fn run_at(command: CliCommand, cx: &mut CommandContext<'_>) -> Result<()> {
    match command {
        CliCommand::New(args) => new::run(args, cx),
        CliCommand::Trees(args) => trees::run(&args, cx),
        CliCommand::Tree(args) => tree::run(&args, cx),
        CliCommand::View(args) => view::run(&args, cx),
        CliCommand::Recall(args) => recall::run(&args, cx),
        CliCommand::Say(args) => say::run(args, cx),
        CliCommand::Continue(args) => continue_::run(&args, cx),
        CliCommand::Chat(args) => chat::run(args, cx),
        CliCommand::Delegate(args) => delegate::run(args, cx),
        CliCommand::Sessions(args) => sessions::run(&args, cx),
        CliCommand::Resume(args) => resume::run(args, cx),
        CliCommand::Context(args) => context::run(&args, cx),
        CliCommand::Do(args) => do_::run(args, cx),
        CliCommand::Switch(args) => switch::run(&args, cx),
        CliCommand::Edit(args) => edit::run(args, cx),
        CliCommand::Annotate(args) => annotate::run(args, cx),
        CliCommand::Link(args) => link::run(args, cx),
        CliCommand::Unlink(args) => link::unlink(&args, cx),
        CliCommand::Bookmark(args) => bookmark::run(&args, cx),
        CliCommand::Prune(args) => prune::run(&args, cx),
        CliCommand::Restore(args) => prune::restore(&args, cx),
        CliCommand::Exclude(args) => exclude::run(&args, cx),
        CliCommand::Include(args) => exclude::include(&args, cx),
        CliCommand::Merge(args) => merge::run(args, cx),
        CliCommand::Split(args) => split::run(args, cx),
        CliCommand::Copy(args) => branch::copy(&args, cx),
        CliCommand::Move(args) => branch::move_(&args, cx),
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
        CliCommand::Verify(args) => verify::run(&args, cx),
        CliCommand::Rebuild(args) => rebuild::run(&args, cx),
        CliCommand::Backup(args) => backup::run(&args, cx),
        CliCommand::Purge(args) => purge::run(&args, cx),
        // These need no database and were run before.
        CliCommand::Config(_)
        | CliCommand::Doctor(_)
        | CliCommand::Models(_)
        | CliCommand::Parse(_)
        | CliCommand::Completions(_)
        | CliCommand::Man(_) => Ok(()),
    }
}
