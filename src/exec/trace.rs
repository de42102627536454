//! The trace: an agent's last actions in a tree, from the journal and, for reads, from the actions that the executor
//! stores.

use super::escape::{count, quoted};
use crate::{
    id::{AgentId, TreeId},
    ops::{OpTarget, describe_entry},
    store::{JournalFilter, Result, Snapshot},
    tools::Tool,
    types::{JournalEntry, Op},
};

/// The maximum number of phrases in a trace.
const MAX_PHRASES: usize = 10;
/// The maximum number of nodes in one phrase.
const MAX_NODES_PER_PHRASE: usize = 5;
/// Journal entries that are read, those of other agents included. The bound matters because every prompt has a trace.
const MAX_JOURNAL_ENTRIES: u32 = 100;
/// Actions that are folded into phrases.
const MAX_STEPS: usize = 20;

/// Returns whether a tool's use is stored as an action because the tree's journal has no entry of it.
pub(super) const fn is_recorded(tool: Tool) -> bool {
    matches!(tool, Tool::View | Tool::List | Tool::Tree | Tool::Diff | Tool::Read | Tool::Write | Tool::Recall)
}

/// One action with its target. `results` counts the results of actions that can have several.
struct TraceStep {
    verb: &'static str,
    about: Option<String>,
    results: Option<u32>,
}

/// Returns an agent's last actions in a tree as phrases, the oldest first: `viewed a7x2kq, b3k9ze`, `continued from
/// b3k9ze (2 results)`. At most ten.
///
/// # Errors
/// If the store cannot be read.
pub fn phrases(snapshot: &dyn Snapshot, agent: AgentId, tree: TreeId) -> Result<Vec<String>> {
    let entries =
        snapshot.journal(JournalFilter { tree: Some(tree), limit: MAX_JOURNAL_ENTRIES, ..JournalFilter::default() })?;
    let mut steps: Vec<(u64, TraceStep)> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.agent == agent && entry.seq == entry.group) {
        if steps.len() == MAX_STEPS {
            break;
        }
        if let Some(step) = step(snapshot, entry)? {
            steps.push((entry.seq, step));
        }
    }
    steps.reverse();
    // An action after entry 7 comes after it; both lists are in order, and the sort keeps that.
    for action in snapshot.memory(agent, tree)?.actions {
        let (verb, about) = match past_tense(&action.tool) {
            Some(verb) => (verb, action.about),
            // One of the host's: its name says more than what it was given.
            None => ("used", Some(action.tool)),
        };
        steps.push((action.after, TraceStep { verb, about, results: None }));
    }
    steps.sort_by_key(|(seq, _)| *seq);
    steps.drain(..steps.len().saturating_sub(MAX_STEPS));
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
    let from = phrases.len().saturating_sub(MAX_PHRASES);
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
    let more = if named.len() > MAX_NODES_PER_PHRASE { ", …" } else { "" };
    let from = named.len().saturating_sub(MAX_NODES_PER_PHRASE);
    format!("{} {}{more}", step.verb, named[from..].join(", "))
}

fn past_tense(tool: &str) -> Option<&'static str> {
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

/// Converts a journal entry to a step; `None` if it is no action on the tree's nodes.
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
