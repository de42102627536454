//! `loom verify`: recomputes every hash and count.

use std::io::Write as _;

use loomtree::store::TreeFilter;

use crate::cli::{
    command_context::CommandContext,
    error::{CliError, Result},
    output::count,
    progress,
    sanitize::one_line,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Checks the database. Damage exits with code 4.
pub(crate) fn run(_: &Args, cx: &mut CommandContext<'_>) -> Result<()> {
    let trees = cx.loom.snapshot()?.trees(TreeFilter { archived: true, limit: 0 })?;
    // Pruned nodes are checked but not counted, so the bar may pass its end.
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
        let verdict = if report.problems.is_empty() { ": no problems" } else { "" };
        writeln!(cx.out, "checked {}{verdict}", checked.join(", "))?;
    }
    match report.problems.len() {
        0 => Ok(()),
        problems => Err(CliError::Damage(problems)),
    }
}
