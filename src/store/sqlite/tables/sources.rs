//! Statements of the table `sources`: origins of imported nodes.

use rusqlite::{Connection, OptionalExtension, params};

use crate::store::Result;

pub(in crate::store::sqlite) fn insert(conn: &Connection, source: &str, node: i64) -> Result<()> {
    conn.prepare_cached("INSERT INTO sources (source, node, row_sum) VALUES (?1, ?2, row_sum(?1, ?2))")?
        .execute(params![source, node])?;
    Ok(())
}

pub(in crate::store::sqlite) fn node(conn: &Connection, source: &str) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached("SELECT node FROM sources WHERE source = ?1")?
        .query_row([source], |r| r.get(0))
        .optional()?)
}

pub(in crate::store::sqlite) fn list(conn: &Connection, node: i64) -> Result<Vec<String>> {
    let mut statement = conn.prepare_cached("SELECT source FROM sources WHERE node = ?1 ORDER BY source")?;
    let found = statement.query_map([node], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(found)
}
