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
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let node = cx.node(&current, &args.id)?;
    let receipt = actor.exclude(node.id)?;
    cx.print_receipt(Op::Exclude, &receipt, || format!("{}  models do not read it now", paint(ID, &node.local)))
}

/// Lets it back in.
pub(crate) fn include(args: &IncludeArgs, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let node = cx.node(&current, &args.id)?;
    let receipt = actor.include(node.id)?;
    cx.print_receipt(Op::Include, &receipt, || format!("{}  models read it again", paint(ID, &node.local)))
}
