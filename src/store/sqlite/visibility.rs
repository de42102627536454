//! Visibility of nodes: pruning, restoring, and the resulting counts.
//!
//! A node's `hidden_by` is the node whose pruning hides it. A node is visible if it is not pruned and its parent is
//! visible; a version also needs a visible place. Pruning X sets `hidden_by` to X in the nodes of its branch that have the
//! same `hidden_by` as X (usually none); a branch pruned earlier inside it keeps its own. Restoring X gives the nodes
//! hidden by X the `hidden_by` of X's parent. So each is the exact inverse of the other, and they nest in any order.
//!
//! A node counts its children with the same `hidden_by`, so pruning changes only the parent's count. A tree counts its
//! visible nodes.

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    apply::{AppliedMutation, ChangeApplier},
    staged_visibility::{BranchWalk, StagedVisibilityChange},
    tables::{
        nodes::{self, Anchor, ONLY_CHILD},
        session_states,
        staged_nodes::UNSTAGED,
        trees,
        visibility_marks::HIDDEN_BY,
    },
};
use crate::{
    id::NodeId,
    store::{Mutation, Result, StoreError},
    types::{EdgeKind, TreeCounts},
};

pub(super) fn prune(apply: &mut ChangeApplier<'_>, id: NodeId) -> Result<AppliedMutation> {
    let root = apply.node(id)?;
    if root.parent.is_none() {
        return Err(StoreError::Refused("the root cannot be pruned; archive the tree instead".to_owned()));
    }
    let from = nodes::hidden_by(apply.conn, root.row)?;
    if from == Some(root.row) {
        return Err(StoreError::Conflict("it is pruned already".to_owned()));
    }
    let staged = apply.staged_visibility(id, false);
    let branch = set_hidden_by(apply.conn, root, staged, from, Some(root.row))?;
    apply.receipt.affected += branch.counts.messages.max(1);
    apply.check_prune_lease(&branch)?;
    apply.cache.stale_sessions.extend(branch.sessions_with_state(apply.conn)?);
    Ok(AppliedMutation::new(Some(root.tree), Some(root.row), Some(Mutation::Restore { node: id })))
}

pub(super) fn restore(apply: &mut ChangeApplier<'_>, id: NodeId) -> Result<AppliedMutation> {
    let root = apply.node(id)?;
    match nodes::hidden_by(apply.conn, root.row)? {
        Some(by) if by == root.row => {}
        Some(by) => {
            let outer: String =
                apply.conn.query_row("SELECT local_id FROM nodes WHERE seq = ?1", [by], |r| r.get(0))?;
            return Err(StoreError::Conflict(format!("it was pruned with [{outer}]; restore that")));
        }
        None => return Err(StoreError::Conflict("it is not pruned".to_owned())),
    }
    let to = outer_hidden_by(apply.conn, root)?;
    let staged = apply.staged_visibility(id, true);
    let branch = set_hidden_by(apply.conn, root, staged, Some(root.row), to)?;
    apply.receipt.affected += branch.counts.messages.max(1);
    apply.cache.stale_sessions.extend(branch.sessions_with_state(apply.conn)?);
    if to.is_none() {
        hide_unsupported(apply.conn, branch.versions(apply.conn)?)?;
    }
    Ok(AppliedMutation::new(Some(root.tree), Some(root.row), Some(Mutation::Prune { node: id })))
}

/// The `hidden_by` of a node without its own pruning: that of its parent or, for a version, of its place.
fn outer_hidden_by(conn: &Connection, node: Anchor) -> Result<Option<i64>> {
    inherited_hidden_by(conn, node.parent, place_of(conn, node)?)
}

/// The place of a version, one step of `NodeReader::original`; `None` for other nodes.
pub(super) fn place_of(conn: &Connection, node: Anchor) -> Result<Option<i64>> {
    match node.kind {
        EdgeKind::Version => Ok(conn
            .prepare_cached("SELECT coalesce(version_of, edited_from) FROM nodes WHERE seq = ?1")?
            .query_row([node.row], |r| r.get(0))?),
        _ => Ok(None),
    }
}

/// The `hidden_by` inherited from `parent` and, for a version, from `place`.
pub(super) fn inherited_hidden_by(conn: &Connection, parent: Option<i64>, place: Option<i64>) -> Result<Option<i64>> {
    for node in [parent, place].into_iter().flatten() {
        if let Some(hidden_by) = nodes::hidden_by(conn, node)? {
            return Ok(Some(hidden_by));
        }
    }
    Ok(None)
}

/// After showing a branch, hides those of its versions again whose place is pruned.
fn hide_unsupported(conn: &Connection, versions: Vec<i64>) -> Result<()> {
    for version in versions {
        let version = nodes::anchor(conn, version)?;
        if nodes::hidden_by(conn, version.row)?.is_none()
            && let Some(by) = outer_hidden_by(conn, version)?
        {
            set_hidden_by(conn, version, None, None, Some(by))?;
        }
    }
    Ok(())
}

/// A branch whose visibility was changed.
pub(super) struct ChangedBranch<'s> {
    counts: TreeCounts,
    /// The staged walk; `None`: the branch is in `temp.branch`.
    walk: Option<&'s BranchWalk>,
}

impl ChangedBranch<'_> {
    /// True if a node is in the branch.
    pub(super) fn contains(&self, conn: &Connection, node: i64) -> Result<bool> {
        match self.walk {
            Some(walk) => Ok(walk.contains(node)),
            None => Ok(conn.prepare_cached("SELECT 1 FROM temp.branch WHERE node = ?1")?.exists([node])?),
        }
    }

    /// The sessions with turns in the branch that have a state or records.
    fn sessions_with_state(&self, conn: &Connection) -> Result<Vec<i64>> {
        self.walk.map_or_else(|| session_states::in_branch(conn), |walk| walk.sessions_with_state(conn))
    }

    /// The versions in the branch, in insertion order.
    fn versions(&self, conn: &Connection) -> Result<Vec<i64>> {
        if let Some(walk) = self.walk {
            return Ok(walk.versions.iter().copied().collect());
        }
        let mut versions = conn.prepare_cached(
            "SELECT n.seq FROM temp.branch b JOIN nodes n ON n.seq = b.node WHERE n.kind = 6 ORDER BY n.seq",
        )?;
        Ok(versions.query_map([], |r| r.get(0))?.collect::<rusqlite::Result<_>>()?)
    }
}

/// Changes `hidden_by` from `from` to `to` in the branch at `root`, which may be staged.
fn set_hidden_by<'s>(
    conn: &Connection,
    root: Anchor,
    staged: Option<&'s StagedVisibilityChange>,
    from: Option<i64>,
    to: Option<i64>,
) -> Result<ChangedBranch<'s>> {
    let walk = staged.map(|staged| staged.publish(conn, from, to)).transpose()?.flatten();
    let counts = match walk {
        Some(walk) => walk.counts,
        None => {
            let counts = collect(conn, root, from)?;
            conn.execute(
                &format!(
                    "INSERT INTO node_state (node, continuations, hidden_by)
                         SELECT n.seq, {ONLY_CHILD}, ?1 FROM temp.branch b JOIN nodes n ON n.seq = b.node WHERE true
                     ON CONFLICT (node) DO UPDATE SET hidden_by = excluded.hidden_by"
                ),
                [to],
            )?;
            counts
        }
    };
    // The parent shares this branch's visibility, apart from the `hidden_by` that changes here.
    let shown = from == Some(root.row);
    let by = if shown { 1 } else { -1 };
    let children = match (root.kind, root.parent) {
        (EdgeKind::Version, _) | (_, None) => 0,
        (_, Some(parent)) => nodes::count_child(conn, parent, root.kind, by)?.0,
    };
    if from.is_none() || to.is_none() {
        count_tree(conn, root, &counts, shown, children, walk)?;
    }
    Ok(ChangedBranch { counts, walk })
}

/// Collects the branch in `temp.branch` and counts it as visible.
fn collect(conn: &Connection, root: Anchor, hidden_by: Option<i64>) -> Result<TreeCounts> {
    conn.execute_batch(
        "CREATE TEMP TABLE IF NOT EXISTS branch (node INTEGER PRIMARY KEY, depth INTEGER NOT NULL);
         DELETE FROM temp.branch;",
    )?;
    // A branch consists of children, and of nodes whose place is in it. CROSS JOIN fixes the order of the loops;
    // SQLite's own plan reads the whole tree for every node.
    conn.prepare_cached(&format!(
        "INSERT OR IGNORE INTO temp.branch
         WITH RECURSIVE branch (node, depth) AS (
             SELECT ?1, ?2
             UNION
             SELECT n.seq, n.depth FROM branch b
                 CROSS JOIN nodes n ON n.tree = ?4 AND n.depth = b.depth + 1 AND n.parent = b.node
                 LEFT JOIN node_state s ON s.node = n.seq WHERE {HIDDEN_BY} IS ?3
             UNION
             SELECT n.seq, n.depth FROM branch b CROSS JOIN nodes n ON n.version_of = b.node
                 LEFT JOIN node_state s ON s.node = n.seq WHERE {HIDDEN_BY} IS ?3
             UNION
             SELECT n.seq, n.depth FROM branch b
                 CROSS JOIN nodes n ON n.edited_from = b.node AND n.kind = 6 AND n.version_of IS NULL
                 LEFT JOIN node_state s ON s.node = n.seq WHERE {HIDDEN_BY} IS ?3
         )
         SELECT node, depth FROM branch"
    ))?
    .execute(params![root.row, root.depth, hidden_by, root.tree])?;
    let counts = conn
        .prepare_cached(&format!(
            "SELECT count(*), coalesce(sum(n.kind = 0), 0), coalesce(sum(n.kind = 0 AND coalesce(s.continuations, {ONLY_CHILD}) = 0), 0),
                 coalesce(sum(s.continuations >= 2), 0), max(n.depth)
             FROM temp.branch b JOIN nodes n ON n.seq = b.node LEFT JOIN node_state s ON s.node = b.node"
        ))?
        .query_row([], |r| trees::read_counts(r, 0))?;
    Ok(counts)
}

/// Subtracts a branch from its tree's counts, or adds it. `children` is the parent's current number of continuations.
fn count_tree(
    conn: &Connection,
    root: Anchor,
    branch: &TreeCounts,
    shown: bool,
    children: i64,
    walk: Option<&BranchWalk>,
) -> Result<()> {
    let mut tree = trees::counts(conn, root.tree)?;
    let mut parent_leaf = false;
    let mut parent_branches = false;
    if root.kind == EdgeKind::Continuation
        && let Some(parent) = root.parent
    {
        let parent_kind = nodes::anchor(conn, parent)?.kind;
        parent_leaf = parent_kind == EdgeKind::Continuation && children == i64::from(shown);
        parent_branches = children == 1 + i64::from(shown);
    }
    if shown {
        tree.nodes += branch.nodes;
        tree.messages += branch.messages;
        tree.leaves = tree.leaves + branch.leaves - u64::from(parent_leaf);
        tree.branch_points += branch.branch_points + u64::from(parent_branches);
        tree.max_depth = tree.max_depth.max(branch.max_depth);
    } else {
        tree.nodes = tree.nodes.saturating_sub(branch.nodes);
        tree.messages = tree.messages.saturating_sub(branch.messages);
        tree.leaves = (tree.leaves + u64::from(parent_leaf)).saturating_sub(branch.leaves);
        tree.branch_points = tree.branch_points.saturating_sub(branch.branch_points + u64::from(parent_branches));
        if branch.max_depth >= tree.max_depth {
            tree.max_depth =
                walk.map_or_else(|| trees::deepest(conn, root.tree, None), |walk| walk.depth_of_rest(conn))?;
        }
    }
    trees::set_counts(conn, root.tree, tree)
}

/// The original of a place, which is the parent of all versions' continuations.
pub(super) fn original_of(conn: &Connection, mut node: Anchor) -> Result<Anchor> {
    while let Some(first) = node.version_of {
        node = nodes::anchor(conn, first)?;
    }
    Ok(node)
}

/// Selects a version of a place: the one in `wanted`, else the newest visible one.
pub(super) fn version_read(conn: &Connection, place: i64, wanted: &[i64]) -> Result<i64> {
    if wanted.contains(&place) {
        return Ok(place);
    }
    let mut statement = conn.prepare_cached(&format!(
        "SELECT n.seq FROM nodes n LEFT JOIN node_state s ON s.node = n.seq
         WHERE n.version_of = ?1 AND {HIDDEN_BY} IS NULL ORDER BY n.seq DESC"
    ))?;
    let mut newest = None;
    let mut rows = statement.query([place])?;
    while let Some(row) = rows.next()? {
        let version: i64 = row.get(0)?;
        newest = newest.or(Some(version));
        if wanted.contains(&version) {
            return Ok(version);
        }
    }
    Ok(newest.unwrap_or(place))
}

/// The row number of a node; `None` if it does not exist.
pub(super) fn row_of(conn: &Connection, id: NodeId) -> Result<Option<i64>> {
    Ok(conn
        .prepare_cached(&format!("SELECT seq FROM nodes n WHERE ulid = ?1 AND {UNSTAGED}"))?
        .query_row([id.to_bytes()], |r| r.get(0))
        .optional()?)
}
