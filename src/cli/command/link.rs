//! `loom link` and `loom unlink`: links from a node to a node, a tree or a document.

use loomtree::types::{LinkTarget, Op};

use crate::cli::{
    command_context::{CommandContext, CommandPosition},
    error::Result,
    output::{ID, count, paint},
};

/// What `link` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node that the link starts from
    id: String,
    /// A node, `tree:TREE`, or `doc:NAME` with `#Section` if one is meant
    target: String,
    /// Why they are linked
    #[arg(long)]
    note: Option<String>,
}

/// What `unlink` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct UnlinkArgs {
    /// The node
    id: String,
    /// What it is linked with: a node, `tree:TREE`, or `doc:NAME`
    target: String,
}

/// Makes the link.
pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let node = cx.node(&current, &args.id)?;
    let target = target(&args.target, &current, cx)?;
    let receipt = actor.link(node.id, target, args.note)?;
    cx.print_receipt(Op::Link, &receipt, || format!("{}  linked", paint(ID, &node.local)))
}

/// Takes the links away.
pub(crate) fn unlink(args: &UnlinkArgs, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let node = cx.node(&current, &args.id)?;
    let receipt = actor.unlink(node.id, &target(&args.target, &current, cx)?)?;
    let taken = receipt.seq + 1 - receipt.group;
    cx.print_receipt(Op::Unlink, &receipt, || {
        format!("{}  {} taken away", paint(ID, &node.local), count(taken, "link"))
    })
}

fn target(text: &str, current: &CommandPosition, cx: &CommandContext<'_>) -> Result<LinkTarget> {
    if let Some(tree) = text.strip_prefix("tree:") {
        return Ok(LinkTarget::Tree(cx.loom.find_tree(tree)?.id));
    }
    if let Some(name) = text.strip_prefix("doc:") {
        // A document may have a # in its name; the whole is tried first.
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
