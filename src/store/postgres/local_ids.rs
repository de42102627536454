//! Local ids: nodes found by them, suggestions, and the ids of new nodes.

use super::{
    apply::PgChangeApplier,
    decode::{FROM, NODE, get},
    snapshot::PostgresSnapshot,
    uuid::Uuid,
};
use crate::{
    id::{LocalId, PatternText},
    store::{
        LocalIdLookup, NodeReader as _, Result,
        local_ids::{
            LocalIdHints, MAX_CANDIDATES, MAX_COMPARED_IDS, cuts, is_local_id_of, longer_local_id, lookup,
            wanted_local_id,
        },
    },
    types::NewNode,
};

/// Finds the nodes of a tree that a text names: a full id, a local id or the beginning of one.
pub(super) fn resolve(snapshot: &PostgresSnapshot<'_>, tree: Uuid, text: &str) -> Result<LocalIdLookup> {
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

impl PgChangeApplier<'_> {
    /// The shortest local id that is free in the tree.
    pub(super) fn local_id(&mut self, node: &NewNode, tree: Uuid) -> Result<LocalId> {
        let mut local = wanted_local_id(node);
        loop {
            let key = (tree, local.as_str().to_owned());
            let sql = "SELECT id FROM nodes WHERE tree = $1 AND local_id = $2";
            // The group's reads compare only the wanted one.
            let is_compared = self.state.compared_ids.remove(&node.id);
            let taken = self.state.taken_ids.contains(&key)
                || !is_compared && self.conn.query_opt(sql, &[&tree, &key.1])?.is_some();
            if !taken {
                self.state.taken_ids.insert(key);
                return Ok(local);
            }
            local = longer_local_id(node, &local)?;
        }
    }
}
