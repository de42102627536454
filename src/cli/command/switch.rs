//! `loom switch`: moves the position to another node.

use loomtree::types::Node;

use super::trees;
use crate::cli::{
    command_context::{CommandContext, CommandPosition},
    error::{CliError, Result},
    show::{NodeJson, turn},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A node id, or: parent, root, next or previous (sibling), leaf (the newest leaf below), back (the previous
    /// position)
    to: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let Some(to) = &args.to else {
        let tree = cx.named_tree()?;
        let tree = tree.ok_or_else(|| CliError::usage("no target given; name a node, or a tree with --tree"))?;
        return trees::use_tree(&tree, cx);
    };
    let (current, session, actor) = cx.ensure_session()?;
    let node = target(to, &current, cx)?;
    if node.tree != current.tree.id {
        return Err(CliError::Failed {
            message: format!("[{}] is in another tree", node.local),
            hint: Some(format!("loom switch --tree {} {}", super::super::show::short_tree_id(node.tree), node.local)),
        });
    }
    if let Some(pruned) = node.state.hidden_by {
        let pruned = cx.loom.node(pruned)?;
        return Err(CliError::Failed {
            message: format!("[{}] is pruned", node.local),
            hint: Some(format!("`loom restore {}` shows it again; `loom view {}` reads it", pruned.local, node.local)),
        });
    }
    actor.switch(&cx.loom.session(session)?, &node)?;
    let (name, now, width) = (cx.name(node.author).to_owned(), cx.now(), cx.out.wrap());
    cx.print_saved(&NodeJson { node: &node, author: &name, position: true }, || {
        turn(&node, &name, now, true, width).trim_end().to_owned()
    })
}

fn target(to: &str, current: &CommandPosition, cx: &CommandContext<'_>) -> Result<Node> {
    let (at, loom) = (&current.position, &cx.loom);
    let no_siblings = || CliError::failed(format!("[{}] has no siblings", at.local));
    let shown = |node: Node| Ok(loom.version_on_path(&node, current.versions())?);
    match to {
        "next" => shown(loom.sibling(at, true)?.ok_or_else(no_siblings)?),
        "previous" => shown(loom.sibling(at, false)?.ok_or_else(no_siblings)?),
        "leaf" => {
            let leaf = Some(loom.leaf(at, current.versions())?).filter(|leaf| leaf.id != at.id);
            leaf.ok_or_else(|| CliError::failed(format!("[{}] is a leaf", at.local)))
        }
        "back" => {
            let back = current.session.as_ref().map(|session| loom.previous_position(session)).transpose()?.flatten();
            back.ok_or_else(|| CliError::failed("there is no previous position"))
        }
        id => cx.node(current, id),
    }
}
