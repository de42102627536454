//! Statements of the table `summaries`: at most one for each subject.

use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    store::Result,
    types::{Summary, Timestamp},
};

/// The subject of a summary: one of three columns, and a row number.
pub(in crate::store::sqlite) type Target = (&'static str, i64);

/// Saves a summary, replacing an older one.
pub(in crate::store::sqlite) fn save(conn: &Connection, (column, row): Target, summary: &Summary) -> Result<()> {
    conn.prepare_cached(&format!(
        "INSERT INTO summaries ({column}, made_of, model, made_at, content) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT ({column}) DO UPDATE SET made_of = ?2, model = ?3, made_at = ?4, content = ?5"
    ))?
    .execute(params![row, summary.made_of, summary.model, summary.at.as_millis(), summary.content])?;
    Ok(())
}

/// Loads the summary of a subject.
pub(in crate::store::sqlite) fn load(conn: &Connection, (column, row): Target) -> Result<Option<Summary>> {
    let sql = format!("SELECT content, made_of, model, made_at FROM summaries WHERE {column} = ?1");
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Summary {
            content: row.get(0)?,
            made_of: row.get(1)?,
            model: row.get(2)?,
            at: Timestamp::from_millis(row.get(3)?),
        })
    };
    Ok(conn.prepare_cached(&sql)?.query_row([row], read).optional()?)
}
