//! The trace: an agent's last actions in a tree, folded from the journal and, for what the journal does not tell, from
//! what is kept beside it.

use super::escape::{count, quoted};
use crate::{
    id::{AgentId, TreeId},
    ops::{OpTarget, describe_entry},
    store::{JournalFilter, Result, Snapshot},
    tools::Tool,
    types::{JournalEntry, Op},
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
struct TraceStep {
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
    let mut steps: Vec<(u64, TraceStep)> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.agent == agent && entry.seq == entry.group) {
        if steps.len() == STEPS {
            break;
        }
        if let Some(step) = step(snapshot, entry)? {
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
        steps.push((action.after, TraceStep { verb, about, results: None }));
    }
    steps.sort_by_key(|(seq, _)| *seq);
    steps.drain(..steps.len().saturating_sub(STEPS));
    let mut phrases: Vec<(TraceStep, Vec<String>)> = Vec::new();
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

fn phrase(step: &TraceStep, named: &[String]) -> String {
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

/// What an entry of the journal tells; `None` for what is no action of the agent's on the tree's nodes.
fn step(snapshot: &dyn Snapshot, entry: &JournalEntry) -> Result<Option<TraceStep>> {
    use Op::{Agent, Archive, CreateTree, Delegate, Import, Plan, Purge, Rename, Session, Turn, WriteDocument};
    let is_move = entry.change == "update_session" && entry.node.is_some();
    let own = match entry.op {
        CreateTree | Rename | Archive | Purge | WriteDocument | Agent | Import | Turn | Plan | Delegate => {
            return Ok(None);
        }
        Session if !is_move => return Ok(None),
        Op::Undo | Op::Redo => entry.local.as_ref().map(ToString::to_string),
        _ => None,
    };
    let told = describe_entry(snapshot, entry)?;
    let about = told.about.map(|about| match about {
        OpTarget::Node(node) => node.to_string(),
        OpTarget::Name(name) => quoted(&name),
    });
    let results = (entry.op == Op::Generate).then_some(1);
    Ok(Some(TraceStep { verb: told.verb, about: own.or(about), results }))
}
