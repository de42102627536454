//! Numbers of nodes and journal entries: the number of the writing transaction with an offset, times 2^20, plus a counter.
//!
//! The offset is 0 until a database is restored into a cluster that counts fewer transactions. Then it is raised, so that new
//! numbers follow those that are there.

use super::{
    connection::PostgresConnection,
    decode::{get, int},
    journal::COUNTER_BITS,
};
use crate::store::Result;

/// The offset of the numbers of transactions, in SQL.
macro_rules! offset {
    () => {
        "coalesce((SELECT value::bigint FROM settings WHERE name = 'transaction_offset'), 0)"
    };
}
pub(super) use offset;

/// Returns by how many transactions the newest number is ahead of the next transaction; 0 or less if it is not.
fn missing(conn: &PostgresConnection) -> Result<i64> {
    let sql = format!(
        "SELECT (coalesce(max(seq), 0) >> {COUNTER_BITS}) + 1 - {} - pg_snapshot_xmax(pg_current_snapshot())::text::bigint
         FROM journal",
        offset!()
    );
    int(&conn.query_one(&sql, &[])?, 0)
}

/// Raises the offset if the next transaction would get a number below the newest one. `lock` is taken while it is written.
pub(super) fn raise_offset(conn: &PostgresConnection, lock: i64) -> Result<()> {
    if missing(conn)? <= 0 {
        return Ok(());
    }
    conn.transaction(|| raise(conn, lock))
}

fn raise(conn: &PostgresConnection, lock: i64) -> Result<()> {
    conn.query("SELECT pg_advisory_xact_lock($1)", &[&lock])?;
    let more = missing(conn)?;
    if more > 0 {
        let offset: i64 = get(&conn.query_one(&format!("SELECT {}", offset!()), &[])?, 0)?;
        conn.execute(
            "INSERT INTO settings (name, value) VALUES ('transaction_offset', $1)
                 ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value",
            &[&(offset + more).to_string()],
        )?;
        tracing::info!(offset = offset + more, "the numbers of a restored database continue");
    }
    Ok(())
}
