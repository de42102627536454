//! The commands `think` and `decide`.

use super::{AnswerResult, Executor, Position, agent_tree_change::not_empty, escape::quoted};
use crate::{
    arrow::DecisionKind,
    ops::NodeDraft,
    session_state::{RecordKind, SessionRecord, SessionState},
    tools::{ErrorCode, Tool, ToolError},
    types::{EdgeKind, first_words, one_line},
};

/// Characters of a decision in its reply.
const MAX_DECISION_CHARS: usize = 200;

impl Executor<'_> {
    /// Saves a thought as a side node of the position. It is not a turn.
    pub(super) fn think(&self, here: &Position, thought: Option<&str>) -> AnswerResult {
        let thought = thought.unwrap_or("").trim();
        not_empty(thought, "a thought")?;
        let draft = NodeDraft { kind: Some(EdgeKind::Thought), ..NodeDraft::text(thought) };
        self.append(Tool::Think, here.position.clone(), draft)
    }

    /// Records a decision or constraint in the session's state with its turn, or retracts a recorded entry.
    pub(super) fn decide(&self, here: &Position, words: &str, kind: Option<DecisionKind>) -> AnswerResult {
        not_empty(words, "a decision")?;
        let (kind, name) = match kind {
            None | Some(DecisionKind::Decision) => (RecordKind::Decision, "decision"),
            Some(DecisionKind::Constraint) => (RecordKind::Constraint, "constraint"),
            Some(DecisionKind::Retract) => return self.retract(here, words),
        };
        self.actor().record(kind, words)?;
        let words = first_words(&one_line(words), MAX_DECISION_CHARS);
        Ok(format!("✓ recorded {name}: {} (turn {})", quoted(&words), here.session.turns).into())
    }

    fn retract(&self, here: &Position, words: &str) -> AnswerResult {
        let noted = |register: &SessionState| {
            let said =
                [&register.key_decisions, &register.constraints, &register.errors_resolved].into_iter().flatten();
            said.map(|noted| noted.text.clone()).chain(register.files_touched.iter().map(|f| f.path.clone())).collect()
        };
        let mut state = self.loom.snapshot()?.session_state(here.session.id)?;
        let mut before: Vec<String> = noted(&state);
        state.record(&SessionRecord { kind: RecordKind::Forget, content: words.to_owned(), turn: here.session.turns });
        let after = noted(&state);
        before.retain(|text| !after.contains(text));
        if before.is_empty() {
            let failure =
                ToolError::new(ErrorCode::NotFound, format!("nothing in the session's state says {}", quoted(words)));
            return Err(failure.hint("→ recall summary"));
        }
        self.actor().record(RecordKind::Forget, words)?;
        let gone: Vec<String> = before.iter().map(|text| quoted(text)).collect();
        Ok(format!("✓ retracted {}", gone.join(" · ")).into())
    }
}
