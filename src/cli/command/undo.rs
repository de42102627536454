//! `loom undo` and `loom redo`: revert changes to this tree, the newest first, and repeat them.

use loomtree::{exec::escape::quoted, ops::UndoResult, types::Op};
use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    output::{ID, paint},
    sanitize::sanitize,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Revert the last change of this agent instead of yours
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

/// The arguments of `redo`.
#[derive(Debug, clap::Args)]
pub(crate) struct RedoArgs {}

#[derive(Serialize)]
struct UndoJson {
    op: Op,
    target: u64,
    target_op: Op,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(rename = "told")]
    description: String,
    seq: u64,
}

/// Reverts the newest change.
pub(crate) fn run(args: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let agent = match &args.agent {
        Some(name) => cx.loom.agent(name)?.id(),
        None => actor.agent(),
    };
    let undone = actor.undo_of(agent, Some(current.tree.id))?;
    print_result(&undone, Op::Undo, cx)
}

/// Repeats the last reverted change.
pub(crate) fn redo(_: &RedoArgs, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, _, actor) = cx.ensure_session()?;
    let undone = actor.redo(Some(current.tree.id))?;
    print_result(&undone, Op::Redo, cx)
}

fn print_result(undone: &UndoResult, op: Op, cx: &mut CommandContext<'_>) -> Result<()> {
    let entry = &undone.target.entry;
    let json = UndoJson {
        op,
        target: undone.target.group,
        target_op: entry.op,
        node: entry.local.as_ref().map(ToString::to_string),
        description: undone.description.words(&|id| id.to_string(), &quoted),
        seq: undone.receipt.seq,
    };
    cx.print_saved(&json, || {
        let what = undone.description.words(&|id| paint(ID, id), &|name| quoted(&sanitize(name)));
        format!("{}: {what}", if op == Op::Undo { "reverted" } else { "repeated" })
    })
}
