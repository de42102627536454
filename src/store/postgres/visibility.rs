//! Visibility of nodes: pruning, restoring, and the resulting counts. The rules are those of the SQLite backend: a node's
//! `hidden_by` is the node whose pruning hides it, and a node counts its children with the same `hidden_by`.

use super::{
    apply::{PgAppliedMutation, PgChangeApplier},
    connection::PostgresConnection,
    decode::{CONTINUATIONS, FROM, ONLY_CHILD, get, int, opt_int},
    pending_rows::PgNodeAnchor,
    uuid::Uuid,
};
use crate::{
    id::NodeId,
    store::{Mutation, Result, StoreError},
    types::EdgeKind,
};

pub(super) fn prune(apply: &mut PgChangeApplier<'_>, id: NodeId) -> Result<PgAppliedMutation> {
    let root = apply.node(id)?;
    if root.parent.is_none() {
        return Err(StoreError::Refused("the root cannot be pruned; archive the tree instead".to_owned()));
    }
    let from = hidden_by(apply, root.tree, root.seq)?;
    if from == Some(root.seq) {
        return Err(StoreError::Conflict("it is pruned already".to_owned()));
    }
    let branch = set_hidden_by(apply, &root, from, Some(root.seq))?;
    apply.receipt.affected += messages(apply, root.tree, &branch)?.max(1);
    apply.check_prune_lease(root.tree, &branch)?;
    apply.mark_stale(root.tree, &branch)?;
    Ok(PgAppliedMutation::new(root.tree, Some(root.seq), Some(Mutation::Restore { node: id })))
}

pub(super) fn restore(apply: &mut PgChangeApplier<'_>, id: NodeId) -> Result<PgAppliedMutation> {
    let root = apply.node(id)?;
    match hidden_by(apply, root.tree, root.seq)? {
        Some(by) if by == root.seq => {}
        Some(by) => {
            let sql = "SELECT local_id FROM nodes WHERE tree = $1 AND seq = $2";
            let row = apply.conn.query_one(sql, &[&root.tree, &by])?;
            return Err(StoreError::Conflict(format!("it was pruned with [{}]; restore that", get::<&str>(&row, 0)?)));
        }
        None => return Err(StoreError::Conflict("it is not pruned".to_owned())),
    }
    let to = outer_hidden_by(apply, &root)?;
    let branch = set_hidden_by(apply, &root, Some(root.seq), to)?;
    apply.receipt.affected += messages(apply, root.tree, &branch)?.max(1);
    apply.mark_stale(root.tree, &branch)?;
    if to.is_none() {
        hide_unsupported(apply, root.tree, &branch)?;
    }
    Ok(PgAppliedMutation::new(root.tree, Some(root.seq), Some(Mutation::Prune { node: id })))
}

/// The `hidden_by` of a node without its own pruning: that of its parent or, for a version, of its place.
fn outer_hidden_by(apply: &PgChangeApplier<'_>, node: &PgNodeAnchor) -> Result<Option<i64>> {
    let place = if node.kind == EdgeKind::Version { node.version_of.or(node.edited_from) } else { None };
    inherited_hidden_by(apply, node.tree, node.parent, place)
}

/// The `hidden_by` inherited from `parent` and, for a version, from `place`.
pub(super) fn inherited_hidden_by(
    apply: &PgChangeApplier<'_>,
    tree: Uuid,
    parent: Option<i64>,
    place: Option<i64>,
) -> Result<Option<i64>> {
    for node in [parent, place].into_iter().flatten() {
        if let Some(by) = hidden_by(apply, tree, node)? {
            return Ok(Some(by));
        }
    }
    Ok(None)
}

/// The node whose pruning hides a node.
pub(super) fn hidden_by(apply: &PgChangeApplier<'_>, tree: Uuid, node: i64) -> Result<Option<i64>> {
    if let Some(known) = apply.state.states.get(&(tree, node)) {
        return Ok(known.hidden_by);
    }
    let sql = "SELECT hidden_by FROM node_state WHERE tree = $1 AND node = $2";
    Ok(apply.conn.query_opt(sql, &[&tree, &node])?.map(|row| opt_int(&row, 0)).transpose()?.flatten())
}

/// Counts the messages among nodes.
fn messages(apply: &PgChangeApplier<'_>, tree: Uuid, nodes: &[i64]) -> Result<u64> {
    let sql = "SELECT count(*) FROM nodes WHERE tree = $1 AND seq = ANY($2) AND kind = 0";
    Ok(int(&apply.conn.query_one(sql, &[&tree, &nodes])?, 0)?.unsigned_abs())
}

/// After showing a branch, hides its versions again whose place is pruned.
fn hide_unsupported(apply: &mut PgChangeApplier<'_>, tree: Uuid, branch: &[i64]) -> Result<()> {
    let sql = "SELECT seq FROM nodes WHERE tree = $1 AND seq = ANY($2) AND kind = 6 ORDER BY seq";
    for row in apply.conn.query(sql, &[&tree, &branch])? {
        let version = apply.place_at(tree, int(&row, 0)?)?;
        if hidden_by(apply, tree, version.seq)?.is_none()
            && let Some(by) = outer_hidden_by(apply, &version)?
        {
            set_hidden_by(apply, &version, None, Some(by))?;
        }
    }
    Ok(())
}

/// Changes `hidden_by` from `from` to `to` in the branch at `root`; returns its nodes.
fn set_hidden_by(
    apply: &mut PgChangeApplier<'_>,
    root: &PgNodeAnchor,
    from: Option<i64>,
    to: Option<i64>,
) -> Result<Vec<i64>> {
    let branch = collect(apply, root, from)?;
    let sql = format!(
        "INSERT INTO node_state (tree, node, continuations, hidden_by)
         SELECT n.tree, n.seq, {CONTINUATIONS}, $3 {FROM} WHERE n.tree = $1 AND n.seq = ANY($2)
         ON CONFLICT (tree, node) DO UPDATE SET hidden_by = excluded.hidden_by"
    );
    apply.conn.execute(&sql, &[&root.tree, &branch, &to])?;
    // The parent shares this branch's visibility, apart from the tag that changes here.
    let shown = from == Some(root.seq);
    let children = match (root.kind, root.parent) {
        (EdgeKind::Version, _) | (_, None) => 0,
        (_, Some(parent)) => count_child(apply, root.tree, parent, root.kind, if shown { 1 } else { -1 })?,
    };
    if from.is_none() || to.is_none() {
        count_tree(apply, root, &branch, shown, children)?;
    }
    Ok(branch)
}

/// The nodes of a branch with the same `hidden_by`: children, and nodes whose place is in it.
fn collect(apply: &PgChangeApplier<'_>, root: &PgNodeAnchor, hidden_by: Option<i64>) -> Result<Vec<i64>> {
    let sql = "WITH RECURSIVE branch (node) AS (
             SELECT $2::bigint
             UNION
             SELECT c.seq FROM branch b CROSS JOIN LATERAL (
                 SELECT seq FROM nodes WHERE tree = $1 AND parent = b.node
                 UNION ALL SELECT seq FROM nodes WHERE tree = $1 AND version_of = b.node
                 UNION ALL SELECT seq FROM nodes
                     WHERE tree = $1 AND edited_from = b.node AND kind = 6 AND version_of IS NULL) c
                 LEFT JOIN node_state s ON s.tree = $1 AND s.node = c.seq
             WHERE s.hidden_by IS NOT DISTINCT FROM $3
         )
         SELECT node FROM branch";
    apply.conn.query(sql, &[&root.tree, &root.seq, &hidden_by])?.iter().map(|row| int(row, 0)).collect()
}

/// Updates the parent's count when a child of `kind` is added, hidden or shown; returns the count.
pub(super) fn count_child(
    apply: &mut PgChangeApplier<'_>,
    tree: Uuid,
    node: i64,
    kind: EdgeKind,
    by: i64,
) -> Result<i64> {
    let column = match kind {
        EdgeKind::Continuation => "continuations",
        EdgeKind::Annotation => "annotations",
        EdgeKind::Version => "versions",
        EdgeKind::Context | EdgeKind::Instruction | EdgeKind::Tool | EdgeKind::Thought => return Ok(0),
    };
    ensure_state(apply.conn, tree, node)?;
    let sql =
        format!("UPDATE node_state SET {column} = {column} + $3 WHERE tree = $1 AND node = $2 RETURNING {column}");
    int(&apply.conn.query_one(&sql, &[&tree, &node, &by])?, 0)
}

/// Makes a node's row in `node_state` if it has none.
pub(super) fn ensure_state(conn: &PostgresConnection, tree: Uuid, node: i64) -> Result<()> {
    let sql = format!(
        "INSERT INTO node_state (tree, node, continuations)
         SELECT n.tree, n.seq, {ONLY_CHILD} FROM nodes n WHERE n.tree = $1 AND n.seq = $2 ON CONFLICT DO NOTHING"
    );
    conn.execute(&sql, &[&tree, &node]).map(drop)
}

/// Subtracts a branch from its tree's counts, or adds it. `children` is the parent's current number of continuations.
fn count_tree(
    apply: &PgChangeApplier<'_>,
    root: &PgNodeAnchor,
    branch: &[i64],
    shown: bool,
    children: i64,
) -> Result<()> {
    let (mut parent_leaf, mut parent_branches) = (false, false);
    if root.kind == EdgeKind::Continuation
        && let Some(parent) = root.parent
    {
        let parent_kind = apply.place_at(root.tree, parent)?.kind;
        parent_leaf = parent_kind == EdgeKind::Continuation && children == i64::from(shown);
        parent_branches = children == 1 + i64::from(shown);
    }
    apply.conn.execute(
        "UPDATE tree_state t SET nodes = t.nodes + $3 * c.nodes, messages = t.messages + $3 * c.messages,
             leaves = t.leaves + $3 * (c.leaves - $4), branch_points = t.branch_points + $3 * (c.branch_points + $5),
             max_depth = CASE WHEN $3 > 0 THEN greatest(t.max_depth, c.depth) WHEN c.depth < t.max_depth THEN t.max_depth
                 ELSE coalesce((SELECT n.depth FROM nodes n LEFT JOIN node_state s ON s.tree = $1 AND s.node = n.seq
                     WHERE n.tree = $1 AND s.hidden_by IS NULL ORDER BY n.depth DESC LIMIT 1), 0) END
         FROM (SELECT max(n.depth) AS depth, count(*) AS nodes, count(*) FILTER (WHERE n.kind = 0) AS messages,
                   count(*) FILTER (WHERE n.kind = 0 AND coalesce(s.continuations, 0) = 0) AS leaves,
                   count(*) FILTER (WHERE s.continuations >= 2) AS branch_points
               FROM nodes n LEFT JOIN node_state s ON s.tree = $1 AND s.node = n.seq
               WHERE n.tree = $1 AND n.seq = ANY($2)) c
         WHERE t.tree = $1",
        &[
            &root.tree,
            &branch,
            &if shown { 1_i64 } else { -1 },
            &i64::from(parent_leaf),
            &i64::from(parent_branches),
        ],
    )?;
    Ok(())
}

/// The node itself if it is visible, else its nearest visible ancestor.
pub(super) fn nearest_visible(apply: &PgChangeApplier<'_>, tree: Uuid, seq: i64) -> Result<PgNodeAnchor> {
    let mut node = apply.place_at(tree, seq)?;
    // Each step leaves a pruned branch at its root, so the steps are as many as nested prunes.
    while let Some(by) = hidden_by(apply, tree, node.seq)? {
        let pruned = apply.place_at(tree, by)?;
        // The nearest ancestor of a pruned version is its place.
        let place = pruned.version_of.or(pruned.edited_from).filter(|_| pruned.kind == EdgeKind::Version);
        let above = match place {
            Some(first) if hidden_by(apply, tree, first)?.is_none() => Some(first),
            _ => pruned.parent,
        };
        let above = above.ok_or_else(|| StoreError::Undecodable("a root is pruned".to_owned()))?;
        node = apply.place_at(tree, above)?;
    }
    Ok(node)
}
