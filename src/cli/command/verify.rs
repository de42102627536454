//! `loom verify`: every hash and count computed again.

use std::io::Write as _;

use loomtree::store::TreeFilter;

use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    output::count,
    progress,
    sanitize::one_line,
};

/// What `verify` reads.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Checks the database; damage is exit code 4.
pub(crate) fn run(_: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let trees = cx.loom.snapshot()?.trees(TreeFilter { archived: true, limit: 0 })?;
    // Pruned nodes are checked too but not counted, so the bar may go a little past its end.
    let bar = progress::bar("checking", trees.iter().map(|tree| tree.counts.nodes).sum(), false);
    let report = cx.loom.store().verify(&mut |nodes| bar.set_position(nodes))?;
    bar.finish_and_clear();
    if cx.out.json {
        cx.out.json(&report)?;
    } else {
        for problem in &report.problems {
            writeln!(cx.out, "{}", one_line(problem))?;
        }
        let checked =
            [count(report.trees, "tree"), count(report.nodes, "node"), format!("{} journal entries", report.entries)];
        let verdict = if report.problems.is_empty() { ": all is well" } else { "" };
        writeln!(cx.out, "checked {}{verdict}", checked.join(", "))?;
    }
    match report.problems.len() {
        0 => Ok(()),
        problems => Err(CliError::Damage(problems)),
    }
}
