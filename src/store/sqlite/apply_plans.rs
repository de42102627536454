//! Application of mutations of todos. They have no inverse: undo does not change a todo's reported outcome.

use super::{
    apply::{Applied, AppliedMutation, ChangeApplier, unsupported},
    tables::todos,
};
use crate::store::{ChangeKind, Mutation, Result, StoreError};

impl ChangeApplier<'_> {
    pub(super) fn apply_plan(&mut self, mutation: &Mutation) -> Result<Applied> {
        let (conn, at) = (self.conn, self.change.at);
        let (kind, session) = match mutation {
            Mutation::AddTodo(todo) => {
                let session = self.session_row(todo.session)?;
                todos::insert(conn, session, todo, at)?;
                (ChangeKind::AddTodo, session)
            }
            Mutation::FinishTodo { todo, status, outcome } => {
                if status.is_open() || outcome.trim().is_empty() {
                    return Err(StoreError::Refused(
                        "an item must be completed or cancelled with an outcome".to_owned(),
                    ));
                }
                let session = todos::finish(conn, *todo, (*status, outcome), at)?;
                (ChangeKind::FinishTodo, session.ok_or_else(already_closed)?)
            }
            Mutation::UpdateTodo { todo, patch } => {
                if patch.title.as_ref().is_some_and(|title| title.trim().is_empty()) {
                    return Err(StoreError::Refused("a todo needs a title".to_owned()));
                }
                (ChangeKind::UpdateTodo, todos::update(conn, *todo, patch, at)?.ok_or_else(already_closed)?)
            }
            Mutation::CarryOverTodo { todo, turn } => {
                (ChangeKind::CarryOverTodo, todos::carry_over(conn, *todo, *turn, at)?.ok_or_else(already_closed)?)
            }
            _ => return Err(unsupported()),
        };
        let tree = conn.query_row("SELECT tree FROM sessions WHERE id = ?1", [session], |row| row.get(0))?;
        Ok((kind, Some(AppliedMutation::new(Some(tree), None, None))))
    }
}

fn already_closed() -> StoreError {
    StoreError::Conflict("this item is already closed".to_owned())
}
