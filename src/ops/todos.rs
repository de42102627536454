//! Plans of turns. Whose plan it is comes from whoever runs the turn, never from what a model says.

use super::{Actor, OpsError, Result};
use crate::{
    id::TodoId,
    store::{Mutation, Receipt},
    types::{NewTodo, Op, Todo, TodoDraft, TodoScope, TodoStatus},
};

impl Actor {
    /// Adds items to a plan, all or none; returns the plan.
    ///
    /// # Errors
    /// If an item has no title, there is no such session, or the store fails.
    pub fn plan(&self, scope: TodoScope, items: &[TodoDraft]) -> Result<Vec<Todo>> {
        if items.is_empty() || items.iter().any(|item| item.title.trim().is_empty()) {
            return Err(OpsError::Invalid("an item of a plan says what is to be done".to_owned()));
        }
        let new = |item: &TodoDraft| {
            let id = TodoId::new(self.loom.ids.ulid(self.loom.now()));
            Mutation::AddTodo(Box::new(NewTodo { id, session: scope.session, turn: scope.turn, draft: item.clone() }))
        };
        self.commit(Op::Plan, items.iter().map(new).collect())?;
        self.loom.todos(scope)
    }

    /// Says what became of an open item.
    ///
    /// # Errors
    /// If it is not open any more, nothing is said of what came of it, or the store fails.
    pub fn finish_todo(&self, todo: TodoId, status: TodoStatus, outcome: &str) -> Result<Receipt> {
        let outcome = outcome.trim().to_owned();
        self.commit(Op::Plan, vec![Mutation::FinishTodo { todo, status, outcome }])
    }

    /// Takes what an earlier turn of the session left open up into this plan: of the newest turn that left some. Returns
    /// the items as they stood there; none if nothing was left.
    ///
    /// # Errors
    /// If the store fails.
    pub fn resume_todos(&self, scope: TodoScope) -> Result<Vec<Todo>> {
        let mut left = self.loom.left_open(scope)?;
        let Some(newest) = left.iter().map(|todo| todo.turn).max() else { return Ok(Vec::new()) };
        left.retain(|todo| todo.turn == newest);
        let taken = left.iter().map(|todo| Mutation::CarryOverTodo { todo: todo.id, turn: scope.turn });
        self.commit(Op::Plan, taken.collect())?;
        Ok(left)
    }
}

impl super::Loom {
    /// The plan of a turn, in its order.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn todos(&self, scope: TodoScope) -> Result<Vec<Todo>> {
        Ok(self.snapshot()?.todos(scope.session, Some(scope.turn))?)
    }

    /// What other turns of the session left open, the oldest turn first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn left_open(&self, scope: TodoScope) -> Result<Vec<Todo>> {
        let mut left = self.snapshot()?.todos(scope.session, None)?;
        left.retain(|todo| todo.turn != scope.turn && todo.status.is_open());
        Ok(left)
    }
}
