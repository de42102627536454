//! `loom edit`: writes new text for a node, as a branch in a dialogue or a version in a buffer.

use loomtree::types::{Mode, Op};

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    input,
    output::{ID, paint},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node's id
    id: String,
    /// The new text; `-`: standard input [default: your editor]
    text: Option<String>,
}

/// Writes the edited text.
pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let node = cx.node(&current, &args.id)?;
    let text = input::read_text(args.text, &node.content)?;
    let receipt = actor.edit(node.id, &text)?;
    let local = receipt.nodes.first().map(|node| paint(ID, &node.local)).unwrap_or_default();
    let what = if current.tree.mode == Mode::Buffer || node.parent.is_none() { "version" } else { "branch" };
    cx.print_receipt(Op::Edit, &receipt, || format!("{local}  a {what} of {}, which stays", paint(ID, &node.local)))
}
