//! `loom exclude` and `loom include`: nodes that models do not read, though people see them.

use loomtree::types::Op;

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    output::{ID, paint},
};

/// What `exclude` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node
    id: String,
}

/// What `include` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct IncludeArgs {
    /// The node
    id: String,
}

/// Keeps the node out.
pub(crate) fn run(args: &Args, desk: &mut CommandContext<'_>) -> Result<()> {
    let (here, _, actor) = desk.work()?;
    let node = desk.node(&here, &args.id)?;
    let receipt = actor.exclude(node.id)?;
    desk.done(Op::Exclude, &receipt, || format!("{}  models do not read it now", paint(ID, &node.local)))
}

/// Lets it back in.
pub(crate) fn include(args: &IncludeArgs, desk: &mut CommandContext<'_>) -> Result<()> {
    let (here, _, actor) = desk.work()?;
    let node = desk.node(&here, &args.id)?;
    let receipt = actor.include(node.id)?;
    desk.done(Op::Include, &receipt, || format!("{}  models read it again", paint(ID, &node.local)))
}
