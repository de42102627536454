//! Drawings of small trees: Graphviz and Mermaid.

use std::io::Write;

use super::{
    outline::{NodeRun, runs},
    tree_export::TreeExport,
};
use crate::interchange::InterchangeError;

/// Runs of a drawing; no program draws more in a way that can be read.
const MAX_DRAWN_RUNS: usize = 2_000;
const MAX_LABEL_CHARS: usize = 50;

fn drawn_runs(export: &mut TreeExport<'_>) -> Result<Vec<NodeRun>, InterchangeError> {
    let runs = runs(export)?;
    if runs.len() > MAX_DRAWN_RUNS {
        return Err(InterchangeError::Format(format!(
            "the tree has {} runs of nodes, a drawing at most {MAX_DRAWN_RUNS}; html and obsidian have no limit",
            runs.len()
        )));
    }
    export.report.written = runs.len() as u64;
    Ok(runs)
}

/// Label of a run: its first words, and the number of nodes if there are several.
fn label(run: &NodeRun) -> String {
    let words = run.label(MAX_LABEL_CHARS);
    if run.nodes.len() > 1 { format!("{words} ({} nodes)", run.nodes.len()) } else { words }
}

/// Replaces characters that end a label in either language.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>()
}

pub(super) fn write_dot(export: &mut TreeExport<'_>, out: &mut dyn Write) -> Result<(), InterchangeError> {
    let runs = drawn_runs(export)?;
    writeln!(out, "digraph tree {{\n  node [shape=box];")?;
    for (index, run) in runs.iter().enumerate() {
        let text = plain(&label(run)).replace('\\', "\\\\").replace('"', "\\\"");
        writeln!(out, "  n{index} [label=\"{text}\", tooltip=\"{}\"];", run.id())?;
        if let Some(parent) = run.parent {
            writeln!(out, "  n{parent} -> n{index};")?;
        }
    }
    Ok(writeln!(out, "}}")?)
}

pub(super) fn write_mermaid(export: &mut TreeExport<'_>, out: &mut dyn Write) -> Result<(), InterchangeError> {
    let runs = drawn_runs(export)?;
    writeln!(out, "flowchart TD")?;
    for (index, run) in runs.iter().enumerate() {
        // Mermaid reads entities with `#`, and no other escape inside of quotes.
        let text = plain(&label(run)).replace('#', "#35;").replace('"', "#quot;");
        let text = text.replace('<', "#lt;").replace('>', "#gt;").replace('`', "#96;");
        writeln!(out, "  n{index}[\"{text}\"]")?;
        if let Some(parent) = run.parent {
            writeln!(out, "  n{parent} --> n{index}")?;
        }
    }
    Ok(())
}
