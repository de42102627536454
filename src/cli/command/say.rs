//! `loom say`: appends a node after the position, or after another node.

use std::str::FromStr as _;

use loomtree::{
    ops::{NodeDraft, require_parent},
    store::StoreError,
    types::{AgentKind, AuthorType, EdgeKind, Op, Parent},
};

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    input,
    output::{ID, paint},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The text; `-` or nothing: standard input, or your editor
    text: Option<String>,
    /// Append to this node [default: your position]
    #[arg(long, value_name = "ID")]
    at: Option<String>,
    /// The kind of the new node
    #[arg(long, default_value = "continuation", value_parser = ["continuation", "annotation", "context", "instruction"])]
    kind: String,
    /// The author, if not you
    #[arg(long, value_name = "AGENT")]
    by: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let (current, session, actor) = cx.ensure_session()?;
    let kind = EdgeKind::from_str(&args.kind).unwrap_or(EdgeKind::Continuation);
    // The commit resolves the position, so that concurrent processes append to one chain.
    let parent = match args.at.as_deref() {
        Some(id) => {
            let node = cx.node(&current, id)?;
            require_parent(&node, kind)?;
            Parent::Node(node.id)
        }
        None => Parent::Position(session),
    };
    let text = input::read_text(args.text, "")?;
    // The node may have been pruned while the text was written.
    if let Parent::Node(id) = parent {
        require_parent(
            &cx.loom.snapshot()?.node(id)?.ok_or(StoreError::NotFound { what: "node", id: id.to_string() })?,
            kind,
        )?;
    }
    let mut node = actor.draft(parent, NodeDraft { kind: Some(kind), ..NodeDraft::text(text) });
    if let Some(name) = &args.by {
        let by = cx.loom.agent(name)?;
        node.author = by.id();
        node.author_type = match by.profile.kind {
            AgentKind::Human => AuthorType::Human,
            AgentKind::Model => AuthorType::Model,
        };
    }
    let receipt = actor.commit(Op::Append, actor.append_mutations(node)?)?;
    let local = receipt.nodes.first().map(|node| paint(ID, &node.local)).unwrap_or_default();
    cx.print_receipt(Op::Append, &receipt, || match kind {
        EdgeKind::Continuation => format!("{local}  you are here"),
        kind => format!("{local}  {kind} added"),
    })
}
