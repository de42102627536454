//! Notes for a folder of Obsidian: one for each run of nodes without a branch.

use super::{
    outline::{NodeRun, runs},
    tree_export::TreeExport,
};
use crate::interchange::InterchangeError;

const MAX_NAME_CHARS: usize = 60;

/// Returns the notes as names and texts, parents first.
pub(super) fn notes(export: &mut TreeExport<'_>) -> Result<Vec<(String, String)>, InterchangeError> {
    let runs = runs(export)?;
    export.report.written = runs.len() as u64;
    Ok(runs.iter().map(|run| (format!("{}.md", name(run)), note(export, run, &runs))).collect())
}

/// Name of a note: its first words without characters that file names or links refuse, and its id.
fn name(run: &NodeRun) -> String {
    let is_refused = |c: char| c.is_control() || "\\/:*?\"<>|#^[]".contains(c);
    let words: String = run.label(MAX_NAME_CHARS).chars().filter(|c| !is_refused(*c)).collect();
    format!("{} {}", words.trim().trim_start_matches('.'), run.id()).trim().to_owned()
}

fn note(export: &TreeExport<'_>, run: &NodeRun, runs: &[NodeRun]) -> String {
    let mut out = String::from("---\n");
    out.push_str(&format!("id: {}\n", run.id()));
    if let Some(parent) = run.parent {
        out.push_str(&format!("parent: \"[[{}]]\"\n", name(&runs[parent])));
    }
    if let Some(first) = run.nodes.first() {
        out.push_str(&format!("date: {}\n", date_of(first.created_at.as_millis())));
    }
    let bookmark = run.nodes.iter().find_map(|node| node.state.bookmark.as_deref());
    if let Some(bookmark) = bookmark {
        out.push_str(&format!("bookmark: {}\n", serde_json::Value::from(bookmark)));
    }
    out.push_str("---\n");
    for node in &run.nodes {
        out.push_str(&format!("\n#### {} · {}\n\n{}\n", export.speaker(node), node.local, node.content.trim_end()));
    }
    if !run.children.is_empty() {
        out.push_str("\n---\n\n");
    }
    for child in &run.children {
        out.push_str(&format!("- [[{}]]\n", name(&runs[*child])));
    }
    out
}

/// Formats a time as an ISO date with seconds, in UTC.
fn date_of(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis)
        .map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        .unwrap_or_default()
}
