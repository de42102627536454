//! `loom trees`: lists trees, the last changed first; `--use` selects one.

use std::io::Write as _;

use loomtree::{
    store::TreeFilter,
    types::{SessionPatch, SummarySubject, Tree},
};
use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    output::{BOLD, DIM, paint},
    sanitize::cut,
    show::tree_line,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Make this tree the current one in this folder
    #[arg(long = "use", value_name = "TREE")]
    use_tree: Option<String>,
    /// Include archived trees
    #[arg(long)]
    archived: bool,
    /// Maximum number of trees; 0: all
    #[arg(long, short = 'n', default_value_t = 50, value_name = "COUNT")]
    limit: u32,
}

#[derive(Serialize)]
struct TreeJson<'a> {
    #[serde(flatten)]
    tree: &'a Tree,
    current: bool,
    /// Summary of the tree by a model, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

/// Lists trees, or selects one.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    if let Some(text) = &args.use_tree {
        let tree = cx.find_tree(text)?;
        return use_tree(&tree, cx);
    }
    let limit = if args.limit == 0 { 0 } else { args.limit.saturating_add(1) };
    let filter = TreeFilter { archived: args.archived, limit };
    let snapshot = cx.loom.snapshot()?;
    let mut trees = snapshot.trees(filter)?;
    let more = limit > 0 && trees.len() > args.limit as usize;
    if more {
        trees.pop();
    }
    let current = cx.session(None)?.map(|session| session.tree);
    let now = cx.now();
    for tree in &trees {
        let current = current == Some(tree.id);
        let summary = snapshot.summary(SummarySubject::Tree(tree.id))?;
        let summary = summary.as_ref().map(|summary| summary.content.as_str());
        if cx.out.json {
            cx.out.json(&TreeJson { tree, current, summary })?;
            continue;
        }
        let marker = if current { paint(BOLD, "* ") } else { "  ".to_owned() };
        let age = tree.updated_at.age(now);
        let line = tree_line(tree, cx.out.width.saturating_sub(age.len() + 4));
        writeln!(cx.out, "{marker}{line}  {}", paint(DIM, age))?;
        if let Some(summary) = summary {
            writeln!(cx.out, "    {}", paint(DIM, cut(summary, cx.out.width.saturating_sub(4))))?;
        }
    }
    if !cx.out.json && more {
        writeln!(cx.out, "  {}", paint(DIM, "… more; `loom trees -n 0` lists all"))?;
    }
    if !cx.out.json && trees.is_empty() {
        let archived = snapshot.trees(TreeFilter { archived: true, limit: 1 })?;
        let hint = match archived.first().filter(|_| !args.archived) {
            Some(_) => "all trees are archived; `loom trees --archived` lists them",
            None => "no trees yet; `loom new \"First words\"` creates one",
        };
        writeln!(cx.out, "{hint}")?;
    }
    Ok(())
}

/// Makes a tree the current one: its session becomes the most recently active.
pub(crate) fn use_tree(tree: &Tree, cx: &mut CommandContext<'_>) -> Result<()> {
    match cx.session(Some(tree.id))? {
        Some(session) => {
            cx.actor().update_session(session.id, SessionPatch::default())?;
        }
        None => {
            // A first session starts at the end of the conversation.
            let end = cx.loom.position(tree, None)?;
            cx.actor().start_session(&cx.workspace, tree.id, Some(end.id))?;
        }
    }
    let width = cx.out.width.saturating_sub(6);
    cx.print_saved(&TreeJson { tree, current: true, summary: None }, || format!("now in  {}", tree_line(tree, width)))
}
