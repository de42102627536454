//! The trace: an agent's last actions in a tree, from the journal and, for reads, from the actions that the executor
//! stores.

use std::collections::HashMap;

use super::counts::count;
use super::escape::quoted;
use crate::{
    id::{AgentId, NodeId, SessionId, TreeId},
    ops::{OpTarget, describe_entry, tree_history},
    store::{Result, Snapshot},
    tools::Tool,
    types::{JournalEntry, Op},
};

/// The maximum number of phrases in a trace.
const MAX_PHRASES: usize = 10;
/// The maximum number of nodes in one phrase.
const MAX_NODES_PER_PHRASE: usize = 5;
/// Journal entries that are read, those of other agents included. The bound matters because every prompt has a trace.
const MAX_JOURNAL_ENTRIES: u32 = 100;
/// Actions that are read.
const MAX_STEPS: usize = 20;

/// Returns whether a tool's use is stored as an action because the tree's journal has no entry of it.
pub(super) const fn is_recorded(tool: Tool) -> bool {
    matches!(tool, Tool::View | Tool::List | Tool::Tree | Tool::Diff | Tool::Read | Tool::Write | Tool::Recall)
}

/// One action with its target and the node that it made. `generated`: a model wrote the node, and there can be several.
#[derive(Debug)]
struct TraceStep {
    verb: &'static str,
    about: Option<String>,
    made: Option<String>,
    generated: bool,
}

/// Steps with the same verb: their targets, each with the nodes that were made from it.
struct TracePhrase {
    verb: &'static str,
    generated: bool,
    targets: Vec<(String, Vec<String>)>,
}

/// An agent's last actions in a tree, the oldest first, each with the reply that asked for it.
#[derive(Debug, Default)]
pub struct RecentActions(Vec<(Option<NodeId>, TraceStep)>);

/// Reads an agent's last actions in a tree, at most 20. What workers of its delegations did is not among them.
///
/// # Errors
/// If the store cannot be read.
pub fn recent_actions(snapshot: &dyn Snapshot, agent: AgentId, tree: TreeId) -> Result<RecentActions> {
    let entries = tree_history(snapshot, tree, 0, MAX_JOURNAL_ENTRIES)?;
    let mut steps: Vec<(u64, TraceStep)> = Vec::new();
    let mut workers: HashMap<SessionId, bool> = HashMap::new();
    for entry in entries.iter().filter(|entry| entry.agent == agent && entry.seq == entry.group) {
        if steps.len() == MAX_STEPS {
            break;
        }
        // Workers of a delegation are the same agent.
        if let Some(session) = entry.session {
            let is_worker = match workers.get(&session) {
                Some(known) => *known,
                None => {
                    let found = snapshot.session(session)?;
                    *workers.entry(session).or_insert(found.is_some_and(|session| session.delegated_by.is_some()))
                }
            };
            if is_worker {
                continue;
            }
        }
        if let Some(step) = step(snapshot, entry)? {
            steps.push((entry.seq, step));
        }
    }
    steps.reverse();
    // An action after entry 7 comes after it; both lists are in order, and the sort keeps that.
    for action in snapshot.memory(agent, tree)?.actions {
        // Older files have host tools among the actions.
        let Some(verb) = past_tense(&action.tool) else { continue };
        steps.push((action.after, TraceStep { verb, about: action.about, made: None, generated: false }));
    }
    steps.sort_by_key(|(seq, _)| *seq);
    steps.drain(..steps.len().saturating_sub(MAX_STEPS));
    // Commands run between the entry of their reply and that of their results.
    let reply = |seq| entries.iter().find(|entry| entry.agent == agent && entry.op == Op::Turn && entry.seq <= seq);
    let steps = steps.into_iter().map(|(seq, step)| (reply(seq).and_then(|entry| entry.node), step));
    Ok(RecentActions(steps.collect()))
}

impl RecentActions {
    /// Formats the actions as at most ten phrases: `viewed a7x2kq, b3k9ze`, `responded to a7x2kq as e6p4tt, f7q8dd`,
    /// `continued from b3k9ze as g8r9ee, h2s3ff`. Those of replies for which `is_shown` is true are left out.
    #[must_use]
    pub fn phrases(&self, is_shown: &dyn Fn(NodeId) -> bool) -> Vec<String> {
        let mut phrases: Vec<TracePhrase> = Vec::new();
        for (_, step) in self.0.iter().filter(|(reply, _)| !reply.is_some_and(is_shown)) {
            let TraceStep { verb, about, made, generated } = step;
            let fits = |last: &TracePhrase| {
                let known = about.as_ref().is_some_and(|about| last.targets.iter().any(|(target, _)| target == about));
                last.verb == *verb && last.generated == *generated && (known || !generated)
            };
            if !phrases.last().is_some_and(fits) {
                phrases.push(TracePhrase { verb, generated: *generated, targets: Vec::new() });
            }
            if let (Some(phrase), Some(about)) = (phrases.last_mut(), about) {
                match phrase.targets.iter_mut().find(|(target, _)| target == about) {
                    Some((_, nodes)) => nodes.extend(made.clone()),
                    None => phrase.targets.push((about.clone(), made.iter().cloned().collect())),
                }
            }
        }
        let from = phrases.len().saturating_sub(MAX_PHRASES);
        phrases[from..].iter().map(TracePhrase::words).collect()
    }
}

impl TracePhrase {
    fn words(&self) -> String {
        let mut left = MAX_NODES_PER_PHRASE;
        let shown = self.targets.iter().rev().take_while(|(_, made)| {
            let fits = left > 0;
            left = left.saturating_sub(1 + made.len());
            fits
        });
        let mut targets: Vec<String> = shown.map(|(target, made)| self.target(target, made)).collect();
        targets.reverse();
        let more = if targets.len() < self.targets.len() { ", …" } else { "" };
        // A comma separates the nodes that were made from one target.
        let made = self.targets.iter().any(|(_, made)| !made.is_empty());
        match targets.join(if made { " and " } else { ", " }) {
            targets if targets.is_empty() => self.verb.to_owned(),
            targets => format!("{} {targets}{more}", self.verb),
        }
    }

    fn target(&self, target: &str, made: &[String]) -> String {
        let from = made.len().saturating_sub(MAX_NODES_PER_PHRASE);
        let more = if from > 0 { ", …" } else { "" };
        // Listed nodes need no count.
        let is_counted = self.generated && (from > 0 || made.is_empty());
        let results = if is_counted { format!(" ({})", count(made.len() as u64, "result")) } else { String::new() };
        let made = if made.is_empty() { String::new() } else { format!(" as {}{more}", made[from..].join(", ")) };
        format!("{target}{results}{made}")
    }
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
    use Op::{Agent, Archive, CreateTree, Delegate, Import, Purge, Rename, Session, Todo, Turn, WriteDocument};
    let is_move = entry.change == "update_session" && entry.node.is_some();
    let own = match entry.op {
        CreateTree | Rename | Archive | Purge | WriteDocument | Agent | Import | Turn | Todo | Delegate => {
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
    let made = told.made.map(|node| node.to_string()).filter(|_| own.is_none());
    Ok(Some(TraceStep { verb: told.verb, about: own.or(about), made, generated: entry.op == Op::Generate }))
}
