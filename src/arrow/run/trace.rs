//! The trace: an agent's last actions in a tree, folded from the journal and, for what the journal does not tell, from
//! what is kept beside it.

use super::frame::count;
use crate::{
    id::{AgentId, NodeId, TreeId},
    model::{EdgeKind, JournalEntry, Op},
    store::{JournalFilter, Result, Snapshot},
    tools::Tool,
};

/// Phrases of a trace.
const PHRASES: usize = 10;
/// Nodes that one phrase names.
const NAMED: usize = 5;
/// Entries of the journal that are looked at: others may have worked here meanwhile. It is part of every prompt.
const ENTRIES: u32 = 100;
/// Actions that are folded: more than ten phrases' worth costs more than it tells.
const STEPS: usize = 20;

/// Whether a tool's use is kept beside the journal: it looked, or changed what belongs to no tree.
pub(super) const fn is_kept(tool: Tool) -> bool {
    matches!(tool, Tool::View | Tool::List | Tool::Tree | Tool::Diff | Tool::Read | Tool::Write | Tool::Recall)
}

/// One action: what was done and to what; `of` counts results where there are several.
struct Step {
    verb: &'static str,
    about: Option<String>,
    results: Option<u32>,
}

/// An agent's last actions in a tree, folded, the oldest first: `viewed a7x2kq, b3k9ze`, `continued from b3k9ze
/// (2 results)`. At most ten.
///
/// # Errors
/// If the store cannot be read.
pub fn phrases(snapshot: &dyn Snapshot, agent: AgentId, tree: TreeId) -> Result<Vec<String>> {
    let entries = snapshot.journal(JournalFilter { tree: Some(tree), before: 0, limit: ENTRIES })?;
    let mut steps: Vec<(u64, Step)> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.agent == agent && entry.seq == entry.group) {
        if steps.len() == STEPS {
            break;
        }
        if let Some(step) = told(snapshot, entry)? {
            steps.push((entry.seq, step));
        }
    }
    steps.reverse();
    // An action after entry 7 comes after it; both lists are in order, and the sort keeps that.
    for action in snapshot.memory(agent, tree)?.actions {
        let (verb, about) = match looked(&action.tool) {
            Some(verb) => (verb, action.about),
            // One of the host's: its name says more than what it was given.
            None => ("used", Some(action.tool)),
        };
        steps.push((action.after, Step { verb, about, results: None }));
    }
    steps.sort_by_key(|(seq, _)| *seq);
    steps.drain(..steps.len().saturating_sub(STEPS));
    let mut phrases: Vec<(Step, Vec<String>)> = Vec::new();
    for (_, step) in steps {
        match phrases.last_mut() {
            Some((last, named)) if last.verb == step.verb && last.results.is_none() == step.results.is_none() => {
                match (last.results.as_mut(), &step.about) {
                    (Some(results), about) if *about == last.about => *results += 1,
                    (Some(_), _) => phrases.push((step, Vec::new())),
                    (None, Some(about)) if !named.contains(about) => named.push(about.clone()),
                    (None, _) => {}
                }
            }
            _ => {
                let named = step.about.iter().cloned().collect();
                phrases.push((step, named));
            }
        }
    }
    let from = phrases.len().saturating_sub(PHRASES);
    Ok(phrases[from..].iter().map(|(step, named)| phrase(step, named)).collect())
}

fn phrase(step: &Step, named: &[String]) -> String {
    if let Some(results) = step.results {
        let about = step.about.as_deref().unwrap_or("");
        return format!("{} {about} ({})", step.verb, count(results, "result"));
    }
    if named.is_empty() {
        return step.verb.to_owned();
    }
    let more = if named.len() > NAMED { ", …" } else { "" };
    let from = named.len().saturating_sub(NAMED);
    format!("{} {}{more}", step.verb, named[from..].join(", "))
}

fn looked(tool: &str) -> Option<&'static str> {
    Some(match tool {
        "view" => "viewed",
        "list" => "listed",
        "tree" => "drew the tree at",
        "diff" => "compared",
        "read" => "read",
        "write" => "wrote",
        "recall" => "recalled",
        _ => return None,
    })
}

/// What an entry of the journal tells; `None` for what is no action.
fn told(snapshot: &dyn Snapshot, entry: &JournalEntry) -> Result<Option<Step>> {
    let node = entry.node.map(|id| snapshot.node(id)).transpose()?.flatten();
    let local = |id: Option<NodeId>| -> Result<Option<String>> {
        let node = id.map(|id| snapshot.node(id)).transpose()?.flatten();
        Ok(node.map(|node| node.local.to_string()))
    };
    let own = node.as_ref().map(|node| node.local.to_string());
    let parent = node.as_ref().and_then(|node| node.parent);
    let edited = node.as_ref().and_then(|node| node.edited_from);
    let thought = node.as_ref().is_some_and(|node| node.kind == EdgeKind::Thought);
    let (verb, about) = match (entry.op, entry.change.as_str()) {
        (Op::Append, _) if thought => ("thought at", local(parent)?),
        (Op::Append, _) => ("responded to", local(parent)?),
        (Op::Annotate, _) => ("annotated", local(parent)?),
        (Op::Generate, _) => {
            return Ok(Some(Step { verb: "continued from", about: local(parent)?, results: Some(1) }));
        }
        (Op::Edit, _) => ("edited", local(edited)?),
        (Op::Split, _) => ("split", local(edited)?),
        (Op::Merge, _) => ("merged into", own),
        (Op::Bookmark, _) => ("bookmarked", own),
        (Op::Prune, _) => ("pruned", own),
        (Op::Restore, _) => ("restored", own),
        (Op::Exclude, _) => ("excluded", own),
        (Op::Include, _) => ("included", own),
        (Op::Link, _) => ("linked", own),
        (Op::Unlink, _) => ("unlinked", own),
        (Op::Copy, _) => ("copied to", own),
        (Op::Move, _) => ("moved to", own),
        (Op::Undo, _) => ("took back", own),
        (Op::Redo, _) => ("did again", own),
        (Op::Session, "update_session") if own.is_some() => ("switched to", own),
        (Op::Memory, "pin") => ("pinned", own),
        (Op::Memory, "unpin") => ("dropped pin", own),
        (Op::Memory, "stash") => ("stashed", own),
        (Op::Memory, "unstash") => ("dropped a stash", None),
        (Op::Memory, "record") => ("decided", None),
        _ => return Ok(None),
    };
    Ok(Some(Step { verb, about, results: None }))
}
