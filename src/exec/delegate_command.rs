//! The command `delegate`: begins or resumes a delegation, or lists those of the tree.

use super::{
    Answer, AnswerResult, DelegateRequest, Executor, Position, counts::count, escape::quoted, node_format::id,
};
use crate::{
    arrow::Command,
    tools::{ErrorCode, ToolError},
    types::{Json, first_words, one_line},
};

/// Maximum number of listed delegations, the newest first.
const MAX_LISTED: usize = 20;
/// Maximum characters of a goal.
const MAX_GOAL_CHARS: usize = 80;

impl Executor<'_> {
    pub(super) fn delegate(&mut self, here: &Position, command: &Command) -> AnswerResult {
        let Command::Delegate { goal, context, resume, list, wait } = command else {
            return Err(ToolError::new(ErrorCode::InvalidSyntax, "this is not about a delegation"));
        };
        if *list {
            return self.list_delegations(here);
        }
        if resume.is_some() && context.is_some() {
            let message = "a delegation is resumed with the context that it began with";
            return Err(ToolError::new(ErrorCode::InvalidSyntax, message)
                .hint("→ delegate \"goal\" context:\"…\" begins a new one"));
        }
        let (goal, context) = (goal.as_deref().unwrap_or(""), context.as_deref().unwrap_or(""));
        let resume = resume.as_ref().map(|node| self.resolve_node(here, node)).transpose()?.map(|node| node.id);
        let (at, wait) = (here.position.id, wait.unwrap_or(true));
        let asked = DelegateRequest { at, goal, resume, context, wait };
        Ok(Answer::Delegated(self.host.delegate(&self.actor(), &asked)?))
    }

    fn list_delegations(&self, here: &Position) -> AnswerResult {
        let snapshot = self.loom.snapshot()?;
        let mut lines = Vec::new();
        for (head, last) in snapshot.delegations()? {
            let Some(head) = snapshot.node(head)?.filter(|head| head.tree == here.tree.id) else { continue };
            let field = |json: Option<&Json>, name: &str| {
                json.and_then(|json| json.value().ok()?[name].as_str().map(str::to_owned)).unwrap_or_default()
            };
            let goal = first_words(&one_line(&field(head.metadata.as_ref(), "goal")), MAX_GOAL_CHARS);
            let state = match field(Some(&last), "event").as_str() {
                "ended" => "ended",
                "stopped" => "stopped",
                "refused" => "refused",
                _ => "open",
            };
            lines.push(format!("  {} {state} · {} · {}", id(&head), head.created_at.age(here.now), quoted(&goal)));
        }
        if lines.is_empty() {
            return Ok("no delegations in this tree\n  → delegate \"goal\" begins one".to_owned().into());
        }
        let head = count(lines.len() as u64, "delegation");
        lines.truncate(MAX_LISTED);
        Ok(format!("{head} in this tree, the newest first · → delegate resume:ID\n{}", lines.join("\n")).into())
    }
}
