//! `loom exclude` and `loom include`: exclude a node from models' context, or include it again. Users see it either
//! way.

use loomtree::types::Op;

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    output::{ID, paint},
};

/// The arguments of `exclude`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node's id
    id: String,
}

/// The arguments of `include`.
#[derive(Debug, clap::Args)]
pub(crate) struct IncludeArgs {
    /// The node
    id: String,
}

pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let node = cx.node(&current, &args.id)?;
    let receipt = actor.exclude(node.id)?;
    cx.print_receipt(Op::Exclude, &receipt, || format!("{}  excluded from models' context", paint(ID, &node.local)))
}

/// Includes the node again.
pub(crate) fn include(args: &IncludeArgs, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let node = cx.node(&current, &args.id)?;
    let receipt = actor.include(node.id)?;
    cx.print_receipt(Op::Include, &receipt, || format!("{}  included in models' context", paint(ID, &node.local)))
}
