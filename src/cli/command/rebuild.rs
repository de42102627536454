//! `loom rebuild`: recomputes derived data: counts, the search index and session state.

use crate::cli::{command_context::CommandContext, error::Result, output::count, progress};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let line = progress::line("counting");
    let rebuilt = cx.loom.store().rebuild();
    line.finish_and_clear();
    let rebuilt = rebuilt?;
    let mut indexed = format!("the words of {} are indexed anew", count(rebuilt.indexed, "node"));
    if rebuilt.registers > 0 {
        indexed.push_str(&format!("; {} made again from the archive", count(rebuilt.registers, "state register")));
    }
    cx.print_value(&rebuilt, || match (rebuilt.nodes, rebuilt.trees) {
        (0, 0) => format!("every count was right; {indexed}"),
        (nodes, trees) => format!("set right: {} and {}; {indexed}", count(nodes, "node"), count(trees, "tree")),
    })
}
