//! `loom prune` and `loom restore`: branches hidden and shown again.

use std::io::Write as _;

use loomtree::types::Op;

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    output::{ID, count, paint},
    sanitize::cut,
    show::{NodeJson, author},
};

/// What `prune` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The branch's first node
    #[arg(required_unless_present = "list")]
    id: Option<String>,
    /// List what is pruned
    #[arg(long, short, conflicts_with = "id")]
    list: bool,
}

/// What `restore` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// The node that was pruned; nothing: list what is
    id: Option<String>,
}

/// Hides the branch, or lists what is hidden.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let Some(id) = args.id.as_deref().filter(|_| !args.list) else { return list(cx) };
    let (current, session, actor) = cx.ensure_session()?;
    let node = cx.node(&current, id)?;
    let receipt = actor.prune(node.id)?;
    // The position is never on a hidden node: whoever stood there stands above it now.
    let after = cx.loom.session(session)?.position;
    let moved = after.filter(|after| *after != current.position.id).map(|id| cx.loom.node(id)).transpose()?;
    cx.print_receipt(Op::Prune, &receipt, || {
        let moved = moved.map(|node| format!("; you are at {} now", paint(ID, &node.local))).unwrap_or_default();
        format!("{}  {} hidden{moved}", paint(ID, &node.local), count(receipt.affected, "node"))
    })
}

/// Shows the branch again.
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
        let words = cut(&node.content, cx.out.width.saturating_sub(30).max(20));
        writeln!(cx.out, "{}  {}  {words}", paint(ID, &node.local), paint(style, name))?;
    }
    if nodes.is_empty() && !cx.out.json {
        writeln!(cx.out, "nothing is pruned in this tree")?;
    }
    Ok(())
}
