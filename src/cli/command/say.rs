//! `loom say`: a node after the position, or after another node.

use std::str::FromStr as _;

use loomtree::{
    ops::NodeDraft,
    store::Mutation,
    types::{AgentKind, AuthorType, EdgeKind, Op, Parent},
};

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    input,
    output::{ID, paint},
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
    /// Whose words they are, if not yours
    #[arg(long, value_name = "AGENT")]
    by: Option<String>,
}

/// Adds the node.
pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, session, actor) = cx.ensure_session()?;
    // A position is read when the change is made, so that several processes that talk at once make one chain.
    let parent = match args.at.as_deref() {
        Some(id) => Parent::Node(cx.node(&current, id)?.id),
        None => Parent::Position(session),
    };
    let text = input::read_text(args.text, "")?;
    let kind = EdgeKind::from_str(&args.kind).unwrap_or(EdgeKind::Continuation);
    let mut node = actor.draft(parent, NodeDraft { kind: Some(kind), ..NodeDraft::text(text) });
    if let Some(name) = &args.by {
        let by = cx.loom.agent(name)?;
        node.author = by.id();
        node.author_type = match by.profile.kind {
            AgentKind::Human => AuthorType::Human,
            AgentKind::Model => AuthorType::Model,
        };
    }
    let receipt = actor.commit(Op::Append, vec![Mutation::Append(Box::new(node))])?;
    let local = receipt.nodes.first().map(|node| paint(ID, &node.local)).unwrap_or_default();
    cx.print_receipt(Op::Append, &receipt, || match kind {
        EdgeKind::Continuation => format!("{local}  you are here"),
        kind => format!("{local}  {kind} added"),
    })
}
