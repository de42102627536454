//! Copying of branches: new nodes with the same text, authors and times under another parent.

use std::collections::HashMap;

use super::{
    apply::{PgAppliedMutation, PgChangeApplier},
    complete_nodes,
    connection::Params,
    decode::{FROM, NODE, PgNodeRow},
    row_cursor, visibility,
};
use crate::{
    id::NodeId,
    store::{Mutation, Result, StoreError, new_node::copy_of},
};

/// Copies `from` and its visible descendants (annotations, sources and versions included) under `to`, in insertion order,
/// in one transaction. What follows a version follows its copy. The metadata of each copy names its original.
pub(super) fn copy_branch(
    apply: &mut PgChangeApplier<'_>,
    from: NodeId,
    to: NodeId,
    id: NodeId,
) -> Result<PgAppliedMutation> {
    let (source, target) = (apply.node(from)?, apply.node(to)?);
    let hidden_by = visibility::hidden_by(apply, source.tree, source.seq)?;
    let place = apply.original_of(source)?;
    let other_versions = (place.seq != source.seq).then_some(place.seq);
    // The continuations of a version are those of its original, whose other versions are not copied.
    let sql = format!(
        "WITH RECURSIVE branch (node) AS (
             (SELECT $2::bigint UNION SELECT c.seq FROM nodes c LEFT JOIN node_state s ON s.tree = $1 AND s.node = c.seq
              WHERE c.tree = $1 AND c.parent = $4 AND c.version_of IS DISTINCT FROM $4
                  AND s.hidden_by IS NOT DISTINCT FROM $3)
             UNION ALL
             SELECT c.seq FROM branch b JOIN nodes c ON c.tree = $1 AND c.parent = b.node
                 LEFT JOIN node_state s ON s.tree = $1 AND s.node = c.seq
             WHERE s.hidden_by IS NOT DISTINCT FROM $3
         )
         SELECT {NODE} {FROM} WHERE n.tree = $1 AND n.seq IN (SELECT node FROM branch)
         ORDER BY n.seq <> $2, n.seq"
    );
    let mut copies: HashMap<NodeId, NodeId> = HashMap::new();
    let mut by_seq: HashMap<i64, NodeId> = HashMap::new();
    let mut root = None;
    let params: Params<'_> = &[&source.tree, &source.seq, &hidden_by, &other_versions];
    row_cursor::each_page(apply.conn, "branch", (&sql, params), |rows| {
        let read = rows.iter().map(PgNodeRow::read).collect::<Result<Vec<_>>>()?;
        let above: Vec<_> = read.iter().map(|row| (row.seq, row.parent)).collect();
        for (node, (seq, parent)) in complete_nodes::finish(apply.conn, read)?.into_iter().zip(above) {
            let is_root = seq == source.seq;
            let copy = if is_root { id } else { NodeId::new(apply.ids.ulid(apply.change.at)) };
            let parent = parent.and_then(|parent| by_seq.get(&parent)).copied().filter(|_| !is_root).unwrap_or(to);
            let copied = |id: Option<NodeId>| id.and_then(|id| copies.get(&id)).copied();
            let (original, halves) = (node.id, [copied(node.version_of), copied(node.edited_from)]);
            let new = copy_of(node, (copy, parent), is_root, halves)?;
            let made = apply.append(&new)?;
            apply.receipt.affected += 1;
            root = root.or(made.node);
            copies.insert(original, copy);
            by_seq.insert(seq, copy);
            if is_root {
                by_seq.extend(other_versions.map(|place| (place, copy)));
            }
        }
        // Texts wait in memory until they are written.
        apply.flush()
    })?;
    let root = root.ok_or_else(|| StoreError::not_found("node", from))?;
    Ok(PgAppliedMutation::new(target.tree, Some(root), Some(Mutation::Prune { node: id })))
}
