//! `loom undo` and `loom redo`: your own changes to this tree, the newest first.

use loomtree::{exec::escape::quoted, ops::UndoResult, types::Op};
use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    output::{ID, paint},
    sanitize::sanitize,
};

/// What `undo` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What this agent did last here, not you
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

/// What `redo` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct RedoArgs {}

#[derive(Serialize)]
struct UndoJson {
    op: Op,
    target: u64,
    target_op: Op,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    told: String,
    seq: u64,
}

/// Takes the newest change back.
pub(crate) fn run(args: &Args, desk: &mut CommandContext<'_>) -> Result<()> {
    let (here, _, actor) = desk.work()?;
    let agent = match &args.agent {
        Some(name) => desk.loom.agent(name)?.id(),
        None => actor.agent(),
    };
    let undone = actor.undo_of(agent, Some(here.tree.id))?;
    tell(&undone, Op::Undo, desk)
}

/// Does it again.
pub(crate) fn redo(_: &RedoArgs, desk: &mut CommandContext<'_>) -> Result<()> {
    let (here, _, actor) = desk.work()?;
    let undone = actor.redo(Some(here.tree.id))?;
    tell(&undone, Op::Redo, desk)
}

fn tell(undone: &UndoResult, op: Op, desk: &mut CommandContext<'_>) -> Result<()> {
    let entry = &undone.target.entry;
    let told = UndoJson {
        op,
        target: undone.target.group,
        target_op: entry.op,
        node: entry.local.as_ref().map(ToString::to_string),
        told: undone.description.words(&|id| id.to_string(), &quoted),
        seq: undone.receipt.seq,
    };
    desk.say(&told, || {
        let what = undone.description.words(&|id| paint(ID, id), &|name| quoted(&sanitize(name)));
        format!("{}: {what}", if op == Op::Undo { "taken back" } else { "done again" })
    })
}
