//! The command `todo`: the plan of a turn. [`Executor::in_turn`] sets the turn.

use super::{AnswerResult, Executor, counts::count, escape::quoted};
use crate::{
    arrow::Command,
    tools::{ErrorCode, ToolError},
    types::{Timestamp, Todo, TodoCounts, TodoDraft, TodoStatus, first_words},
};

/// Characters of an item's title in replies about other items.
const MAX_TITLE_CHARS: usize = 100;
/// Characters of an outcome in a list.
const MAX_OUTCOME_CHARS: usize = 200;

/// Returns an item's name for lists: its number and title.
#[must_use]
pub fn named(todo: &Todo) -> String {
    format!("{} {}", todo.number, quoted(&first_words(&todo.title, MAX_TITLE_CHARS)))
}

/// Formats the progress of a plan: `2 of 5 done · 1 cancelled`.
#[must_use]
pub fn progress(counts: TodoCounts) -> String {
    let cancelled = if counts.cancelled > 0 { format!(" · {} cancelled", counts.cancelled) } else { String::new() };
    format!("{} of {} done{cancelled}", counts.completed, counts.total)
}

impl Executor<'_> {
    pub(super) fn todo(&mut self, command: &Command) -> AnswerResult {
        let Command::Todo { add, done, cancel, resume, outcome, status } = command else {
            return Err(ToolError::new(ErrorCode::InvalidSyntax, "this is not about a plan"));
        };
        let outcome = outcome.as_deref();
        match (done, cancel) {
            (Some(number), _) => self.finish_todo(*number, outcome, TodoStatus::Completed),
            (_, Some(number)) => self.finish_todo(*number, outcome, TodoStatus::Cancelled),
            _ if *resume => self.resume_todos(),
            _ if !add.is_empty() => self.add_todos(add, matches!(parse_status(status.as_deref())?, TodoFields::All)),
            _ => self.todos(status.as_deref()),
        }
    }

    fn todos(&self, status: Option<&str>) -> AnswerResult {
        let wanted = parse_status(status)?;
        if matches!(wanted, TodoFields::History) {
            return self.todo_history();
        }
        let plan = self.loom.todos(self.scope)?;
        if plan.is_empty() {
            let left = self.loom.open_todos(self.scope)?;
            let hint = match left.len() {
                0 => "→ todo add \"…\" begins one".to_owned(),
                n => format!("{} left open by earlier turns · → todo resume", count(n as u64, "item")),
            };
            return Ok(format!("Todos: no plan in this turn\n  {hint}").into());
        }
        let shown: Vec<&Todo> = plan.iter().filter(|todo| wanted.fits(todo.status)).collect();
        let counts = TodoCounts::of(&plan);
        let mut text = format!("Todos: {}", progress(counts));
        if matches!(wanted, TodoFields::All) {
            text.push_str(&format!(" · {} in progress · {} pending", counts.in_progress, counts.pending));
        }
        for todo in shown {
            text.push_str(&if matches!(wanted, TodoFields::All) {
                whole_item(todo)
            } else {
                item(todo, MAX_OUTCOME_CHARS)
            });
        }
        Ok(text.into())
    }

    /// Lists the plans of all turns of the session.
    fn todo_history(&self) -> AnswerResult {
        let all = self.loom.snapshot()?.todos(self.scope.session, None)?;
        if all.is_empty() {
            return Ok("Todos: no turn of this session had a plan".to_owned().into());
        }
        let plans: Vec<String> = all
            .chunk_by(|one, next| one.turn == next.turn)
            .map(|plan| {
                let items: String = plan.iter().map(whole_item).collect();
                format!("Turn {}: {}{items}", plan[0].turn, progress(TodoCounts::of(plan)))
            })
            .collect();
        Ok(plans.join("\n").into())
    }

    /// Replaces the id of an item by its number in the arguments of a call, if there is one.
    pub(super) fn replace_todo_id(&self, given: &mut serde_json::Map<String, serde_json::Value>) {
        let field = |name: &&str| given.get(*name)?.as_str().map(|id| ((*name).to_owned(), id.trim().parse()));
        let Some((field, Ok(id))) = ["todoId", "todo"].iter().find_map(field) else { return };
        let plan = self.loom.todos(self.scope).unwrap_or_default();
        if let Some(todo) = plan.iter().find(|todo| todo.id == id) {
            given.insert(field, todo.number.into());
        }
    }

    fn add_todos(&mut self, items: &[TodoDraft], with_ids: bool) -> AnswerResult {
        let actor = self.actor();
        let before = self.loom.todos(self.scope)?;
        if items.iter().any(|item| item.title.trim().is_empty()) {
            return Err(ToolError::new(ErrorCode::InvalidSyntax, "an item needs a title")
                .hint("→ todo add \"what is to be done\""));
        }
        let plan = actor.add_todos(self.scope, items)?;
        let new: Vec<&Todo> = plan.iter().filter(|todo| before.iter().all(|known| known.id != todo.id)).collect();
        let names: Vec<String> = new.iter().map(|todo| named(todo)).collect();
        self.planned.extend(new.iter().map(|todo| todo.id));
        let open = TodoCounts::of(&plan).open();
        let mut text = format!("✓ planned {}: {} · {open} open", count(new.len() as u64, "item"), names.join(" · "));
        if with_ids {
            let ids: Vec<String> = new.iter().map(|todo| format!("{} {}", todo.number, todo.id)).collect();
            text.push_str(&format!("\n  ids: {}", ids.join(" · ")));
        }
        Ok(text.into())
    }

    /// Completes or cancels an item.
    fn finish_todo(&self, number: u32, outcome: Option<&str>, status: TodoStatus) -> AnswerResult {
        let verb = if status == TodoStatus::Completed { "done" } else { "cancel" };
        let plan = self.loom.todos(self.scope)?;
        let todo = plan.iter().find(|todo| todo.number == number).ok_or_else(|| unknown_item(number, &plan))?;
        if !todo.status.is_open() {
            let said = todo.outcome.as_deref().unwrap_or("");
            let message = format!(
                "{} is {} already: {}",
                named(todo),
                todo.status,
                quoted(&first_words(said, MAX_OUTCOME_CHARS))
            );
            return Err(ToolError::new(ErrorCode::Conflict, message));
        }
        let outcome = outcome.map(str::trim).filter(|outcome| !outcome.is_empty()).ok_or_else(|| {
            let (message, what) = match status {
                TodoStatus::Completed => ("an item is done with an outcome", "what came of it"),
                _ => ("an item is cancelled with a reason", "why"),
            };
            ToolError::new(ErrorCode::InvalidSyntax, message).hint(format!("→ todo {verb} {number} \"{what}\""))
        })?;
        if status == TodoStatus::Completed && self.scope.turn > 0 && self.planned.contains(&todo.id) {
            let message = format!("{} was planned in this very batch: nothing can be done of it yet", named(todo));
            return Err(ToolError::new(ErrorCode::Conflict, message).hint("do it, and say what came of it afterwards"));
        }
        self.actor().finish_todo(todo.id, status, outcome)?;
        let plan = self.loom.todos(self.scope)?;
        let next = plan.iter().find(|todo| todo.status.is_open());
        let next = next.map(|next| format!(" · next: {}", named(next))).unwrap_or_default();
        let said = if status == TodoStatus::Completed { "done" } else { "cancelled" };
        Ok(format!("✓ {said} {} · {} left{next}", named(todo), TodoCounts::of(&plan).open()).into())
    }

    fn resume_todos(&self) -> AnswerResult {
        let taken = self.actor().resume_todos(self.scope)?;
        if taken.is_empty() {
            return Err(ToolError::new(ErrorCode::NotFound, "no earlier turn of this session left anything open"));
        }
        let plan = self.loom.todos(self.scope)?;
        let mut text = format!("✓ took up {} of an earlier turn", count(taken.len() as u64, "item"));
        for todo in plan.iter().filter(|todo| taken.iter().any(|old| old.id == todo.id)) {
            text.push_str(&item(todo, MAX_OUTCOME_CHARS));
        }
        let left = self.loom.open_todos(self.scope)?.len();
        if left > 0 {
            text.push_str(&format!("\n  {left} more of turns before that · → todo resume"));
        }
        Ok(text.into())
    }
}

/// The filter of a list by status.
enum TodoFields {
    Open,
    All,
    /// Every plan of the session.
    History,
    Only(TodoStatus),
}

impl TodoFields {
    fn fits(&self, status: TodoStatus) -> bool {
        match self {
            Self::Open => status.is_open(),
            Self::All | Self::History => true,
            Self::Only(only) => status == *only,
        }
    }
}

fn parse_status(status: Option<&str>) -> Result<TodoFields, ToolError> {
    let Some(said) = status else { return Ok(TodoFields::Open) };
    let word = said.trim().to_ascii_lowercase().replace([' ', '-'], "_");
    Ok(match word.as_str() {
        "all" => TodoFields::All,
        "history" => TodoFields::History,
        "open" | "remaining" => TodoFields::Open,
        "done" => TodoFields::Only(TodoStatus::Completed),
        word => TodoFields::Only(word.parse().map_err(|_| {
            let failure = ToolError::new(ErrorCode::InvalidSyntax, format!("{} is no state of an item", quoted(said)));
            failure.hint("open, pending, in_progress, completed, cancelled, all or history")
        })?),
    })
}

/// Formats an item with its details whole, its id and its times.
fn whole_item(todo: &Todo) -> String {
    item(todo, usize::MAX) + &dates(todo)
}

/// Formats an item with at most `most` characters of each detail.
fn item(todo: &Todo, most: usize) -> String {
    let mark = match todo.status {
        TodoStatus::Pending => "[ ]",
        TodoStatus::InProgress => "[>]",
        TodoStatus::Completed => "[x]",
        TodoStatus::Cancelled => "[-]",
    };
    let mut text = format!("\n  {mark} {}", named(todo));
    if let Some(kind) = &todo.agent_type {
        text.push_str(&format!(" · for {}", quoted(kind)));
    }
    let outcome = todo.outcome.as_deref().unwrap_or("");
    for (what, said) in [("context", &*todo.context), ("done when", &todo.criteria), ("outcome", outcome)] {
        if !said.is_empty() {
            text.push_str(&format!("\n      {what}: {}", quoted(&first_words(said, most))));
        }
    }
    text
}

/// Formats an item's id and times.
fn dates(todo: &Todo) -> String {
    let mut text = format!("\n      id: {} · created {}", todo.id, date(todo.created_at));
    for (what, at) in [("started", todo.started_at), ("ended", todo.completed_at)] {
        text.extend(at.map(|at| format!(" · {what} {}", date(at))));
    }
    text
}

/// Formats a time as RFC 3339.
fn date(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis()).map(|at| at.to_string()).unwrap_or_default()
}

fn unknown_item(number: u32, plan: &[Todo]) -> ToolError {
    let failure = ToolError::new(ErrorCode::NotFound, format!("no todo {number} in this turn's plan"));
    let open: Vec<String> = plan.iter().filter(|todo| todo.status.is_open()).map(named).collect();
    match (plan.is_empty(), open.is_empty()) {
        (true, _) => {
            failure.hint("there is no plan · → todo add \"…\" begins one · → todo resume takes up an earlier one")
        }
        (false, true) => failure.hint("nothing is open"),
        (false, false) => failure.hint(format!("open: {}", open.join(" · "))),
    }
}
