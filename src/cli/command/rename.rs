//! `loom rename`: changes a tree's title, description and system prompt.

use loomtree::types::{Op, TreePatch};

use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    show::tree_line,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The new title; '': the first words of the root
    title: Option<String>,
    /// The description; '' clears it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The system prompt for all models in this tree; '' clears it
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let current = cx.position()?;
    let words = |text: Option<String>| text.map(|text| Some(text).filter(|text| !text.trim().is_empty()));
    let patch = TreePatch {
        title: words(args.title),
        description: words(args.description),
        system_context: words(args.system),
    };
    if patch == TreePatch::default() {
        return Err(CliError::usage("nothing to change; give a title, --description or --system"));
    }
    let receipt = cx.actor().rename(current.tree.id, patch)?;
    let tree = cx.loom.tree(current.tree.id)?;
    let width = cx.out.width;
    cx.print_receipt(Op::Rename, &receipt, || tree_line(&tree, width))
}
