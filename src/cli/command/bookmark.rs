//! `loom bookmark`: sets, changes, removes and lists bookmarks.

use std::io::Write as _;

use loomtree::types::Op;

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    output::{ID, paint},
    sanitize::{cut, one_line},
    show::{NodeJson, author, marks, text_or_calls},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node [default: your position]
    id: Option<String>,
    /// The bookmark's label
    #[arg(default_value = "")]
    label: String,
    /// Remove the bookmark
    #[arg(long, conflicts_with_all = ["label", "list"])]
    remove: bool,
    /// List the bookmarks of the tree
    #[arg(long, short, conflicts_with_all = ["id", "label"])]
    list: bool,
}

impl Args {
    /// True if the command changes the tree.
    pub(crate) const fn changes(&self) -> bool {
        !self.list
    }
}

/// Sets, removes or lists bookmarks.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    if args.list {
        return list(cx);
    }
    let (current, _, actor) = cx.ensure_session()?;
    let node = cx.node_or_here(&current, args.id.as_deref())?;
    let local = paint(ID, &node.local);
    if args.remove {
        let receipt = actor.unbookmark(node.id)?;
        let had = node.state.bookmark.is_some();
        return cx.print_receipt(Op::Bookmark, &receipt, || {
            format!("{local}  {}", if had { "bookmark removed" } else { "had no bookmark" })
        });
    }
    let receipt = actor.bookmark(node.id, &args.label)?;
    cx.print_receipt(Op::Bookmark, &receipt, || format!("{local}  ★ {}", one_line(&args.label)))
}

fn list(cx: &mut CommandContext<'_>) -> Result<()> {
    let current = cx.position()?;
    let nodes = cx.loom.snapshot()?.bookmarks(current.tree.id)?;
    for node in &nodes {
        let name = cx.name(node.author).to_owned();
        if cx.out.json {
            cx.out.json(&NodeJson { node, author: &name, position: node.id == current.position.id })?;
            continue;
        }
        let mark = marks(node).first().map(|(mark, style)| paint(*style, mark)).unwrap_or_default();
        let (name, style) = author(&name, node.author_type);
        let words = cut(&text_or_calls(node), cx.out.width.saturating_sub(50).max(20));
        writeln!(cx.out, "{}  {mark}  {}  {words}", paint(ID, &node.local), paint(style, name))?;
    }
    if nodes.is_empty() && !cx.out.json {
        writeln!(cx.out, "no bookmarks; `loom bookmark ID LABEL` sets one")?;
    }
    Ok(())
}
