//! Undo and redo, by the rules of [`undo_rules`](crate::store::undo_rules).

use super::{
    apply::{PgChangeApplier, signed},
    decode::{coded, get, int, opt_int},
    journal::END_OF_GROUP,
    uuid::Uuid,
    visibility,
};
use crate::{
    id::{NodeId, SessionId},
    store::{
        Mutation, Result,
        undo_rules::{RevertedEntry, revert},
    },
    types::Op,
};

/// Applies the inverse of each entry of a group, the last first.
pub(super) fn undo(apply: &mut PgChangeApplier<'_>, group: u64) -> Result<()> {
    apply.flush()?;
    let target = signed(group);
    let sql = format!(
        "SELECT op, change, tree, node, undo FROM journal
         WHERE seq >= $1 AND seq < {END_OF_GROUP} AND grp = $1 ORDER BY seq DESC"
    );
    let read = |row: &tokio_postgres::Row| {
        let tree: Uuid = get(row, 2)?;
        let node = opt_int(row, 3)?.map(|node| (tree, node));
        Ok(RevertedEntry { op: coded(row, 0, Op::from_code)?, change: int(row, 1)?, node, undo: get(row, 4)? })
    };
    let entries = apply.conn.query(&sql, &[&target])?.iter().map(read).collect::<Result<Vec<_>>>()?;
    revert((apply.change, group), &entries, |entry| {
        let inverse = entry.inverse(group, |(tree, node)| inverse_of_append(apply, tree, node))?;
        let inverse = match (inverse, entry.node) {
            (Some(Mutation::UpdateSession { session, .. }), Some(node)) if has_moved_on(apply, session, node)? => None,
            (inverse, _) => inverse,
        };
        inverse.map(|mutation| apply.apply_and_journal(&mutation, Some(target))).transpose().map(|done| done.is_some())
    })
}

/// True if the session has left `node` and stands at a visible node: undo then leaves it there.
fn has_moved_on(apply: &PgChangeApplier<'_>, session: SessionId, node: (Uuid, i64)) -> Result<bool> {
    let sql = "SELECT tree, position FROM sessions WHERE id = $1";
    let row = apply.conn.query_one(sql, &[&Uuid::from(session)])?;
    let (tree, position) = (get(&row, 0)?, opt_int(&row, 1)?.unwrap_or(node.1));
    Ok((tree, position) != node && visibility::hidden_by(apply, tree, position)?.is_none())
}

/// Returns the inverse of an append: pruning the node. `None` for a root, whose tree is archived, and for a node pruned
/// since.
fn inverse_of_append(apply: &mut PgChangeApplier<'_>, tree: Uuid, node: i64) -> Result<Option<Mutation>> {
    apply.state.lock(apply.conn, &[tree])?;
    let place = apply.place_at(tree, node)?;
    if place.parent.is_none() || visibility::hidden_by(apply, tree, node)? == Some(node) {
        return Ok(None);
    }
    Ok(Some(Mutation::Prune { node: NodeId::from_bytes(place.id.to_bytes()) }))
}
