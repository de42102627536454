//! `loom merge`: writes a node that is linked to several others.

use loomtree::types::Op;

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    input,
    output::{ID, count, paint},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The nodes to merge; the new node continues the first and is linked to each
    #[arg(required = true, num_args = 2.., value_name = "ID")]
    ids: Vec<String>,
    /// The text of the new node; `-` or nothing: standard input, or your editor
    #[arg(long, short = 'm', value_name = "TEXT")]
    text: Option<String>,
}

/// Writes the merged node.
pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let nodes = args.ids.iter().map(|id| cx.node(&current, id)).collect::<Result<Vec<_>>>()?;
    let parts: Vec<&str> = nodes.iter().map(|node| node.content.as_str()).collect();
    let text = input::read_text(args.text, &parts.join("\n\n"))?;
    let ids: Vec<_> = nodes.iter().map(|node| node.id).collect();
    let receipt = actor.merge(&ids, &text)?;
    let local = receipt.nodes.first().map(|node| paint(ID, &node.local)).unwrap_or_default();
    cx.print_receipt(Op::Merge, &receipt, || format!("{local}  draws on {}", count(ids.len() as u64, "node")))
}
