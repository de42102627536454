//! `loom prune` and `loom restore`: hide branches, and show them again.

use std::io::Write as _;

use loomtree::types::Op;

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    output::{ID, count, paint},
    sanitize::cut,
    show::{NodeJson, author, text_or_calls},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The branch's first node
    #[arg(required_unless_present = "list")]
    id: Option<String>,
    /// List pruned branches
    #[arg(long, short, conflicts_with = "id")]
    list: bool,
}

/// The arguments of `restore`.
#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// The pruned node [default: list pruned branches]
    id: Option<String>,
}

/// Prunes the branch, or lists pruned branches.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let Some(id) = args.id.as_deref().filter(|_| !args.list) else { return list(cx) };
    let (current, session, actor) = cx.ensure_session()?;
    let node = cx.node(&current, id)?;
    let receipt = actor.prune(node.id)?;
    // A position within the hidden branch moves to the node above it.
    let after = cx.loom.session(session)?.position;
    let moved = after.filter(|after| *after != current.position.id).map(|id| cx.loom.node(id)).transpose()?;
    cx.print_receipt(Op::Prune, &receipt, || {
        let moved = moved.map(|node| format!("; you are at {} now", paint(ID, &node.local))).unwrap_or_default();
        format!("{}  {} hidden{moved}", paint(ID, &node.local), count(receipt.affected, "node"))
    })
}

pub(crate) fn restore(args: &RestoreArgs, cx: &mut CommandContext<'_>) -> Result<()> {
    let Some(id) = &args.id else { return list(cx) };
    let (current, _, actor) = cx.ensure_session()?;
    let node = cx.node(&current, id)?;
    let receipt = actor.restore(node.id)?;
    cx.print_receipt(Op::Restore, &receipt, || {
        format!("{}  {} shown again", paint(ID, &node.local), count(receipt.affected, "node"))
    })
}

fn list(cx: &mut CommandContext<'_>) -> Result<()> {
    let current = cx.position()?;
    let nodes = cx.loom.snapshot()?.pruned(current.tree.id)?;
    for node in &nodes {
        let name = cx.name(node.author).to_owned();
        if cx.out.json {
            cx.out.json(&NodeJson { node, author: &name, position: false })?;
            continue;
        }
        let (name, style) = author(&name, node.author_type);
        let words = cut(&text_or_calls(node), cx.out.width.saturating_sub(30).max(20));
        writeln!(cx.out, "{}  {}  {words}", paint(ID, &node.local), paint(style, name))?;
    }
    if nodes.is_empty() && !cx.out.json {
        writeln!(cx.out, "nothing is pruned in this tree")?;
    }
    Ok(())
}
