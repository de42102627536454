//! `loom new`: creates a tree with its first node, and selects it.

use loomtree::{
    ops::TreeDraft,
    types::{Mode, Node, Tree},
};
use serde::Serialize;

use crate::cli::{
    command_context::CommandContext,
    error::Result,
    input,
    output::{ID, paint},
    show::short_tree_id,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The text of the root node; `-` or nothing: standard input
    text: Option<String>,
    /// The tree's title [default: the first words of the text]
    #[arg(long)]
    title: Option<String>,
    /// Create a buffer, one text instead of a dialogue: an edit then is a version, not a branch
    #[arg(long)]
    buffer: bool,
    /// The system prompt for all models in this tree
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
}

#[derive(Serialize)]
struct NewTreeJson {
    tree: Tree,
    root: Node,
}

/// Creates the tree and a session at its root.
pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let text = input::read_text(args.text, "")?;
    let mode = if args.buffer { Mode::Buffer } else { Mode::Dialogue };
    let mut draft = TreeDraft::new(text).mode(mode);
    (draft.title, draft.system_context) = (args.title, args.system);
    let (tree, root) = cx.actor().create_tree(draft)?;
    cx.actor().start_session(&cx.workspace, tree.id, Some(root.id))?;
    cx.out.committed = true;
    let made = NewTreeJson { tree, root };
    cx.print_value(&made, || {
        format!(
            "{}  a new tree ({}); `loom say` continues it",
            paint(ID, &made.root.local),
            short_tree_id(made.tree.id)
        )
    })
}
