//! Search for the nodes that a local id or its beginning names, and suggestions for a mistyped one.

use super::{
    decode::{FROM, NODE, get},
    snapshot::PostgresSnapshot,
    uuid::Uuid,
};
use crate::{
    id::{LocalId, PatternText},
    store::{
        LocalIdLookup, NodeReader as _, Result,
        resolve_local_id::{LocalIdHints, MAX_CANDIDATES, MAX_COMPARED_IDS, cuts, is_local_id_of, lookup},
    },
};

/// Finds the nodes of a tree that a text names: a full id, a local id or the beginning of one.
pub(super) fn resolve_local_id(snapshot: &PostgresSnapshot<'_>, tree: Uuid, text: &str) -> Result<LocalIdLookup> {
    let one = |node| LocalIdLookup::One(Box::new(node));
    let pattern = match PatternText::read(text) {
        Some(PatternText::Full(id)) => return Ok(snapshot.node(id)?.map_or(LocalIdLookup::None(Vec::new()), one)),
        Some(PatternText::Local(pattern)) => pattern.as_str().to_owned(),
        None => return Ok(LocalIdLookup::None(nearest(snapshot, tree, &text.to_lowercase())?)),
    };
    let cuts: Vec<&str> = cuts(&pattern).collect();
    let sql =
        format!("SELECT {NODE} {FROM} WHERE n.tree = $1 AND n.local_id = ANY($2) ORDER BY length(n.local_id) DESC");
    let exact = snapshot.nodes(&sql, &[&tree, &cuts])?;
    if let Some(node) = exact.into_iter().find(|node| is_local_id_of(&pattern, node.id)) {
        return Ok(one(node));
    }
    let sql = format!(
        "SELECT {NODE} {FROM} WHERE n.tree = $1 AND n.local_id >= $2 AND n.local_id < $2 || '~' ORDER BY n.seq LIMIT $3"
    );
    let found = snapshot.nodes(&sql, &[&tree, &pattern, &MAX_CANDIDATES])?;
    lookup(found, || nearest(snapshot, tree, &pattern))
}

/// The local ids of a tree with the smallest edit distance to a text, nearest first.
fn nearest(snapshot: &PostgresSnapshot<'_>, tree: Uuid, wanted: &str) -> Result<Vec<LocalId>> {
    let sql = "SELECT local_id FROM nodes WHERE tree = $1 ORDER BY seq DESC LIMIT $2";
    let mut hints = LocalIdHints::of(wanted);
    for row in snapshot.query(sql, &[&tree, &MAX_COMPARED_IDS])? {
        hints.compare(get(&row, 0)?);
    }
    Ok(hints.nearest())
}
