//! Statements of the table `delegation_events`.

use rusqlite::{Connection, params};

use crate::{
    id::NodeId,
    store::{Result, StoreError},
    types::{Json, Timestamp},
};

/// Appends an event. Its number must be the next one; otherwise another process runs the delegation.
pub(in crate::store::sqlite) fn insert(
    conn: &Connection,
    (delegation, number): (i64, u32),
    event: &Json,
    at: Timestamp,
) -> Result<()> {
    let last: u32 = conn.query_row(
        "SELECT coalesce(max(number), 0) FROM delegation_events WHERE delegation = ?1",
        [delegation],
        |row| row.get(0),
    )?;
    if last + 1 != number {
        return Err(StoreError::Conflict("another process runs this delegation".to_owned()));
    }
    conn.execute(
        "INSERT INTO delegation_events (delegation, number, at, event, row_sum)
         VALUES (?1, ?2, ?3, ?4, row_sum(?1, ?2, ?3, ?4))",
        params![delegation, number, at.as_millis(), event.as_str()],
    )?;
    Ok(())
}

/// Removes error messages, which may quote purged text, from the delegations of trees. `trees` is a query of row numbers.
pub(in crate::store::sqlite) fn clear_errors(conn: &Connection, trees: &str, key: i64) -> Result<()> {
    const CLEARED: &str = "json_replace(event, '$.why', '')";
    conn.execute(
        &format!(
            "UPDATE delegation_events SET event = {CLEARED}, row_sum = row_sum(delegation, number, at, {CLEARED})
             WHERE event <> {CLEARED}
                 AND delegation IN (SELECT seq FROM nodes WHERE tree IN ({trees}))"
        ),
        [key],
    )?;
    Ok(())
}

/// Lists the events of a delegation in order.
pub(in crate::store::sqlite) fn events(conn: &Connection, delegation: i64) -> Result<Vec<Json>> {
    let mut statement =
        conn.prepare_cached("SELECT event FROM delegation_events WHERE delegation = ?1 ORDER BY number")?;
    let read = statement.query_map([delegation], |row| row.get::<_, String>(0))?;
    read.map(|text| json(text?)).collect()
}

/// Lists every delegation with its last event, newest delegation first.
pub(in crate::store::sqlite) fn all(conn: &Connection) -> Result<Vec<(NodeId, Json)>> {
    // With `max`, SQLite takes the other columns from the row with the maximum.
    let mut statement = conn.prepare_cached(
        "SELECT n.ulid, e.event, max(e.number) FROM delegation_events e JOIN nodes n ON n.seq = e.delegation
         GROUP BY e.delegation ORDER BY e.delegation DESC",
    )?;
    let read = statement.query_map([], |row| Ok((NodeId::from_bytes(row.get(0)?), row.get::<_, String>(1)?)))?;
    read.map(|row| row.map_err(StoreError::from).and_then(|(node, text)| Ok((node, json(text)?)))).collect()
}

fn json(text: String) -> Result<Json> {
    Json::parse(text).map_err(|error| StoreError::Undecodable(format!("an event of a delegation: {error}")))
}
