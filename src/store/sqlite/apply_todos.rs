//! Application of mutations of todos. They have no inverse: undo does not change a todo's reported outcome.

use super::{
    apply::{Applied, AppliedMutation, ChangeApplier, unsupported},
    tables::todos,
};
use crate::store::{ChangeKind, Mutation, Result, mutation_rules::already_closed};

impl ChangeApplier<'_> {
    pub(super) fn apply_todo(&mut self, mutation: &Mutation) -> Result<Applied> {
        let (conn, at) = (self.conn, self.change.at);
        let (kind, session) = match mutation {
            Mutation::AddTodo(todo) => {
                let session = self.session_row(todo.session)?;
                todos::insert(conn, session, todo, at)?;
                (ChangeKind::AddTodo, session)
            }
            Mutation::FinishTodo { todo, status, outcome } => {
                let session = todos::finish(conn, *todo, (*status, outcome), at)?;
                (ChangeKind::FinishTodo, session.ok_or_else(already_closed)?)
            }
            Mutation::UpdateTodo { todo, patch } => {
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
