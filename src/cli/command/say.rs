//! `loom say`: a node after the position, or after another node.

use std::str::FromStr as _;

use loomtree::{
    model::{EdgeKind, Op, Parent},
    ops::Draft,
};

use crate::cli::{
    desk::Desk,
    error::Result,
    input,
    out::{ID, paint},
};

/// What `say` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The words; `-` or nothing: standard input, or your editor
    text: Option<String>,
    /// Add it under this node
    #[arg(long, value_name = "ID")]
    at: Option<String>,
    /// What it is to the node it goes under
    #[arg(long, default_value = "continuation", value_parser = ["continuation", "annotation", "context", "instruction"])]
    kind: String,
}

/// Adds the node.
pub(crate) fn run(args: Args, desk: &mut Desk<'_>) -> Result<()> {
    let (here, session, actor) = desk.work()?;
    // A position is read when the change is made, so that several processes that talk at once make one chain.
    let parent = match args.at.as_deref() {
        Some(id) => Parent::Node(desk.node(&here, id)?.id),
        None => Parent::Position(session),
    };
    let text = input::text(args.text, "")?;
    let kind = EdgeKind::from_str(&args.kind).unwrap_or(EdgeKind::Continuation);
    let receipt = actor.append(parent, Draft { kind: Some(kind), ..Draft::text(text) })?;
    let local = receipt.nodes.first().map(|node| paint(ID, &node.local)).unwrap_or_default();
    desk.done(Op::Append, &receipt, || match kind {
        EdgeKind::Continuation => format!("{local}  you are here"),
        kind => format!("{local}  {kind} added"),
    })
}
