//! `loom copy` and `loom move`: copy or move a branch under another node, of this tree or another.

use loomtree::{store::Receipt, types::Op};

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    output::{ID, count, paint},
};

/// The arguments of `copy`.
#[derive(Debug, clap::Args)]
pub(crate) struct CopyArgs {
    /// The branch's first node
    id: String,
    /// The new parent; for a node of another tree, its full ULID
    to: String,
}

/// The arguments of `move`.
#[derive(Debug, clap::Args)]
pub(crate) struct MoveArgs {
    /// The branch's first node
    id: String,
    /// The node to put it under; of another tree if it is a full ULID
    to: String,
}

pub(crate) fn copy(args: &CopyArgs, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let (node, to) = (cx.node(&current, &args.id)?, cx.node(&current, &args.to)?);
    let receipt = actor.copy_branch(node.id, to.id)?;
    cx.print_receipt(Op::Copy, &receipt, || said(&receipt, "copied"))
}

pub(crate) fn move_(args: &MoveArgs, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let (node, to) = (cx.node(&current, &args.id)?, cx.node(&current, &args.to)?);
    let receipt = actor.move_branch(node.id, to.id)?;
    cx.print_receipt(Op::Move, &receipt, || format!("{}; the original is pruned", said(&receipt, "moved")))
}

fn said(receipt: &Receipt, what: &str) -> String {
    let local = receipt.nodes.first().map(|node| paint(ID, &node.local)).unwrap_or_default();
    let copied = receipt.nodes.len() as u64;
    format!("{local}  {} {what}", count(copied, "node"))
}
