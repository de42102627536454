//! Application of mutations of todos: they are added, changed, finished and carried over.

use super::{
    apply::{Applied, PgAppliedMutation, PgChangeApplier, signed, unsupported},
    decode::{get, int},
    uuid::Uuid,
};
use crate::{
    id::TodoId,
    store::{ChangeKind, Mutation, Result, StoreError, mutation_rules::already_closed},
    types::{NewTodo, TodoPatch},
};

impl PgChangeApplier<'_> {
    pub(super) fn apply_todo(&mut self, mutation: &Mutation) -> Result<Applied> {
        let at = self.change.at.as_millis();
        let (kind, session) = match mutation {
            Mutation::AddTodo(todo) => {
                let key = Uuid::from(todo.session);
                self.exists("sessions", "session", key, todo.session)?;
                self.add_todo(key, todo)?;
                (ChangeKind::AddTodo, key)
            }
            Mutation::FinishTodo { todo, status, outcome } => {
                let (session, turn) = self.todo(*todo)?;
                let sql = "UPDATE todos SET status = $3, outcome = $4, completed_at = $5,
                               started_at = coalesce(started_at, $5) WHERE session = $1 AND id = $2 AND status < 2";
                let key = Uuid::from(*todo);
                let done = self.conn.execute(sql, &[&session, &key, &status.code(), outcome, &at])?;
                self.begin_next(session, turn)?;
                (ChangeKind::FinishTodo, Some(session).filter(|_| done > 0).ok_or_else(already_closed)?)
            }
            Mutation::UpdateTodo { todo, patch } => {
                (ChangeKind::UpdateTodo, self.update_todo(*todo, patch)?.ok_or_else(already_closed)?)
            }
            Mutation::CarryOverTodo { todo, turn } => {
                (ChangeKind::CarryOverTodo, self.carry_over(*todo, signed(*turn))?.ok_or_else(already_closed)?)
            }
            _ => return Err(unsupported()),
        };
        let tree = self.session_tree(session)?;
        Ok((kind, Some(PgAppliedMutation::new(tree, None, None))))
    }

    fn add_todo(&mut self, session: Uuid, todo: &NewTodo) -> Result<()> {
        let (draft, turn) = (&todo.draft, signed(todo.turn));
        let place = self.open_place(session, turn, draft.order)?;
        let seq = self.next()?;
        self.conn.execute(
            "INSERT INTO todos (id, seq, session, turn, made_in, number, place, title, context, criteria, agent_type, status,
                 created_at)
             SELECT $1, $2, $3, $4, $4, coalesce(max(number), 0) + 1, $5, $6, $7, $8, $9, 0, $10
             FROM todos WHERE session = $3 AND turn = $4",
            &[
                &Uuid::from(todo.id),
                &seq,
                &session,
                &turn,
                &place,
                &draft.title,
                &draft.context,
                &draft.criteria,
                &draft.agent_type,
                &self.change.at.as_millis(),
            ],
        )?;
        self.begin_next(session, turn)
    }

    /// Frees the place `order` of a plan, counted from 1, and returns it. `None` or a place beyond the end: the end.
    fn open_place(&self, session: Uuid, turn: i64, order: Option<u32>) -> Result<i64> {
        // The row of the session keeps two writers from changing one plan at once.
        self.conn.query("SELECT 1 FROM sessions WHERE id = $1 FOR UPDATE", &[&session])?;
        let sql = "SELECT coalesce(max(place), 0) + 1 FROM todos WHERE session = $1 AND turn = $2";
        let end = int(&self.conn.query_one(sql, &[&session, &turn])?, 0)?;
        let place = order.map_or(end, |order| i64::from(order.max(1)).min(end));
        if place < end {
            let sql = "UPDATE todos SET place = place + 1 WHERE session = $1 AND turn = $2 AND place >= $3";
            self.conn.execute(sql, &[&session, &turn, &place])?;
        }
        Ok(place)
    }

    fn update_todo(&mut self, todo: TodoId, patch: &TodoPatch) -> Result<Option<Uuid>> {
        let (session, turn) = self.todo(todo)?;
        let key = Uuid::from(todo);
        let changed = self.conn.execute(
            "UPDATE todos SET title = coalesce($3, title), context = coalesce($4, context),
                 criteria = coalesce($5, criteria), agent_type = nullif(coalesce($6, agent_type), '')
             WHERE session = $1 AND id = $2 AND status < 2",
            &[&session, &key, &patch.title, &patch.context, &patch.criteria, &patch.agent_type],
        )?;
        if changed == 0 {
            return Ok(None);
        }
        if let Some(order) = patch.order {
            let sql = "SELECT place FROM todos WHERE session = $1 AND id = $2";
            let place = int(&self.conn.query_one(sql, &[&session, &key])?, 0)?;
            // Places start at 1, so this one is outside of the plan while the others move.
            let set = "UPDATE todos SET place = $3 WHERE session = $1 AND id = $2";
            self.conn.execute(set, &[&session, &key, &0_i64])?;
            let sql = "UPDATE todos SET place = place - 1 WHERE session = $1 AND turn = $2 AND place > $3";
            self.conn.execute(sql, &[&session, &turn, &place])?;
            let place = self.open_place(session, turn, Some(order))?;
            self.conn.execute(set, &[&session, &key, &place])?;
        }
        self.begin_next(session, turn)?;
        Ok(Some(session))
    }

    /// Moves an open todo to the end of another turn's plan, with its next number.
    fn carry_over(&mut self, todo: TodoId, turn: i64) -> Result<Option<Uuid>> {
        let (session, from) = self.todo(todo)?;
        if from == turn {
            return Ok(None);
        }
        let place = self.open_place(session, turn, None)?;
        let done = self.conn.execute(
            "UPDATE todos SET turn = $3, place = $4, status = 0,
                 number = (SELECT coalesce(max(number), 0) + 1 FROM todos WHERE session = $1 AND turn = $3)
             WHERE session = $1 AND id = $2 AND status < 2",
            &[&session, &Uuid::from(todo), &turn, &place],
        )?;
        self.begin_next(session, turn)?;
        Ok((done > 0).then_some(session))
    }

    /// Starts the first open todo of a plan if none is in progress.
    fn begin_next(&self, session: Uuid, turn: i64) -> Result<()> {
        let sql = "UPDATE todos SET status = 1, started_at = coalesce(started_at, $3) WHERE session = $1 AND id = (
                       SELECT id FROM todos WHERE session = $1 AND turn = $2 AND status = 0 ORDER BY place LIMIT 1)
                   AND NOT EXISTS (SELECT 1 FROM todos WHERE session = $1 AND turn = $2 AND status = 1)";
        self.conn.execute(sql, &[&session, &turn, &self.change.at.as_millis()]).map(drop)
    }

    /// The session and the turn of a todo.
    fn todo(&self, todo: TodoId) -> Result<(Uuid, i64)> {
        let row = self.conn.query_opt("SELECT session, turn FROM todos WHERE id = $1", &[&Uuid::from(todo)])?;
        let row = row.ok_or_else(|| StoreError::not_found("todo", todo))?;
        Ok((get(&row, 0)?, int(&row, 1)?))
    }
}
