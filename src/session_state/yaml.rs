//! The register as it stands in a prompt: YAML of at most about a thousand tokens, whatever happened.

use serde::Serialize;

use super::{FileChange, SessionState, StateEntry};
use crate::{
    id::SessionId,
    tokens::estimated_tokens,
    types::{Session, Todo, TodoCounts, first_words, one_line},
};

/// Tokens of the register at the most, by the estimate.
pub const MAX_YAML_TOKENS: u32 = 1_000;
/// Characters of the line on what is being worked on.
const FOCUS: usize = 100;
/// Characters of a workspace or model at the most.
const NAME: usize = 120;

/// What is shown beside the register, and kept elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionInfo<'a> {
    /// The session.
    pub session: Option<SessionId>,
    /// Its workspace.
    pub workspace: &'a str,
    /// Its model.
    pub model: Option<&'a str>,
    /// Its turns.
    pub turns: u64,
    /// Its tokens.
    pub tokens: u64,
    /// How many todos are done, and how many open.
    pub todos: Option<(u64, u64)>,
}

impl<'a> SessionInfo<'a> {
    /// A session as it is kept, with the plans of its turns.
    #[must_use]
    pub fn of(session: &'a Session, todos: &[Todo]) -> Self {
        let todos = TodoCounts::of(todos);
        Self {
            session: Some(session.id),
            workspace: &session.workspace,
            model: session.model.as_deref(),
            turns: session.turns,
            tokens: session.tokens,
            todos: (todos.open() + todos.completed > 0).then(|| (todos.completed.into(), todos.open().into())),
        }
    }
}

#[derive(Serialize)]
struct StateYaml {
    session: SessionYaml,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files_touched: Vec<FileChange>,
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
    /// The register in YAML. What is too much for [`MAX_YAML_TOKENS`] is left out, standing orders last and the oldest first.
    #[must_use]
    pub fn yaml(&self, about: &SessionInfo<'_>) -> String {
        let said =
            |list: &[StateEntry]| list.iter().map(|noted| format!("{} (turn {})", noted.text, noted.turn)).collect();
        let focus =
            self.current_focus.as_deref().and_then(|text| text.lines().map(str::trim).find(|line| !line.is_empty()));
        let mut shown = StateYaml {
            session: SessionYaml {
                id: about.session,
                workspace: first_words(about.workspace, NAME),
                model: about.model.map(|model| first_words(model, NAME)),
                turn_count: about.turns,
                total_tokens: about.tokens,
            },
            files_touched: self.files_touched.clone(),
            key_decisions: said(&self.key_decisions),
            constraints: said(&self.constraints),
            current_focus: focus.map(|line| first_words(&one_line(line), FOCUS)),
            errors_resolved: said(&self.errors_resolved),
            todos: about.todos.map(|(done, open)| TodosYaml { done, open }),
        };
        loop {
            // Strings, numbers and lists of them cannot fail to be written.
            let text = serde_yaml::to_string(&shown).unwrap_or_default();
            if estimated_tokens(&text) <= MAX_YAML_TOKENS || !shown.shorten() {
                return text.trim_end().to_owned();
            }
        }
    }
}

impl StateYaml {
    /// Leaves one entry out; `false` if there is none.
    fn shorten(&mut self) -> bool {
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
