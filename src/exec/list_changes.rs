//! The command `list changes`: the newest changes of a tree. The messages of its conversations are one line an author,
//! since a chat has more of them than of all else.

use std::collections::{HashMap, HashSet, hash_map::Entry};

use super::{Answer, AnswerResult, Executor, Position, counts::count, escape::quoted, list::titled};
use crate::{
    arrow::NodeRef,
    id::{AgentId, LocalId, NodeId, SessionId},
    ops::{describe_entry, tree_history},
    session_state::{RecordKind, SessionRecord},
    store::Snapshot,
    tools::ToolError,
    types::{EdgeKind, JournalEntry, Op, first_words, one_line},
};

/// Journal entries that are read.
const MAX_JOURNAL_ENTRIES: u32 = 400;
/// Maximum characters of a decision.
const MAX_DECISION_CHARS: usize = 80;

/// Messages of an author: the place of its line, and the newest and the oldest message.
struct AuthorMessages {
    author: AgentId,
    line: usize,
    number: u64,
    newest: LocalId,
    oldest: LocalId,
}

impl AuthorMessages {
    fn words(&self) -> String {
        match self.number {
            1 => format!("wrote 1 message: [{}]", self.newest),
            number => format!("wrote {}: [{}] to [{}]", count(number, "message"), self.oldest, self.newest),
        }
    }
}

impl Executor<'_> {
    /// Lists the newest changes of the tree, or those of a node.
    pub(super) fn list_changes(&self, here: &Position, node: Option<&NodeRef>) -> AnswerResult {
        let only = node.map(|node| self.resolve_node(here, node)).transpose()?;
        let snapshot = self.loom.snapshot()?;
        let entries = tree_history(&*snapshot, here.tree.id, 0, MAX_JOURNAL_ENTRIES)?;
        let names = self.author_names()?;
        let who = |agent: AgentId| if agent == self.agent.id() { "you" } else { names.name(agent) };
        let mut owners: HashMap<SessionId, Option<AgentId>> = HashMap::new();
        let (mut lines, mut messages): (Vec<String>, Vec<AuthorMessages>) = Default::default();
        let (mut bookmarks, mut restored): (HashSet<Option<NodeId>>, HashSet<Option<NodeId>>) = Default::default();
        let undone = undone_groups(&entries);
        let decisions = decisions(&*snapshot, &entries, &undone)?;
        for entry in entries.iter().filter(|entry| only.as_ref().is_none_or(|node| entry.node == Some(node.id))) {
            let line = |words: &str| format!("  {} · {} {words}", entry.at.age(here.now), who(entry.agent));
            if let Some(message) = message(&*snapshot, entry, &mut owners)? {
                match messages.iter_mut().find(|known| known.author == entry.agent) {
                    Some(known) => (known.number, known.oldest) = (known.number + 1, message),
                    None => {
                        let (author, at) = (entry.agent, lines.len());
                        let (newest, oldest) = (message.clone(), message);
                        messages.push(AuthorMessages { author, line: at, number: 1, newest, oldest });
                        lines.push(line(""));
                    }
                }
            } else if is_change(entry) && !self.reverts_stash_of_other(&entries, entry) || self.is_own_record(entry) {
                let words = match decisions.get(&entry.seq) {
                    Some(words) => words.clone(),
                    None => describe_entry(&*snapshot, entry)?.words(&|local| format!("[{local}]"), &quoted),
                };
                // The node has the label of its newest bookmark.
                let is_newest = entry.change == "set_bookmark" && bookmarks.insert(entry.node);
                let node = entry.node.filter(|_| is_newest && entry.op == Op::Bookmark);
                let node = node.map(|node| snapshot.node(node)).transpose()?.flatten();
                let label = node.and_then(|node| node.state.bookmark).filter(|label| !label.is_empty());
                let label = label.map(|label| format!(" {}", quoted(&label))).unwrap_or_default();
                let is_undone = entry.target.is_none() && undone.contains(&entry.group);
                if entry.op == Op::Restore && !is_undone {
                    restored.insert(entry.node);
                }
                let mark = match entry.op {
                    _ if is_undone => " (undone)",
                    Op::Prune if restored.remove(&entry.node) => " (restored)",
                    _ => "",
                };
                lines.push(line(&format!("{words}{label}{mark}")));
            }
        }
        for author in messages {
            lines[author.line].push_str(&author.words());
        }
        let mut text = titled("change", lines.len(), &lines, "");
        if entries.len() as u64 >= u64::from(MAX_JOURNAL_ENTRIES) {
            text.push_str("\n  (older ones are not listed)");
        }
        Ok(Answer::about(text, only.map_or_else(|| "changes".to_owned(), |node| node.local.to_string())))
    }

    /// True if an entry is or reverts a stash, and its agent is not this one. Other agents do not see stashes.
    fn reverts_stash_of_other(&self, entries: &[JournalEntry], entry: &JournalEntry) -> bool {
        let mut reverted = entry;
        while let Some(target) = reverted.target {
            match entries.iter().find(|entry| entry.group == target) {
                Some(entry) => reverted = entry,
                None => return false,
            }
        }
        matches!(reverted.op, Op::Stash | Op::Unstash) && entry.agent != self.agent.id()
    }

    /// True for a decision, and for a stash of this agent: they change no node.
    fn is_own_record(&self, entry: &JournalEntry) -> bool {
        let is_stash = matches!(entry.op, Op::Stash | Op::Unstash) && entry.agent == self.agent.id();
        entry.seq == entry.group && (entry.op == Op::Record || is_stash)
    }
}

/// Returns the groups of the entries that are undone now. `entries`: the newest first.
fn undone_groups(entries: &[JournalEntry]) -> HashSet<u64> {
    let mut reverted = HashSet::new();
    for entry in entries {
        // An undo that was reverted reverts nothing.
        if let Some(target) = entry.target.filter(|_| !reverted.contains(&entry.group)) {
            reverted.insert(target);
        }
    }
    reverted
}

/// Returns the descriptions of decisions by the sequence number of their entries. A session's records have no entry number;
/// the newest belongs to the newest entry that is not undone. `entries`: the newest first.
fn decisions(
    snapshot: &dyn Snapshot,
    entries: &[JournalEntry],
    undone: &HashSet<u64>,
) -> Result<HashMap<u64, String>, ToolError> {
    let mut records: HashMap<SessionId, Vec<SessionRecord>> = HashMap::new();
    let mut described = HashMap::new();
    let is_record = |entry: &&JournalEntry| entry.change == "record" && !undone.contains(&entry.group);
    for entry in entries.iter().filter(is_record) {
        let Some(session) = entry.session else { continue };
        let left = match records.entry(session) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(snapshot.records(session)?),
        };
        let Some(record) = left.pop() else { continue };
        let verb = match record.kind {
            RecordKind::Decision => "decided",
            RecordKind::Constraint => "decided constraint",
            RecordKind::Forget => "retracted",
        };
        let text = quoted(&first_words(&one_line(&record.content), MAX_DECISION_CHARS));
        described.insert(entry.seq, format!("{verb} {text}"));
    }
    Ok(described)
}

/// Returns the message that an entry appended to a conversation: one that its agent sent to another's session, or a reply of
/// an agent's turn. `None` for other entries. `owners`: the agents of the sessions read so far.
fn message(
    snapshot: &dyn Snapshot,
    entry: &JournalEntry,
    owners: &mut HashMap<SessionId, Option<AgentId>>,
) -> Result<Option<LocalId>, ToolError> {
    let is_message = match entry.op {
        _ if entry.change != "append" => false,
        Op::Append => match entry.session {
            Some(session) => {
                let owner = match owners.get(&session) {
                    Some(known) => *known,
                    None => {
                        let owner = snapshot.session(session)?.map(|session| session.agent);
                        *owners.entry(session).or_insert(owner)
                    }
                };
                owner.is_some_and(|owner| owner != entry.agent)
            }
            None => false,
        },
        Op::Turn => {
            let node = entry.node.map(|node| snapshot.node(node)).transpose()?.flatten();
            node.is_some_and(|node| node.kind == EdgeKind::Continuation && !node.content.trim().is_empty())
        }
        _ => false,
    };
    Ok(entry.local.clone().filter(|_| is_message))
}

/// Returns whether a list of changes names the entry: an operation on the tree's content.
#[must_use]
pub fn is_change(entry: &JournalEntry) -> bool {
    let silent = matches!(
        entry.op,
        Op::Session | Op::Turn | Op::Todo | Op::Memory | Op::Pin | Op::Unpin | Op::Stash | Op::Unstash | Op::Record
    );
    // Links and marks of an import come after its nodes.
    let is_rest = entry.op == Op::Import && !matches!(entry.change.as_str(), "create_tree" | "append");
    !silent && !is_rest && entry.op != Op::Delegate && entry.seq == entry.group
}
