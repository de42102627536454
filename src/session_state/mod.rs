//! The state register: what of a session stays in view for ever, extracted by rules and never by a model.
//!
//! A [`SessionState`] hears the session's turns one after another, and what was recorded on purpose, and keeps the little
//! that must not be forgotten: standing orders as they were said, decisions, which files were touched, which errors
//! were resolved. What it takes for such is data ([`Rules`]), which a host extends. It is kept with the session by the
//! commit that brings the turn, and it follows from the archive alone, so that it can be made again.
//!
//! The newest message, the figures of the session and the todos are no part of what is kept: they are looked up where it
//! is shown, since they change with every turn and stand elsewhere.

mod calls;
mod directives;
mod rules;
mod yaml;

use serde::{Deserialize, Serialize};

pub use directives::Directive;
pub use rules::{CompiledRules, ExtractionRules, FileWriteTool};
pub use yaml::{MAX_YAML_TOKENS, SessionInfo};

use crate::types::{AuthorType, EdgeKind, coded, first_words, one_line};

/// Entries that are kept of each kind; older ones go. What was said stays in the archive.
const FILES: usize = 20;
const DECISIONS: usize = 10;
const CONSTRAINTS: usize = 10;
const ERRORS: usize = 5;
/// Commands that failed and may yet succeed.
const FAILING: usize = 10;
/// Characters of an entry at the most, and of a path.
const LONGEST: usize = 200;

coded! {
    /// What is recorded on purpose.
    RecordKind {
        /// What was decided.
        Decision = "decision", 0;
        /// What holds from now on.
        Constraint = "constraint", 1;
        /// Lets go of entries that hold these words.
        Forget = "forget", 2;
    }
}

/// Something that was recorded on purpose, beside what was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// What it is.
    pub kind: RecordKind,
    /// The words.
    pub content: String,
    /// The session's newest turn when it was recorded; 0 before the first.
    pub turn: u64,
}

/// A file, and what was done to it last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Its path, as the tool was given it.
    pub path: String,
    /// What was done, as the rule has it: `edited`, `written`.
    pub action: String,
    /// In which turn.
    pub turn: u64,
}

/// Words with the turn they come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateEntry {
    /// The words, on one line.
    pub text: String,
    /// The turn.
    pub turn: u64,
}

/// A command that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PendingError {
    command: String,
    /// The line of its output that says most.
    error: String,
    turn: u64,
}

/// The register of a session; each list is in the order of turns, the newest last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionState {
    /// Files that were written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_touched: Vec<FileChange>,
    /// What was decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_decisions: Vec<StateEntry>,
    /// What holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<StateEntry>,
    /// What failed and works now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors_resolved: Vec<StateEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failing: Vec<PendingError>,
    /// The newest message of a person, whole. It is not kept here: whoever reads the register looks it up.
    #[serde(skip)]
    pub current_focus: Option<String>,
}

/// A turn as the register hears it.
#[derive(Debug, Clone, Copy)]
pub struct TurnRecord<'a> {
    /// Its number.
    pub turn: u64,
    /// Who speaks.
    pub author_type: AuthorType,
    /// How the node hangs on its parent.
    pub kind: EdgeKind,
    /// What is said, or what the tool answered.
    pub content: &'a str,
    /// The tool that answers.
    pub tool: Option<&'a str>,
    /// The call that it answers.
    pub call: Option<&'a str>,
    /// What is kept beside the node, as JSON. Of it are read `arguments` (what the tool was called with), `failed`
    /// (whether it did not do what it was asked for), and `files` (a list of `path` and `action`, for a tool that
    /// itself knows what it touched).
    pub metadata: Option<&'a str>,
}

impl TurnRecord<'_> {
    /// Whether a register could learn anything from this turn: a quick look, which most turns do not pass.
    #[must_use]
    pub fn tells(&self, ears: &CompiledRules) -> bool {
        match self.tool {
            Some(tool) => ears.rules.knows(tool) || self.metadata.is_some_and(|text| text.contains("\"files\"")),
            None => self.is_spoken() && ears.may_order(self.content),
        }
    }

    fn is_spoken(&self) -> bool {
        self.author_type == AuthorType::Human && self.kind == EdgeKind::Continuation
    }
}

impl SessionState {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes in a turn. `calls` gives the calls that the node above made, as the provider's JSON; it is asked only where
    /// the turn does not tell itself what the tool was called with. Returns whether anything changed.
    pub fn hear(
        &mut self,
        ears: &CompiledRules,
        heard: &TurnRecord<'_>,
        calls: impl FnOnce() -> Option<String>,
    ) -> bool {
        if !heard.tells(ears) {
            return false;
        }
        let before = self.clone();
        if heard.tool.is_some() {
            self.answered(&ears.rules, heard, calls);
        } else {
            for (order, said) in directives::standing(&ears.rules, heard.content) {
                self.note(order, &said, heard.turn);
            }
        }
        *self != before
    }

    /// Takes in what was recorded on purpose.
    pub fn record(&mut self, record: &SessionRecord) {
        self.note(record.kind, &record.content, record.turn);
    }

    fn note(&mut self, kind: RecordKind, words: &str, turn: u64) {
        let text = entry(words);
        let (list, most) = match kind {
            RecordKind::Decision => (&mut self.key_decisions, DECISIONS),
            RecordKind::Constraint => (&mut self.constraints, CONSTRAINTS),
            RecordKind::Forget => return self.forget(&text),
        };
        if !text.is_empty() {
            keep(list, most, StateEntry { text, turn }, |old, new| old.text.eq_ignore_ascii_case(&new.text));
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

    fn touch(&mut self, path: &str, action: &str, turn: u64) {
        let (path, action) = (path_entry(path), entry(action));
        if !path.is_empty() {
            keep(&mut self.files_touched, FILES, FileChange { path, action, turn }, |old, new| old.path == new.path);
        }
    }

    fn failed(&mut self, command: &str, error: String, turn: u64) {
        let failing = PendingError { command: entry(command), error, turn };
        keep(&mut self.failing, FAILING, failing, |old, new| old.command == new.command);
    }

    /// A command succeeded: if it is one that failed before, that is resolved.
    fn succeeded(&mut self, command: &str, turn: u64) {
        let command = entry(command);
        let Some(at) = self.failing.iter().position(|failing| failing.command == command) else { return };
        let PendingError { error, turn: failed, .. } = self.failing.remove(at);
        // What was touched in between is what may have mended it.
        let by = self.files_touched.iter().rev().find(|file| file.turn > failed);
        let by = by.map(|file| format!("after {} was {}, ", file.path, file.action)).unwrap_or_default();
        let text = entry(&format!("{error} — fixed: {by}`{command}` works"));
        keep(&mut self.errors_resolved, ERRORS, StateEntry { text, turn }, |old, new| old.text == new.text);
    }
}

/// Adds an entry at the end, in the place of one that says the same, and lets go of the oldest.
fn keep<T>(list: &mut Vec<T>, most: usize, new: T, same: impl Fn(&T, &T) -> bool) {
    list.retain(|old| !same(old, &new));
    list.push(new);
    let over = list.len().saturating_sub(most);
    list.drain(..over);
}

/// Words as an entry has them: on one line, and not too long.
fn entry(words: &str) -> String {
    let line = one_line(words);
    if line.chars().nth(LONGEST).is_some() { first_words(&line, LONGEST) } else { line }
}

/// A path as an entry has it. Its end says more than its beginning.
fn path_entry(path: &str) -> String {
    let line = one_line(path);
    match line.char_indices().rev().nth(LONGEST - 1) {
        Some((at, _)) if at > 0 => format!("…{}", &line[at..]),
        _ => line,
    }
}

#[cfg(test)]
mod tests;
