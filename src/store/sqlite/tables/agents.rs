//! Statements of the table `agents`.

use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    id::AgentId,
    store::{Result, StoreError, sqlite::decode},
    types::{Agent, AgentKind, NewAgent, Permissions, Timestamp},
};

fn stop(agent: &NewAgent) -> String {
    serde_json::Value::from(agent.stop.clone()).to_string()
}

/// Converts a violated unique name to [`StoreError::Conflict`].
fn unique_name(result: rusqlite::Result<usize>, name: &str) -> Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(e) if e.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) && !name.is_empty() => {
            Err(StoreError::Conflict(format!("an agent named {name:?} exists already")))
        }
        Err(e) => Err(e.into()),
    }
}

pub(in crate::store::sqlite) fn insert(conn: &Connection, agent: &NewAgent, at: Timestamp) -> Result<i64> {
    let inserted = conn.execute(
        "INSERT INTO agents (ulid, name, kind, model, system_prompt, temperature, max_tokens, stop, permissions, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            agent.id.to_bytes(),
            agent.name,
            agent.kind.code(),
            agent.model,
            agent.system_prompt,
            agent.temperature,
            agent.max_tokens,
            stop(agent),
            agent.permissions.bits(),
            at.as_millis()
        ],
    );
    unique_name(inserted, &agent.name)?;
    Ok(conn.last_insert_rowid())
}

pub(in crate::store::sqlite) fn update(conn: &Connection, row: i64, agent: &NewAgent) -> Result<()> {
    let updated = conn.execute(
        "UPDATE agents SET name = ?2, model = ?3, system_prompt = ?4, temperature = ?5, max_tokens = ?6, stop = ?7,
             permissions = ?8 WHERE id = ?1",
        params![
            row,
            agent.name,
            agent.model,
            agent.system_prompt,
            agent.temperature,
            agent.max_tokens,
            stop(agent),
            agent.permissions.bits()
        ],
    );
    unique_name(updated, &agent.name)
}

pub(in crate::store::sqlite) fn set_removed(conn: &Connection, row: i64, removed: bool) -> Result<()> {
    let name: String = conn.query_row("SELECT name FROM agents WHERE id = ?1", [row], |r| r.get(0))?;
    unique_name(conn.execute("UPDATE agents SET removed = ?2 WHERE id = ?1", params![row, removed]), &name)
}

pub(in crate::store::sqlite) fn row(conn: &Connection, id: AgentId) -> Result<i64> {
    conn.prepare_cached("SELECT id FROM agents WHERE ulid = ?1")?
        .query_row([id.to_bytes()], |r| r.get(0))
        .optional()?
        .ok_or_else(|| StoreError::not_found("agent", id))
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Agent> {
    Ok(Agent {
        profile: NewAgent {
            id: AgentId::from_bytes(row.get(0)?),
            name: row.get(1)?,
            kind: decode::coded(row, 2, AgentKind::from_code)?,
            model: row.get(3)?,
            system_prompt: row.get(4)?,
            temperature: row.get(5)?,
            max_tokens: row.get(6)?,
            stop: decode::from_json(row, 7)?,
            permissions: decode::coded(row, 8, Permissions::from_bits)?,
        },
        created_at: Timestamp::from_millis(row.get(9)?),
        removed: row.get(10)?,
    })
}

const AGENT: &str =
    "ulid, name, kind, model, system_prompt, temperature, max_tokens, stop, permissions, created_at, removed";

pub(in crate::store::sqlite) fn get(conn: &Connection, row: i64) -> Result<Agent> {
    Ok(conn.prepare_cached(&format!("SELECT {AGENT} FROM agents WHERE id = ?1"))?.query_row([row], read)?)
}

pub(in crate::store::sqlite) fn all(conn: &Connection) -> Result<Vec<Agent>> {
    let mut statement = conn.prepare_cached(&format!("SELECT {AGENT} FROM agents ORDER BY id"))?;
    let agents = statement.query_map([], read)?.collect::<rusqlite::Result<_>>()?;
    Ok(agents)
}
