//! `loom purge`: content removed for good. The only command that asks.

use clap::ValueEnum;
use loomtree::{id::SessionId, store::PurgeTarget, types::Op};

use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    input,
    output::count,
    sanitize::cut,
    show::short,
};

/// What `purge` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to empty
    #[arg(value_enum)]
    what: PurgeKind,
    /// Its id; a tree also by its title
    id: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// What can be purged.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PurgeKind {
    /// One node.
    Node,
    /// Every node that a session wrote.
    Session,
    /// A whole tree.
    Tree,
}

/// Asks, and purges.
pub(crate) fn run(args: &Args, desk: &mut CommandContext<'_>) -> Result<()> {
    let (target, word, what) = match args.what {
        PurgeKind::Node => {
            let here = desk.here()?;
            let node = desk.node(&here, &args.id)?;
            (PurgeTarget::Node(node.id), node.local.to_string(), format!("the node \"{}\"", cut(&node.content, 50)))
        }
        PurgeKind::Session => {
            let id: SessionId = args.id.parse().map_err(|_| CliError::usage("a session is named by its whole ULID"))?;
            let session = desk.loom.session(id)?;
            let what = format!("what {} wrote in {} turns of a session", desk.name(session.agent), session.turns);
            (PurgeTarget::Session(id), id.to_string(), what)
        }
        PurgeKind::Tree => {
            let tree = desk.loom.find_tree(&args.id)?;
            let what = format!("the tree \"{}\" with {}", cut(&tree.title, 50), count(tree.counts.nodes, "node"));
            (PurgeTarget::Tree(tree.id), short(tree.id), what)
        }
    };
    let question = format!("This removes {what} for good; undo cannot bring it back. Backups and exports keep it.");
    input::confirm(&question, &[&word, &args.id], args.yes)?;
    let receipt = desk.actor().purge(target)?;
    desk.done(Op::Purge, &receipt, || format!("{} purged", count(receipt.affected, "node")))
}
