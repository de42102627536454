//! `loom annotate`: adds a note to a node.

use loomtree::types::Op;

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
    /// The note; `-` or nothing: standard input, or your editor
    text: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let node = cx.node(&current, &args.id)?;
    let text = input::read_text(args.text, "")?;
    let receipt = actor.annotate(node.id, &text)?;
    let local = receipt.nodes.first().map(|note| paint(ID, &note.local)).unwrap_or_default();
    cx.print_receipt(Op::Annotate, &receipt, || format!("{local}  a note on {}", paint(ID, &node.local)))
}
