//! Todos of turns. The driver of a turn sets the scope; a model cannot choose it.

use super::{Actor, OpsError, Result};
use crate::{
    id::{SessionId, TodoId},
    store::{Mutation, Receipt},
    types::{NewTodo, Op, Todo, TodoDraft, TodoPatch, TodoScope, TodoStatus},
};

/// Maximum number of items of a plan.
const MAX_PLAN_ITEMS: usize = 100;
/// Maximum number of items that one call adds.
const MAX_ADDED_ITEMS: usize = 32;

impl Actor {
    /// Adds items to a plan, all or none, and returns the plan.
    ///
    /// # Errors
    /// If an item has no title, there are more than 32 items or the plan would have more than 100, the session does not
    /// exist, or the store fails.
    pub fn add_todos(&self, scope: TodoScope, items: &[TodoDraft]) -> Result<Vec<Todo>> {
        let over = |what: &str, most: usize| OpsError::LimitExceeded(format!("{what} has at most {most} items"));
        if items.len() > MAX_ADDED_ITEMS {
            return Err(over("one command", MAX_ADDED_ITEMS));
        }
        if self.loom.todos(scope)?.len() + items.len() > MAX_PLAN_ITEMS {
            return Err(over("a plan", MAX_PLAN_ITEMS));
        }
        if items.is_empty() || items.iter().any(|item| item.title.trim().is_empty()) {
            return Err(OpsError::Invalid("a todo needs a title".to_owned()));
        }
        let new = |item: &TodoDraft| {
            let id = TodoId::new(self.loom.ids.ulid(self.loom.now()));
            Mutation::AddTodo(Box::new(NewTodo { id, session: scope.session, turn: scope.turn, draft: item.clone() }))
        };
        self.commit(Op::Todo, items.iter().map(new).collect())?;
        self.loom.todos(scope)
    }

    /// Sets the final status and the outcome of an open item.
    ///
    /// # Errors
    /// If the item is not open, the outcome is empty, or the store fails.
    pub fn finish_todo(&self, todo: TodoId, status: TodoStatus, outcome: &str) -> Result<Receipt> {
        let outcome = outcome.trim().to_owned();
        self.commit(Op::Todo, vec![Mutation::FinishTodo { todo, status, outcome }])
    }

    /// Changes the text or the position of an open item.
    ///
    /// # Errors
    /// If the item is not open, its new title is empty, or the store fails.
    pub fn update_todo(&self, todo: TodoId, patch: TodoPatch) -> Result<Receipt> {
        self.commit(Op::Todo, vec![Mutation::UpdateTodo { todo, patch }])
    }

    /// Carries open items of an earlier turn over into this plan: those of the newest turn that has any. Returns the
    /// items as they were; empty if there were none.
    ///
    /// # Errors
    /// If the store fails.
    pub fn resume_todos(&self, scope: TodoScope) -> Result<Vec<Todo>> {
        let mut left = self.loom.open_todos(scope)?;
        let Some(newest) = left.iter().map(|todo| todo.turn).max() else { return Ok(Vec::new()) };
        left.retain(|todo| todo.turn == newest);
        let taken = left.iter().map(|todo| Mutation::CarryOverTodo { todo: todo.id, turn: scope.turn });
        self.commit(Op::Todo, taken.collect())?;
        Ok(left)
    }
}

impl super::Loom {
    /// Returns the plan of a turn, in order.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn todos(&self, scope: TodoScope) -> Result<Vec<Todo>> {
        Ok(self.snapshot()?.todos(scope.session, Some(scope.turn))?)
    }

    /// Finds an item of a session by its id; `None` if the session has no such item.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn find_todo(&self, session: SessionId, todo: TodoId) -> Result<Option<Todo>> {
        Ok(self.snapshot()?.todos(session, None)?.into_iter().find(|item| item.id == todo))
    }

    /// Returns the open items of other turns of the session, the oldest turn first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn open_todos(&self, scope: TodoScope) -> Result<Vec<Todo>> {
        let mut left = self.snapshot()?.todos(scope.session, None)?;
        left.retain(|todo| todo.turn != scope.turn && todo.status.is_open());
        Ok(left)
    }
}
