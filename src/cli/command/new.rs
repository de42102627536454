//! `loom new`: a tree with its first words, taken up at once.

use loomtree::{
    ops::NodeDraft,
    types::{Mode, Node, Tree},
};
use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    input,
    output::{ID, paint},
    show::short,
};

/// What `new` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The first words; `-` or nothing: standard input
    text: Option<String>,
    /// What the tree is called [default: the first words]
    #[arg(long)]
    title: Option<String>,
    /// One text instead of turns of a conversation: an edit is then a version, not a branch
    #[arg(long)]
    buffer: bool,
    /// A system prompt for everything models write in this tree
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
}

#[derive(Serialize)]
struct NewTreeJson {
    tree: Tree,
    root: Node,
}

/// Makes the tree and a session at its root.
pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let text = input::read_text(args.text, "")?;
    let mode = if args.buffer { Mode::Buffer } else { Mode::Dialogue };
    let (tree, root) = cx.actor().create_tree(args.title, mode, args.system, NodeDraft::text(text))?;
    cx.actor().start_session(&cx.workspace, tree.id, Some(root.id))?;
    cx.out.committed = true;
    let made = NewTreeJson { tree, root };
    cx.print_value(&made, || {
        format!("{}  a new tree ({}); `loom say` continues it", paint(ID, &made.root.local), short(made.tree.id))
    })
}
