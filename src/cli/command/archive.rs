//! `loom archive`: a tree put away, out of lists, or taken out again.

use loomtree::types::Op;

use crate::cli::{command_context::CommandContext, error::Result, show::tree_line};

/// What `archive` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Take it out again
    #[arg(long)]
    undo: bool,
}

/// Puts the tree away, or takes it out.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let current = cx.position()?;
    let actor = cx.actor();
    let tree = current.tree.id;
    let receipt = if args.undo { actor.unarchive_tree(tree)? } else { actor.archive_tree(tree)? };
    let tree = cx.loom.tree(tree)?;
    let width = cx.out.width;
    cx.print_receipt(Op::Archive, &receipt, || tree_line(&tree, width))
}
