//! The state of a session: what it holds, and how turns and records change it.

use serde::{Deserialize, Serialize};

use super::{CompiledRules, command_errors::PendingError, directives};
use crate::types::{AuthorType, EdgeKind, Json, NewNode, coded, first_words, one_line};

/// Maximum number of entries of each kind. The oldest are dropped; their turns remain in the archive.
pub(super) const MAX_FILES: usize = 20;
pub(super) const MAX_DECISIONS: usize = 10;
pub(super) const MAX_CONSTRAINTS: usize = 10;
/// Maximum number of changes of a file before the last one.
const MAX_EARLIER_CHANGES: usize = 24;
/// Maximum length in characters of an entry or a path.
pub(super) const MAX_ENTRY_CHARS: usize = 200;

coded! {
    /// Kind of an explicitly recorded entry.
    RecordKind {
        /// A decision that holds until it is retracted.
        Decision = "decision", 0;
        /// A constraint on future turns.
        Constraint = "constraint", 1;
        /// Removes the entries that contain the given words.
        Forget = "forget", 2;
    }
}

/// An entry that an agent recorded explicitly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionRecord {
    /// Kind of the entry.
    pub kind: RecordKind,
    /// Text of the entry.
    pub content: String,
    /// Newest turn of the session at that time; 0 before the first.
    pub turn: u64,
}

/// Last change of a file, with the turns of earlier ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileChange {
    /// Path, as passed to the tool.
    pub path: String,
    /// Action, as named by the rule: `edited`, `written`.
    pub action: String,
    /// Turn of the change.
    pub turn: u64,
    /// Turns of at most 24 earlier changes, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<u64>,
}

/// A text with the turn that it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StateEntry {
    /// Text on one line.
    pub text: String,
    /// Turn that the text comes from.
    pub turn: u64,
}

/// State of a session. Each list is in the order of turns, the newest last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SessionState {
    /// Changed files, with the last change of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_touched: Vec<FileChange>,
    /// Decisions, recorded or extracted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_decisions: Vec<StateEntry>,
    /// Constraints, recorded or extracted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<StateEntry>,
    /// Errors of commands that succeeded later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors_resolved: Vec<StateEntry>,
    #[serde(rename = "failing", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pending_errors: Vec<PendingError>,
    /// Newest message of a user. It is not stored: the reader of the state fills it in.
    #[serde(skip)]
    pub current_focus: Option<String>,
}

/// Input of the state: a turn of the session.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TurnRecord<'a> {
    /// Turn number in the session.
    pub turn: u64,
    /// Kind of the author.
    pub author_type: AuthorType,
    /// Kind of the edge to the parent.
    pub kind: EdgeKind,
    /// Text of the node, or result of the tool.
    pub content: &'a str,
    /// Name of the tool that returned the content.
    pub tool: Option<&'a str>,
    /// Id of the call that the node answers.
    pub call: Option<&'a str>,
    /// Metadata of the node, as JSON. The state reads `arguments` (of the call), `failed` (true if the tool reported
    /// failure), and `files` (a list of `path` and `action` from a tool that reports its changes).
    pub metadata: Option<&'a str>,
}

impl<'a> TurnRecord<'a> {
    /// The record of a new node.
    pub(crate) fn of(node: &'a NewNode, turn: u64) -> Self {
        Self {
            turn,
            author_type: node.role(),
            kind: node.kind,
            content: &node.content,
            tool: node.tool.name.as_deref(),
            call: node.tool.call_id.as_deref(),
            metadata: node.metadata.as_ref().map(Json::as_str),
        }
    }

    /// True if the turn may change a state. This check is fast and false for most turns.
    #[must_use]
    pub fn is_relevant(&self, rules: &CompiledRules) -> bool {
        match self.tool {
            Some(tool) => {
                rules.rules.is_relevant_tool(tool) || self.metadata.is_some_and(|text| text.contains("\"files\""))
            }
            None => self.is_spoken() && rules.may_contain_directive(self.content),
        }
    }

    fn is_spoken(&self) -> bool {
        self.author_type == AuthorType::Human && self.kind == EdgeKind::Continuation
    }
}

impl SessionState {
    /// True if the state has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Ingests a turn. Returns true if the state changed.
    ///
    /// `calls` returns the tool calls of the parent node as the provider's JSON. It is called only if the metadata has
    /// no arguments.
    pub fn ingest(
        &mut self,
        rules: &CompiledRules,
        turn: &TurnRecord<'_>,
        calls: impl FnOnce() -> Option<String>,
    ) -> bool {
        if !turn.is_relevant(rules) {
            return false;
        }
        let before = self.clone();
        if turn.tool.is_some() {
            self.ingest_tool_result(&rules.rules, turn, calls);
        } else {
            for (kind, text) in directives::extract(&rules.rules, &rules.triggers, turn.content) {
                self.add_entry(kind, &text, turn.turn);
            }
        }
        *self != before
    }

    /// Adds or removes explicitly recorded entries.
    pub fn record(&mut self, record: &SessionRecord) {
        self.add_entry(record.kind, &record.content, record.turn);
    }

    pub(super) fn add_entry(&mut self, kind: RecordKind, words: &str, turn: u64) {
        let text = entry_text(words);
        let (list, most) = match kind {
            RecordKind::Decision => (&mut self.key_decisions, MAX_DECISIONS),
            RecordKind::Constraint => (&mut self.constraints, MAX_CONSTRAINTS),
            RecordKind::Forget => return self.forget(&text),
        };
        if !text.is_empty() {
            push_bounded(list, most, StateEntry { text, turn }, |old, new| old.text.eq_ignore_ascii_case(&new.text));
        }
    }

    fn forget(&mut self, words: &str) {
        let words = words.to_lowercase();
        if words.is_empty() {
            return;
        }
        for list in [&mut self.key_decisions, &mut self.constraints, &mut self.errors_resolved] {
            list.retain(|noted| !noted.text.to_lowercase().contains(&words));
        }
        self.files_touched.retain(|file| file.path.to_lowercase() != words);
    }

    pub(super) fn add_file_change(&mut self, path: &str, action: &str, turn: u64) {
        let (path, action) = (path_entry(path), entry_text(action));
        if path.is_empty() {
            return;
        }
        let mut earlier = Vec::new();
        if let Some(old) = self.files_touched.iter_mut().find(|file| file.path == path) {
            earlier = std::mem::take(&mut old.earlier);
            if old.turn != turn {
                push_bounded(&mut earlier, MAX_EARLIER_CHANGES, old.turn, |old, new| old == new);
            }
        }
        let change = FileChange { path, action, turn, earlier };
        push_bounded(&mut self.files_touched, MAX_FILES, change, |old, new| old.path == new.path);
    }

    /// Returns the turns after `turn` in which a file was changed.
    pub(crate) fn changes_after(&self, path: &str, turn: u64) -> impl Iterator<Item = u64> {
        let path = path_entry(path);
        let files = self.files_touched.iter().filter(move |file| file.path == path);
        files.flat_map(|file| file.earlier.iter().copied().chain([file.turn])).filter(move |change| *change > turn)
    }
}

/// Appends an entry, replaces an equal one, and drops the oldest entries over `most`.
pub(super) fn push_bounded<T>(list: &mut Vec<T>, most: usize, new: T, same: impl Fn(&T, &T) -> bool) {
    list.retain(|old| !same(old, &new));
    list.push(new);
    let over = list.len().saturating_sub(most);
    list.drain(..over);
}

/// Shortens a text to one line of at most [`MAX_ENTRY_CHARS`].
pub(super) fn entry_text(words: &str) -> String {
    let line = one_line(words);
    if line.chars().nth(MAX_ENTRY_CHARS).is_some() { first_words(&line, MAX_ENTRY_CHARS) } else { line }
}

/// Shortens a path to its end, which identifies it better than its start.
fn path_entry(path: &str) -> String {
    let line = one_line(path);
    match line.char_indices().rev().nth(MAX_ENTRY_CHARS - 1) {
        Some((at, _)) if at > 0 => format!("…{}", &line[at..]),
        _ => line,
    }
}
