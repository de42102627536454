//! Application of mutations of todos. They have no inverse: undo does not change a todo's reported outcome.

use super::{
    apply::{AppliedMutation, ChangeApplier},
    tables::todos,
};
use crate::store::{ChangeKind, Mutation, Result, StoreError};

impl ChangeApplier<'_> {
    pub(super) fn plan(&mut self, mutation: &Mutation) -> Result<(ChangeKind, Option<AppliedMutation>)> {
        let (conn, at) = (self.conn, self.change.at);
        let (kind, session) = match mutation {
            Mutation::AddTodo(todo) => {
                let session = self.session_row(todo.session)?;
                todos::insert(conn, session, todo, at)?;
                (ChangeKind::AddTodo, session)
            }
            Mutation::FinishTodo { todo, status, outcome } => {
                if status.is_open() || outcome.trim().is_empty() {
                    return Err(StoreError::Refused("an item is completed or cancelled, with an outcome".to_owned()));
                }
                let session = todos::finish(conn, *todo, (*status, outcome), at)?;
                (ChangeKind::FinishTodo, session.ok_or_else(settled)?)
            }
            Mutation::TakeUpTodo { todo, turn } => {
                (ChangeKind::TakeUpTodo, todos::take_up(conn, *todo, *turn, at)?.ok_or_else(settled)?)
            }
            _ => return Err(StoreError::Refused("not a change to a plan".to_owned())),
        };
        let tree = conn.query_row("SELECT tree FROM sessions WHERE id = ?1", [session], |row| row.get(0))?;
        Ok((kind, Some(AppliedMutation::new(Some(tree), None, None))))
    }
}

fn settled() -> StoreError {
    StoreError::Conflict("what became of this item was said before".to_owned())
}
