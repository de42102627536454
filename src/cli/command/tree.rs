//! `loom tree`: draws the tree as an outline.

use std::{collections::HashSet, io::Write as _};

use loomtree::{id::NodeId, types::Node};

use crate::cli::{
    command_context::{CommandContext, CommandPosition},
    error::Result,
    output::{DIM, paint},
    show::{NodeJson, Outline, OutlineOptions, tree_line},
};

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Draw the branch of this node [default: the part around your position]
    id: Option<String>,
    /// Maximum depth below the first node
    #[arg(long, value_name = "STEPS")]
    depth: Option<u32>,
    /// Show all nodes of long runs
    #[arg(long)]
    full: bool,
    /// Include pruned branches
    #[arg(long)]
    pruned: bool,
    /// Include notes, sources, thoughts and tool results
    #[arg(long)]
    notes: bool,
    /// Approximate maximum of lines; 0: all [default: 100]
    #[arg(long, short = 'n', value_name = "LINES")]
    limit: Option<usize>,
}

/// Nodes read in one query for JSON.
const JSON_PAGE_NODES: u32 = 1_000;

/// Draws the tree, or prints its nodes.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let current = cx.position()?;
    let start = args.id.as_deref().map(|id| cx.node(&current, id)).transpose()?;
    if cx.out.json { as_json(args, &current, start, cx) } else { draw(args, &current, start, cx) }
}

fn draw(args: &Args, current: &CommandPosition, start: Option<Node>, cx: &mut CommandContext<'_>) -> Result<()> {
    let width = cx.out.width;
    let options = OutlineOptions {
        pruned: args.pruned,
        notes: args.notes,
        full: args.full,
        depth: args.depth,
        lines: args.limit.unwrap_or(100),
        width,
    };
    let loom = cx.loom.clone();
    let snapshot = loom.snapshot()?;
    let outline = Outline::of(&*snapshot, start, current.tree.root, &current.position, current.versions(), &options)?;
    let now = cx.now();
    writeln!(cx.out, "{}", tree_line(&current.tree, width))?;
    if outline.above > 0 {
        let above = format!("  ⋮ {} above; `loom tree /` starts at the root", outline.above);
        writeln!(cx.out, "{}", paint(DIM, above))?;
    }
    let mut cut = None;
    outline.draw(&mut |line| {
        let node = line.node();
        let name = node.map_or("", |node| cx.name(node.author));
        let text = line.draw(name, node.is_some_and(|n| n.id == current.position.id), now, width);
        if let (true, Some(node)) = (line.is_cut(), node) {
            cut = Some(node.local.clone());
        }
        Ok(writeln!(cx.out, "{text}")?)
    })?;
    if let Some(local) = cut {
        writeln!(cx.out, "{}", paint(DIM, format!("  ▸ more: `loom tree {local}`")))?;
    }
    Ok(())
}

/// Prints every node, or those of a branch, in order of creation.
fn as_json(args: &Args, current: &CommandPosition, start: Option<Node>, cx: &mut CommandContext<'_>) -> Result<()> {
    let loom = cx.loom.clone();
    let top = start.as_ref().map_or(0, |node| node.depth);
    let tree = start.as_ref().map_or(current.tree.id, |node| node.tree);
    let mut after = start.as_ref().map_or(0, |node| node.seq - 1);
    let mut branch: Option<HashSet<NodeId>> = start.map(|node| HashSet::from([node.id]));
    let mut left = args.limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    loop {
        let nodes = loom.snapshot()?.nodes_after(tree, after, JSON_PAGE_NODES)?;
        let Some(last) = nodes.last() else { return Ok(()) };
        after = last.seq;
        for node in &nodes {
            let inside = branch.as_mut().is_none_or(|branch| {
                branch.contains(&node.id) || node.parent.is_some_and(|p| branch.contains(&p)) && branch.insert(node.id)
            });
            let deep = args.depth.is_some_and(|depth| node.depth.saturating_sub(top) > depth);
            if !inside || deep || node.state.hidden_by.is_some() && !args.pruned {
                continue;
            }
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            let (author, position) = (cx.name(node.author).to_owned(), node.id == current.position.id);
            cx.out.json(&NodeJson { node, author: &author, position })?;
        }
    }
}
