//! Statements of the table `todos`.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    id::{SessionId, TodoId},
    store::{Result, StoreError, sqlite::decode},
    types::{NewTodo, Timestamp, Todo, TodoPatch, TodoStatus},
};

/// Inserts a todo at its place, with the plan's next number; later ones move back by one.
pub(in crate::store::sqlite) fn insert(conn: &Connection, session: i64, todo: &NewTodo, at: Timestamp) -> Result<()> {
    let draft = &todo.draft;
    let place = open_place(conn, session, todo.turn, draft.order)?;
    conn.execute(
        "INSERT INTO todos (ulid, session, turn, made_in, number, place, title, context, criteria, agent_type, status,
                            created_at)
         VALUES (?1, ?2, ?3, ?3, (SELECT coalesce(max(number), 0) + 1 FROM todos WHERE session = ?2 AND turn = ?3),
                 ?4, ?5, ?6, ?7, ?8, 0, ?9)",
        params![
            todo.id.to_bytes(),
            session,
            todo.turn,
            place,
            draft.title,
            draft.context,
            draft.criteria,
            draft.agent_type,
            at.as_millis()
        ],
    )?;
    begin_next(conn, session, todo.turn, at)
}

/// Frees the place `order` of a plan, counted from 1, and returns it. `None` or a place beyond the end: the end.
fn open_place(conn: &Connection, session: i64, turn: u64, order: Option<u32>) -> Result<i64> {
    let end = conn.query_row(
        "SELECT coalesce(max(place), 0) + 1 FROM todos WHERE session = ?1 AND turn = ?2",
        params![session, turn],
        |row| row.get(0),
    )?;
    let place = order.map_or(end, |order| i64::from(order.max(1)).min(end));
    if place < end {
        conn.execute(
            "UPDATE todos SET place = place + 1 WHERE session = ?1 AND turn = ?2 AND place >= ?3",
            params![session, turn, place],
        )?;
    }
    Ok(place)
}

/// Closes an open todo; returns its session's row, or `None` if it was closed before.
pub(in crate::store::sqlite) fn finish(
    conn: &Connection,
    todo: TodoId,
    (status, outcome): (TodoStatus, &str),
    at: Timestamp,
) -> Result<Option<i64>> {
    let (row, session, turn) = row(conn, todo)?;
    let done = conn.execute(
        "UPDATE todos SET status = ?2, outcome = ?3, completed_at = ?4, started_at = coalesce(started_at, ?4)
         WHERE id = ?1 AND status < 2",
        params![row, status.code(), outcome, at.as_millis()],
    )?;
    begin_next(conn, session, turn, at)?;
    Ok((done > 0).then_some(session))
}

/// Changes an open todo; returns its session's row, or `None` if it is closed.
pub(in crate::store::sqlite) fn update(
    conn: &Connection,
    todo: TodoId,
    patch: &TodoPatch,
    at: Timestamp,
) -> Result<Option<i64>> {
    let (row, session, turn) = row(conn, todo)?;
    let changed = conn.execute(
        "UPDATE todos SET title = coalesce(?2, title), context = coalesce(?3, context),
             criteria = coalesce(?4, criteria), agent_type = nullif(coalesce(?5, agent_type), '')
         WHERE id = ?1 AND status < 2",
        params![row, patch.title, patch.context, patch.criteria, patch.agent_type],
    )?;
    if changed == 0 {
        return Ok(None);
    }
    if let Some(order) = patch.order {
        let place: i64 = conn.query_row("SELECT place FROM todos WHERE id = ?1", [row], |row| row.get(0))?;
        // Places start at 1, so this one is outside of the plan while the others move.
        conn.execute("UPDATE todos SET place = 0 WHERE id = ?1", [row])?;
        conn.execute(
            "UPDATE todos SET place = place - 1 WHERE session = ?1 AND turn = ?2 AND place > ?3",
            params![session, turn, place],
        )?;
        let place = open_place(conn, session, turn, Some(order))?;
        conn.execute("UPDATE todos SET place = ?2 WHERE id = ?1", params![row, place])?;
    }
    begin_next(conn, session, turn, at)?;
    Ok(Some(session))
}

/// Moves an open todo to the end of another turn's plan, with its next number. Returns its session's row, or `None` if
/// the todo is closed or in that plan already.
pub(in crate::store::sqlite) fn carry_over(
    conn: &Connection,
    todo: TodoId,
    turn: u64,
    at: Timestamp,
) -> Result<Option<i64>> {
    let (row, session, from) = row(conn, todo)?;
    if from == turn {
        return Ok(None);
    }
    let place = open_place(conn, session, turn, None)?;
    let done = conn.execute(
        "UPDATE todos SET turn = ?2, place = ?3, status = 0,
             number = (SELECT coalesce(max(number), 0) + 1 FROM todos WHERE session = ?4 AND turn = ?2)
         WHERE id = ?1 AND status < 2",
        params![row, turn, place, session],
    )?;
    begin_next(conn, session, turn, at)?;
    Ok((done > 0).then_some(session))
}

/// Starts the first open todo of a plan if none is in progress.
fn begin_next(conn: &Connection, session: i64, turn: u64, at: Timestamp) -> Result<()> {
    conn.execute(
        "UPDATE todos SET status = 1, started_at = coalesce(started_at, ?3) WHERE id = (
             SELECT id FROM todos WHERE session = ?1 AND turn = ?2 AND status = 0 ORDER BY place LIMIT 1
         ) AND NOT EXISTS (SELECT 1 FROM todos WHERE session = ?1 AND turn = ?2 AND status = 1)",
        params![session, turn, at.as_millis()],
    )?;
    Ok(())
}

fn row(conn: &Connection, todo: TodoId) -> Result<(i64, i64, u64)> {
    conn.query_row("SELECT id, session, turn FROM todos WHERE ulid = ?1", [todo.to_bytes()], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })
    .optional()?
    .ok_or_else(|| StoreError::not_found("todo", todo))
}

/// Lists the todos of a session, of one turn or all, ordered by turn and place.
pub(in crate::store::sqlite) fn list(conn: &Connection, session: SessionId, turn: Option<u64>) -> Result<Vec<Todo>> {
    let mut statement = conn.prepare_cached(
        "SELECT t.ulid, t.turn, t.made_in, t.number, t.title, t.context, t.criteria, t.agent_type, t.status, t.outcome,
                t.created_at, t.started_at, t.completed_at
         FROM todos t JOIN sessions s ON s.id = t.session
         WHERE s.ulid = ?1 AND (?2 IS NULL OR t.turn = ?2) ORDER BY t.turn, t.place, t.id DESC",
    )?;
    let read = statement.query_map(params![session.to_bytes(), turn], |row| read(row, session))?;
    Ok(read.collect::<rusqlite::Result<_>>()?)
}

fn read(row: &Row<'_>, session: SessionId) -> rusqlite::Result<Todo> {
    let time = |at: Option<i64>| at.map(Timestamp::from_millis);
    Ok(Todo {
        id: TodoId::from_bytes(row.get(0)?),
        session,
        turn: row.get(1)?,
        made_in: row.get(2)?,
        number: row.get(3)?,
        title: row.get(4)?,
        context: row.get(5)?,
        criteria: row.get(6)?,
        agent_type: row.get(7)?,
        status: decode::coded(row, 8, TodoStatus::from_code)?,
        outcome: row.get(9)?,
        created_at: Timestamp::from_millis(row.get(10)?),
        started_at: time(row.get(11)?),
        completed_at: time(row.get(12)?),
    })
}

/// Deletes the text of todos.
pub(in crate::store::sqlite) fn clear_text(conn: &Connection, which: &str, key: i64) -> Result<()> {
    conn.execute(
        &format!(
            "UPDATE todos SET title = '', context = '', criteria = '', agent_type = NULL,
                 outcome = CASE WHEN status >= 2 THEN '' END WHERE {which}"
        ),
        [key],
    )?;
    Ok(())
}
