//! The session state as shown in a prompt: YAML of at most [`MAX_YAML_TOKENS`].

use serde::Serialize;

use super::{SessionState, StateEntry};
use crate::{
    id::SessionId,
    tokens::estimated_tokens,
    types::{Session, Todo, TodoCounts, first_words, one_line},
};

/// Maximum length of the YAML in estimated tokens.
pub const MAX_YAML_TOKENS: u32 = 1_000;
/// Maximum length in characters of the current focus.
const MAX_FOCUS_CHARS: usize = 100;
/// Maximum length in characters of a workspace or a model.
const MAX_NAME_CHARS: usize = 120;

/// Data shown with the state but stored elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo<'a> {
    /// ULID of the session.
    pub session: Option<SessionId>,
    /// Workspace of the session.
    pub workspace: &'a str,
    /// Reference of the session's model.
    pub model: Option<&'a str>,
    /// Number of messages of people.
    pub turns: u64,
    /// Number of tokens of all turns, as providers reported them.
    pub tokens: u64,
    /// Number of completed and of open todos.
    pub todos: Option<(u64, u64)>,
}

impl<'a> SessionInfo<'a> {
    /// Collects the data of a session, with the todos of its turns.
    #[must_use]
    pub fn of(session: &'a Session, todos: &[Todo]) -> Self {
        let todos = TodoCounts::of(todos);
        Self {
            session: Some(session.id),
            workspace: &session.workspace,
            model: session.model.as_deref(),
            turns: session.person_turns,
            tokens: session.tokens,
            todos: (todos.open() + todos.completed > 0).then(|| (todos.completed.into(), todos.open().into())),
        }
    }
}

#[derive(Serialize)]
struct StateYaml {
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionYaml>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files_touched: Vec<FileYaml>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    key_decisions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    constraints: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_focus: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors_resolved: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    todos: Option<TodosYaml>,
}

#[derive(Serialize)]
struct FileYaml {
    path: String,
    action: String,
    turn: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<String>,
}

#[derive(Serialize)]
struct SessionYaml {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<SessionId>,
    workspace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    turn_count: u64,
    total_tokens: u64,
}

#[derive(Serialize)]
struct TodosYaml {
    done: u64,
    open: u64,
}

impl SessionState {
    /// Renders the state as YAML. Entries beyond [`MAX_YAML_TOKENS`] are omitted: earlier changes of files first, then files,
    /// constraints last, the oldest first.
    #[must_use]
    pub fn yaml(&self, info: &SessionInfo<'_>) -> String {
        let focus =
            self.current_focus.as_deref().and_then(|text| text.lines().map(str::trim).find(|line| !line.is_empty()));
        let session = SessionYaml {
            id: info.session,
            workspace: first_words(info.workspace, MAX_NAME_CHARS),
            model: info.model.map(|model| first_words(model, MAX_NAME_CHARS)),
            turn_count: info.turns,
            total_tokens: info.tokens,
        };
        StateYaml {
            session: Some(session),
            current_focus: focus.map(|line| first_words(&one_line(line), MAX_FOCUS_CHARS)),
            todos: info.todos.map(|(done, open)| TodosYaml { done, open }),
            ..self.entries_yaml()
        }
        .render()
    }

    /// Renders what a model needs of the state in every prompt: the command that shows a turn, files, decisions, constraints
    /// and resolved errors. The rest is visible elsewhere in the prompt, or of no use to a model. Empty without entries.
    #[must_use]
    pub fn prompt_yaml(&self) -> String {
        let shown = self.entries_yaml();
        let lists = [&shown.key_decisions, &shown.constraints, &shown.errors_resolved];
        if shown.files_touched.is_empty() && lists.iter().all(|list| list.is_empty()) {
            return String::new();
        }
        // The prompt shows the number of no turn.
        let entries = [&self.key_decisions, &self.constraints, &self.errors_resolved].into_iter().flatten();
        let turns = entries.map(|entry| entry.turn).chain(self.files_touched.iter().map(|file| file.turn));
        match turns.max().filter(|newest| *newest > 0) {
            Some(newest) => format!("# → recall turns:{newest}-{newest} shows turn {newest}.\n{}", shown.render()),
            None => shown.render(),
        }
    }

    fn entries_yaml(&self) -> StateYaml {
        let lines =
            |list: &[StateEntry]| list.iter().map(|entry| format!("{} (turn {})", entry.text, entry.turn)).collect();
        let files = self.files_touched.iter().map(|file| FileYaml {
            path: file.path.clone(),
            action: file.action.clone(),
            turn: file.turn,
            earlier: earlier_turns(&file.earlier),
        });
        StateYaml {
            session: None,
            files_touched: files.collect(),
            key_decisions: lines(&self.key_decisions),
            constraints: lines(&self.constraints),
            current_focus: None,
            errors_resolved: lines(&self.errors_resolved),
            todos: None,
        }
    }
}

impl StateYaml {
    fn render(mut self) -> String {
        loop {
            // Strings, numbers and lists of them always serialize.
            let text = serde_yaml::to_string(&self).unwrap_or_default();
            if estimated_tokens(&text) <= MAX_YAML_TOKENS || !self.drop_entry() {
                return text.trim_end().to_owned();
            }
        }
    }

    /// Removes the earlier changes of one file or, without any, one entry. False if there is none.
    fn drop_entry(&mut self) -> bool {
        if let Some(file) = self.files_touched.iter_mut().find(|file| file.earlier.is_some()) {
            file.earlier = None;
            return true;
        }
        if !self.files_touched.is_empty() {
            self.files_touched.remove(0);
            return true;
        }
        let lists = [&mut self.errors_resolved, &mut self.key_decisions, &mut self.constraints];
        let Some(list) = lists.into_iter().find(|list| !list.is_empty()) else { return false };
        list.remove(0);
        true
    }
}

/// Formats turns on one line, consecutive ones as a range: `turns 18-19, 27`. A list of numbers would have a line for each.
/// `None` without any.
fn earlier_turns(turns: &[u64]) -> Option<String> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for turn in turns {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *turn => *last = *turn,
            _ => ranges.push((*turn, *turn)),
        }
    }
    let named =
        ranges.iter().map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") });
    let unit = if turns.len() == 1 { "turn" } else { "turns" };
    (!turns.is_empty()).then(|| format!("{unit} {}", named.collect::<Vec<_>>().join(", ")))
}
