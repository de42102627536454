//! `loom split`: splits a node in two.

use loomtree::{ops::SplitAt, types::Op};

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    output::{ID, paint},
};

#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(group = clap::ArgGroup::new("cut").required(true).args(["at", "after"]))]
pub(crate) struct Args {
    /// The node's id
    id: String,
    /// Split before this character, counted from 0
    #[arg(long, value_name = "COUNT")]
    at: Option<usize>,
    /// Split after this text
    #[arg(long, value_name = "WORDS")]
    after: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let node = cx.node(&current, &args.id)?;
    let at = match (args.after, args.at) {
        (Some(words), _) => SplitAt::After(words),
        (None, at) => SplitAt::Character(at.unwrap_or(0)),
    };
    let receipt = actor.split(node.id, &at)?;
    let halves: Vec<String> = receipt.nodes.iter().map(|node| paint(ID, &node.local)).collect();
    cx.print_receipt(Op::Split, &receipt, || format!("{}  the halves of {}", halves.join("  "), paint(ID, &node.local)))
}
