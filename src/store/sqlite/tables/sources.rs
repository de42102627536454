//! Statements of the table `sources`: origins of imported nodes.

use rusqlite::{Connection, OptionalExtension};

use crate::store::{
    Result,
    sqlite::{insert::MultiInsert, row_checksums::RowSum},
};

/// Inserts the sources of nodes.
pub(in crate::store::sqlite) fn insert(conn: &Connection, rows: &[(&str, i64)]) -> Result<()> {
    static STATEMENT: MultiInsert = MultiInsert::new("INSERT OR FAIL INTO sources (source, node, row_sum)", 3);
    STATEMENT.run(conn, rows, |(source, node), row| {
        let mut sum = RowSum::default();
        sum.add(source)?;
        sum.add(node)?;
        row.add(source)?;
        row.add(node)?;
        row.add(&sum.finish())
    })?;
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
