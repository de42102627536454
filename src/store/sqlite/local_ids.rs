//! Local ids of a file: nodes found by them, suggestions, and the tables `local_ids_newest` and `local_ids_kept`.

use rusqlite::{Connection, params};

use super::{
    decode::{FROM, NODE},
    snapshot::SqliteSnapshot,
    tables::staged_nodes::UNSTAGED,
};
use crate::{
    id::{LocalId, PatternText},
    store::{
        LocalIdLookup, NodeReader as _, Result,
        local_ids::{LocalIdHints, MAX_CANDIDATES, MAX_COMPARED_IDS, cuts, is_local_id_of, lookup},
    },
};

/// Finds the nodes of a tree that a text names: a full id, a local id or the beginning of one.
pub(super) fn resolve(snapshot: &SqliteSnapshot<'_>, tree: i64, text: &str) -> Result<LocalIdLookup> {
    let one = |node| LocalIdLookup::One(Box::new(node));
    let pattern = match PatternText::read(text) {
        Some(PatternText::Full(id)) => return Ok(snapshot.node(id)?.map_or(LocalIdLookup::None(Vec::new()), one)),
        Some(PatternText::Local(pattern)) => pattern.as_str().to_owned(),
        None => return Ok(LocalIdLookup::None(nearest(&snapshot.conn, tree, &text.to_lowercase())?)),
    };
    let exact = format!(
        "SELECT {NODE} {FROM} WHERE n.seq IN (SELECT node FROM local_ids WHERE tree = ?1 AND local_id = ?2)
             AND {UNSTAGED}"
    );
    for cut in cuts(&pattern) {
        let found = snapshot.nodes(&exact, params![tree, cut])?;
        if let Some(node) = found.into_iter().next().filter(|node| is_local_id_of(&pattern, node.id)) {
            return Ok(one(node));
        }
    }
    let beginning = format!(
        "SELECT {NODE} {FROM} WHERE n.seq IN (
             SELECT node FROM local_ids WHERE tree = ?1 AND local_id >= ?2 AND local_id < ?2 || '~'
         ) AND {UNSTAGED} ORDER BY n.seq LIMIT ?3"
    );
    let found = snapshot.nodes(&beginning, params![tree, pattern, MAX_CANDIDATES])?;
    lookup(found, || nearest(&snapshot.conn, tree, &pattern))
}

/// The local ids of a tree with the smallest edit distance to a text, nearest first.
fn nearest(conn: &Connection, tree: i64, wanted: &str) -> Result<Vec<LocalId>> {
    let mut statement = conn.prepare_cached("SELECT local_id FROM nodes WHERE tree = ?1 ORDER BY seq DESC LIMIT ?2")?;
    let mut rows = statement.query(params![tree, MAX_COMPARED_IDS])?;
    let mut hints = LocalIdHints::of(wanted);
    while let Some(row) = rows.next()? {
        hints.compare(&row.get::<_, String>(0)?);
    }
    Ok(hints.nearest())
}

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
