//! `loom archive`: hides a tree from lists, or shows it again.

use loomtree::types::Op;

use crate::cli::{command_context::CommandContext, error::Result, show::tree_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show an archived tree in lists again
    #[arg(long)]
    undo: bool,
}

/// Archives or unarchives the current tree.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let current = cx.position()?;
    let actor = cx.actor();
    let tree = current.tree.id;
    let receipt = if args.undo { actor.unarchive_tree(tree)? } else { actor.archive_tree(tree)? };
    let tree = cx.loom.tree(tree)?;
    let width = cx.out.width;
    cx.print_receipt(Op::Archive, &receipt, || tree_line(&tree, width))
}
