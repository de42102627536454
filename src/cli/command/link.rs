//! `loom link` and `loom unlink`: link a node to a node, a tree or a document, or remove links.

use loomtree::types::{LinkTarget, Op};

use crate::cli::{
    command_context::{CommandContext, CommandPosition},
    error::Result,
    output::{ID, count, paint},
};

/// The arguments of `link`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The source node's id
    id: String,
    /// The target: a node, `tree:TREE`, `doc:NAME` or `doc:NAME#Section`
    target: String,
    /// A note on the link
    #[arg(long)]
    note: Option<String>,
}

/// The arguments of `unlink`.
#[derive(Debug, clap::Args)]
pub(crate) struct UnlinkArgs {
    /// The node's id
    id: String,
    /// The other end: a node, `tree:TREE`, or `doc:NAME`
    target: String,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let node = cx.node(&current, &args.id)?;
    let target = target(&args.target, &current, cx)?;
    let receipt = actor.link(node.id, target, args.note)?;
    cx.print_receipt(Op::Link, &receipt, || format!("{}  linked", paint(ID, &node.local)))
}

/// Removes the links between the node and the target.
pub(crate) fn unlink(args: &UnlinkArgs, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let node = cx.node(&current, &args.id)?;
    let receipt = actor.unlink(node.id, &target(&args.target, &current, cx)?)?;
    let taken = receipt.seq + 1 - receipt.group;
    cx.print_receipt(Op::Unlink, &receipt, || format!("{}  {} removed", paint(ID, &node.local), count(taken, "link")))
}

fn target(text: &str, current: &CommandPosition, cx: &CommandContext<'_>) -> Result<LinkTarget> {
    if let Some(tree) = text.strip_prefix("tree:") {
        return Ok(LinkTarget::Tree(cx.loom.find_tree(tree)?.id));
    }
    if let Some(name) = text.strip_prefix("doc:") {
        // A document's name may contain `#`, so the whole text is tried first.
        let whole = cx.loom.document(name);
        return match (whole, name.split_once('#')) {
            (Ok(document), _) => Ok(LinkTarget::Document { id: document.id, section: None }),
            (Err(_), Some((name, section))) => {
                let id = cx.loom.document(name.trim())?.id;
                Ok(LinkTarget::Document { id, section: Some(section.trim().to_owned()) })
            }
            (Err(error), None) => Err(error.into()),
        };
    }
    Ok(LinkTarget::Node(cx.node(current, text)?.id))
}
