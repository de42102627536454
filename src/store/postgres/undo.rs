//! Undo and redo, based on the journal's entries alone: each holds its inverse mutation.

use super::{
    apply::{PgChangeApplier, signed},
    decode::{coded, get, int, opt_int},
    journal::group_range,
    uuid::Uuid,
    visibility,
};
use crate::{
    id::NodeId,
    store::{ChangeKind, Mutation, Result, StoreError},
    types::Op,
};

/// Applies the inverse of each entry of a group, the last first.
pub(super) fn undo(apply: &mut PgChangeApplier<'_>, group: u64) -> Result<()> {
    if !apply.is_undo() {
        return Err(StoreError::Refused("only an undo or redo can revert changes".to_owned()));
    }
    apply.flush()?;
    let target = signed(group);
    let (first, end) = group_range(target);
    let sql =
        "SELECT op, change, node, undo, tree FROM journal WHERE seq >= $1 AND seq < $2 AND grp = $3 ORDER BY seq DESC";
    let entries = apply.conn.query(sql, &[&first, &end, &target])?;
    let Some(first) = entries.last() else {
        return Err(StoreError::not_found("operation", group));
    };
    let named = coded(first, 0, Op::from_code)?;
    let (mut applied, mut refused) = (false, true);
    for row in &entries {
        let (op, change) = (coded(row, 0, Op::from_code)?, int(row, 1)?);
        if !op.can_be_undone() && op != Op::Undo {
            continue;
        }
        refused = false;
        // Undoing an import only archives its trees.
        if op == Op::Import && change != ChangeKind::CreateTree.code() {
            continue;
        }
        let mutation = match (get::<Option<&str>>(row, 3)?, opt_int(row, 2)?) {
            (Some(text), _) => Some(
                serde_json::from_str(text)
                    .map_err(|e| StoreError::Undecodable(format!("undo of entry {group}: {e}")))?,
            ),
            (None, Some(node)) if change == ChangeKind::Append.code() => inverse_of_append(apply, get(row, 4)?, node)?,
            (None, _) => None,
        };
        if let Some(mutation) = mutation {
            apply.apply_and_journal(&mutation, Some(target))?;
            applied = true;
        }
    }
    if refused {
        return Err(StoreError::Refused(format!("a {named} cannot be undone")));
    }
    if applied { Ok(()) } else { Err(StoreError::Conflict("nothing of this operation is left to revert".to_owned())) }
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
