//! The commands `help`, `think` and `decide`.

use super::{Answer, AnswerResult, Executor, Position, edits::not_empty, escape::quoted};
use crate::{
    arrow::DecisionKind,
    ops::NodeDraft,
    session_state::{RecordKind, SessionState},
    tools::{self, ErrorCode, HostTool, Tool, ToolError},
    types::{EdgeKind, first_words, one_line},
};

/// Characters of a decision in its reply.
const MAX_DECISION_CHARS: usize = 200;

/// Returns the error for an unknown tool, with the nearest names.
pub(super) fn unknown(name: &str, extras: &[HostTool]) -> ToolError {
    let wanted = name.trim().to_lowercase();
    let failure = ToolError::new(ErrorCode::NotFound, format!("no tool {}", quoted(name)));
    let mut near: Vec<&str> = Tool::ALL.iter().map(|tool| tool.name()).collect();
    near.extend(extras.iter().map(|extra| extra.name.as_str()));
    near.sort_by_key(|tool| strsim::osa_distance(tool, &wanted));
    near.truncate(3);
    failure.hint(format!("did you mean {}? → help lists all", near.join(", ")))
}

impl Executor<'_> {
    pub(super) fn help(&self, name: Option<&str>) -> AnswerResult {
        let extras = self.host.tools();
        let Some(name) = name else { return Ok(tools::overview(self.agent.profile.permissions, extras).into()) };
        if let Some(extra) = self.host_tool(name) {
            return Ok(Answer::about(tools::explain_host_tool(extra), name));
        }
        let wanted = name.trim().to_lowercase();
        let found = Tool::ALL.iter().copied().find(|tool| {
            let spec = tool.spec();
            spec.name == wanted || spec.synonyms.contains(&wanted.as_str())
        });
        match found {
            Some(tool) => {
                // What a person has to type holds this agent's name.
                let own = format!("loom --as {}", one_line(self.agent.name()));
                Ok(Answer::about(tools::explain(tool).replace("loom --as NAME", &own), tool.name()))
            }
            None => Err(unknown(name, extras)),
        }
    }

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
        let mut before: Vec<String> = noted(&self.loom.snapshot()?.session_state(here.session.id)?);
        self.actor().record(RecordKind::Forget, words)?;
        let after = noted(&self.loom.snapshot()?.session_state(here.session.id)?);
        before.retain(|text| !after.contains(text));
        if before.is_empty() {
            let failure =
                ToolError::new(ErrorCode::NotFound, format!("nothing in the session's state says {}", quoted(words)));
            return Err(failure.hint("→ recall summary"));
        }
        let gone: Vec<String> = before.iter().map(|text| quoted(text)).collect();
        Ok(format!("✓ retracted {}", gone.join(" · ")).into())
    }
}
