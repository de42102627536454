//! `loom switch`: the position moves to another node, named by id or by where it lies.

use loomtree::types::Node;

use super::trees;
use crate::cli::{
    command_context::{CommandContext, CommandPosition},
    error::{CliError, Result},
    show::{NodeJson, turn},
};

/// What `switch` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An id, or: parent, root, next or previous (sibling), leaf (the newest end below), back (where you were)
    to: Option<String>,
}

/// Moves the position.
pub(crate) fn run(args: &Args, desk: &mut CommandContext<'_>) -> Result<()> {
    let Some(to) = &args.to else {
        let tree = desk.named_tree()?;
        let tree = tree.ok_or_else(|| CliError::usage("where to? name a node, or a tree with --tree"))?;
        return trees::take(&tree, desk);
    };
    let (here, session, actor) = desk.work()?;
    let node = target(to, &here, desk)?;
    if node.tree != here.tree.id {
        return Err(CliError::Failed {
            message: format!("[{}] is in another tree", node.local),
            hint: Some(format!("loom switch --tree {} {}", super::super::show::short(node.tree), node.local)),
        });
    }
    if node.state.pruned_by.is_some() {
        return Err(CliError::Failed {
            message: format!("[{}] is pruned", node.local),
            hint: Some("`loom restore` shows it again; `loom view ID` reads it".to_owned()),
        });
    }
    actor.switch(&desk.loom.session(session)?, &node)?;
    let (name, now, width) = (desk.name(node.author).to_owned(), desk.now(), desk.out.wrap());
    desk.say(&NodeJson { node: &node, author: &name, position: true }, || {
        turn(&node, &name, now, true, width).trim_end().to_owned()
    })
}

fn target(to: &str, here: &CommandPosition, desk: &CommandContext<'_>) -> Result<Node> {
    let (at, loom) = (&here.position, &desk.loom);
    let alone = || CliError::failed(format!("[{}] has no siblings", at.local));
    match to {
        "parent" => desk.node(here, ".."),
        "root" => desk.node(here, "/"),
        "next" => loom.sibling(at, true)?.ok_or_else(alone),
        "previous" => loom.sibling(at, false)?.ok_or_else(alone),
        "leaf" => Some(loom.leaf(at)?)
            .filter(|leaf| leaf.id != at.id)
            .ok_or_else(|| CliError::failed(format!("[{}] is a leaf", at.local))),
        "back" => {
            let back = here.session.as_ref().map(|session| loom.previous_position(session)).transpose()?.flatten();
            back.ok_or_else(|| CliError::failed("you have not been anywhere else yet"))
        }
        id => desk.node(here, id),
    }
}
