//! Tables of the local ids of a file, `local_ids_newest` and `local_ids_kept`.

use rusqlite::{Connection, params};

use crate::store::Result;

/// True if a node of the tree has the local id.
pub(super) fn is_taken(conn: &Connection, tree: i64, local: &str) -> Result<bool> {
    Ok(conn
        .prepare_cached("SELECT 1 FROM local_ids WHERE tree = ?1 AND local_id = ?2")?
        .exists(params![tree, local])?)
}

/// Moves the newest local ids to the main table, in that table's order.
pub(super) fn move_newest(conn: &Connection) -> Result<()> {
    // `OR FAIL` copies no page for undoing the statement; the transaction can undo it.
    conn.prepare_cached("INSERT OR FAIL INTO local_ids_kept SELECT * FROM local_ids_newest ORDER BY local_id, tree")?
        .execute([])?;
    conn.prepare_cached("DELETE FROM local_ids_newest")?.execute([])?;
    Ok(())
}

/// Checks that each node is in exactly one of the two tables of local ids. Returns the problems.
pub(super) fn wrong(conn: &Connection) -> Result<Option<String>> {
    let wrong: bool = conn.query_row(
        "SELECT (SELECT count(*) FROM nodes) <> (SELECT count(*) FROM local_ids) OR EXISTS (
             SELECT 1 FROM nodes n WHERE NOT EXISTS (
                 SELECT 1 FROM local_ids l WHERE l.local_id = n.local_id AND l.tree = n.tree AND l.node = n.seq))",
        [],
        |r| r.get(0),
    )?;
    Ok(wrong.then(|| "the tables of local ids differ from the nodes; a rebuild recomputes them".to_owned()))
}

/// Rebuilds the tables of local ids.
pub(super) fn rebuild(conn: &Connection) -> Result<()> {
    conn.execute("DELETE FROM local_ids_newest", [])?;
    conn.execute("DELETE FROM local_ids_kept", [])?;
    conn.execute("INSERT INTO local_ids_kept SELECT local_id, tree, seq FROM nodes ORDER BY local_id, tree", [])?;
    Ok(())
}
