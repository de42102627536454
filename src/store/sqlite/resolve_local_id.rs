//! Search for the nodes of a file that a local id or its beginning names, and suggestions for a mistyped one.

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
        resolve_local_id::{LocalIdHints, MAX_CANDIDATES, MAX_COMPARED_IDS, cuts, is_local_id_of, lookup},
    },
};

/// Finds the nodes of a tree that a text names: a full id, a local id or the beginning of one.
pub(super) fn resolve_local_id(snapshot: &SqliteSnapshot<'_>, tree: i64, text: &str) -> Result<LocalIdLookup> {
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
