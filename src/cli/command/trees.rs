//! `loom trees`: every tree, the last changed first; `--use` takes one up.

use std::io::Write as _;

use loomtree::{
    store::TreeFilter,
    types::{SessionPatch, Tree},
};
use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    output::{BOLD, DIM, paint},
    show::tree_line,
};

/// What `trees` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Take this tree up in this folder
    #[arg(long = "use", value_name = "TREE")]
    take: Option<String>,
    /// Also trees that were put away
    #[arg(long)]
    archived: bool,
    /// At most so many; 0: all
    #[arg(long, short = 'n', default_value_t = 50, value_name = "COUNT")]
    limit: u32,
}

#[derive(Serialize)]
struct TreeJson<'a> {
    #[serde(flatten)]
    tree: &'a Tree,
    current: bool,
}

/// Lists trees, or takes one up.
pub(crate) fn run(args: &Args, desk: &mut CommandContext<'_>) -> Result<()> {
    if let Some(text) = &args.take {
        let tree = desk.loom.find_tree(text)?;
        return take(&tree, desk);
    }
    let most = if args.limit == 0 { 0 } else { args.limit.saturating_add(1) };
    let filter = TreeFilter { archived: args.archived, limit: most };
    let mut trees = desk.loom.snapshot()?.trees(filter)?;
    let more = most > 0 && trees.len() > args.limit as usize;
    if more {
        trees.pop();
    }
    let current = desk.session(None)?.map(|session| session.tree);
    let now = desk.now();
    for tree in &trees {
        let current = current == Some(tree.id);
        if desk.out.json {
            desk.out.json(&TreeJson { tree, current })?;
            continue;
        }
        let marker = if current { paint(BOLD, "* ") } else { "  ".to_owned() };
        let age = tree.updated_at.age(now);
        let line = tree_line(tree, desk.out.width.saturating_sub(age.len() + 4));
        writeln!(desk.out, "{marker}{line}  {}", paint(DIM, age))?;
    }
    if !desk.out.json && more {
        writeln!(desk.out, "  {}", paint(DIM, "… more; `loom trees -n 0` lists all"))?;
    }
    if !desk.out.json && trees.is_empty() {
        writeln!(desk.out, "no trees yet; `loom new \"First words\"` makes one")?;
    }
    Ok(())
}

/// Makes a tree the current one: its session becomes the one last active here.
pub(crate) fn take(tree: &Tree, desk: &mut CommandContext<'_>) -> Result<()> {
    match desk.session(Some(tree.id))? {
        Some(session) => {
            desk.actor().update_session(session.id, SessionPatch::default())?;
        }
        None => {
            // Who comes to a conversation for the first time comes to its end, where it goes on.
            let root = tree.root.map(|root| desk.loom.node(root)).transpose()?;
            let end = root.map(|root| desk.loom.leaf(&root)).transpose()?;
            desk.actor().start_session(&desk.workspace, tree.id, end.map(|end| end.id))?;
        }
    }
    let width = desk.out.width.saturating_sub(6);
    desk.say(&TreeJson { tree, current: true }, || format!("now in  {}", tree_line(tree, width)))
}
