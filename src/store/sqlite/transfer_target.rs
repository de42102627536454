//! A file that a copy of another database fills, table by table.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::{error::at_open, fts_index, local_ids, migrate, open, tables::nodes};
use crate::{
    store::{OpenOptions, Result, StoreError},
    text_index::WordTokenizer,
};

/// Opens a file for the rows of another database, or creates it without agents. References are not checked meanwhile: a
/// session refers to nodes that come after it.
///
/// # Errors
/// If the file holds something that is no unfinished copy.
pub(in crate::store) fn open_copy(path: &Path, options: &OpenOptions) -> Result<Connection> {
    super::private_file::create_private(path);
    let mut conn = Connection::open(path).map_err(|error| at_open(error, path))?;
    conn.busy_timeout(options.wait)?;
    open::prepare_writer(&conn, options).map_err(|error| at_open(error, path))?;
    migrate::migrate(&mut conn, path, options)?;
    let begun = "SELECT EXISTS (SELECT 1 FROM settings WHERE name = 'copy.source')";
    if !conn.query_row(begun, [], |row| row.get(0))? {
        delete_default_agents(&mut conn, path)?;
    }
    conn.pragma_update(None, "foreign_keys", "OFF")?;
    conn.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(conn)
}

/// Deletes the agents of a new file: those of the other database have the same ids. A trigger forbids that otherwise.
fn delete_default_agents(conn: &mut Connection, path: &Path) -> Result<()> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if tx.query_row("SELECT EXISTS (SELECT 1 FROM journal)", [], |row| row.get(0))? {
        return Err(StoreError::Conflict(format!("{} exists and is no unfinished copy", path.display())));
    }
    let trigger: String =
        tx.query_row("SELECT sql FROM sqlite_schema WHERE name = 'agents_delete'", [], |row| row.get(0))?;
    tx.execute_batch("DROP TRIGGER agents_delete; DELETE FROM agents")?;
    tx.execute_batch(&trigger)?;
    Ok(tx.commit()?)
}

/// Makes the tables of local ids, the index of words, and the end of the journal's chain of no tree, after all rows were copied.
pub(in crate::store) fn finish_copy(conn: &mut Connection) -> Result<()> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    local_ids::rebuild(&tx)?;
    nodes::delete_needless_states(&tx)?;
    fts_index::index_missing(&tx, &mut WordTokenizer::default())?;
    tx.execute(
        "INSERT OR REPLACE INTO settings (name, value)
         SELECT 'journal_head', max(seq) FROM journal WHERE tree IS NULL HAVING max(seq) IS NOT NULL",
        [],
    )?;
    tx.commit()?;
    let broken: i64 = conn.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))?;
    match broken {
        0 => Ok(()),
        rows => Err(StoreError::Undecodable(format!("{rows} rows of the database refer to others that are missing"))),
    }
}
