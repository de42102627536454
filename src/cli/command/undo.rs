//! `loom undo` and `loom redo`: revert changes to this tree, the newest first, and repeat them.

use loomtree::{
    exec::escape::quoted,
    id::TreeId,
    ops::{self, Actor, UndoResult},
    store::UndoReach,
    types::Op,
};
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
    let agent = args.agent.as_deref().map(|name| cx.loom.agent(name)).transpose()?;
    revert(Op::Undo, cx, |actor, tree| {
        let agent = agent.map_or_else(|| actor.agent(), |agent| agent.id());
        actor.undo_of(agent, Some(tree))
    })
}

/// Repeats the last reverted change.
pub(crate) fn redo(_: &RedoArgs, cx: &mut CommandContext<'_>) -> Result<()> {
    revert(Op::Redo, cx, |actor, tree| actor.redo(Some(tree)))
}

/// Performs the undo or redo in the current tree and prints it. An agent belongs to no tree, so its changes are not reached.
fn revert(
    op: Op,
    cx: &mut CommandContext<'_>,
    perform: impl FnOnce(Actor, TreeId) -> ops::Result<UndoResult>,
) -> Result<()> {
    cx.require_tree_in_use()?;
    let (current, session, actor) = cx.ensure_session()?;
    let undone = perform(actor.reverting(UndoReach::Documents), current.tree.id)?;
    let moved = cx.moved(session, current.position.id)?;
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
        format!("{}: {what}{moved}", if op == Op::Undo { "reverted" } else { "repeated" })
    })
}
