//! Copies of large branches in slices ([`staged_change`](super::staged_change)).
//!
//! Each slice copies at most some hundred nodes and lists them in `staged_nodes`. No query returns a listed node. The last
//! transaction removes the list and so shows all nodes at once. If the process dies before it, the next writer that opens the
//! file deletes the listed nodes.

use std::{collections::BTreeSet, path::Path};

use rusqlite::Connection;

use super::{
    apply::{AppliedMutation, ChangeApplier},
    copy_branch::BranchCopy,
    fts_index, purge_rewrite, session_state,
    staged_change::{SLICE_PAUSE, Slice, StageLock, is_large},
    tables::{
        journal::{self, TreeCountDelta},
        nodes, staged_nodes, trees,
    },
    vectors,
    visibility::row_of,
};
use crate::{
    id::NodeId,
    session_state::CompiledRules,
    store::{AppendedNode, ChangeKind, Result, StoreError},
    types::EdgeKind,
};

/// Maximum number of nodes of a slice: as many as the search index takes at once.
const SLICE_NODES: u64 = 256;
/// Bytes of text after which a slice ends.
const SLICE_BYTES: usize = 512 * 1024;
/// Nodes of an unfinished copy that are deleted in one transaction.
const DELETED_NODES: i64 = 256;

/// A copy of a large branch.
pub(super) struct StagedCopy {
    pub(super) id: NodeId,
    from: NodeId,
    to: NodeId,
    /// `None` until the first slice.
    branch: Option<BranchCopy>,
    pub(super) appended: Vec<AppendedNode>,
    /// The journal's last entry when the copy began.
    after: u64,
}

impl StagedCopy {
    pub(super) fn new(id: NodeId, from: NodeId, to: NodeId) -> Self {
        Self { id, from, to, branch: None, appended: Vec::new(), after: 0 }
    }

    /// Copies the next nodes; returns whether the copy is complete.
    pub(super) fn stage(&mut self, apply: &mut ChangeApplier<'_>, slice: &Slice) -> Result<bool> {
        let branch = match &mut self.branch {
            Some(branch) => branch,
            none => {
                self.after = journal::last(apply.conn)?;
                none.insert(BranchCopy::begin(apply, self.from, self.to, self.id)?)
            }
        };
        branch.find_appended(apply.conn)?;
        let first = branch.last + 1;
        apply.concealed = Some(branch.root.unwrap_or(first));
        let (before, mut bytes) = (branch.len(), 0);
        let mut is_full = false;
        while !is_full && !branch.is_complete() {
            bytes += branch.step(apply)?;
            is_full = branch.len() - before >= SLICE_NODES || bytes >= SLICE_BYTES || slice.is_full();
        }
        apply.flush_nodes()?;
        self.appended.append(&mut apply.receipt.nodes);
        let copied = branch.len() - before;
        if copied > 0 {
            let last = nodes::last(apply.conn)?;
            staged_nodes::add(apply.conn, self.id, [first, last], self.after)?;
        }
        Ok(branch.is_complete() && !is_full)
    }
}

/// True if the visible branch at `from` is staged. A copy to a pruned node is hidden with it, node by
/// node, so it is not staged.
pub(super) fn is_staged(conn: &Connection, from: NodeId, to: NodeId) -> Result<bool> {
    let (Some(from), Some(to)) = (row_of(conn, from)?, row_of(conn, to)?) else { return Ok(false) };
    Ok(nodes::hidden_by(conn, to)?.is_none() && is_large(conn, from)?)
}

/// Shows a staged copy, in the transaction that applies its change.
pub(super) fn publish(apply: &mut ChangeApplier<'_>, staged: &StagedCopy) -> Result<AppliedMutation> {
    let conn = apply.conn;
    let lost = || StoreError::Conflict("the copy was removed by another process".to_owned());
    let (branch, root) = staged.branch.as_ref().and_then(|branch| Some((branch, branch.root?))).ok_or_else(lost)?;
    if staged_nodes::count(conn, staged.id)? != branch.len() {
        return Err(lost());
    }
    if nodes::hidden_by(conn, branch.source.row)? != branch.hidden_by
        || nodes::hidden_by(conn, branch.target.row)?.is_some()
        || journal::has_since(conn, staged.after, ChangeKind::Purge)?
    {
        return Err(StoreError::Conflict("nodes were pruned or purged while they were copied".to_owned()));
    }
    let anchor = nodes::anchor(conn, root)?;
    let parent = nodes::anchor(conn, anchor.parent.ok_or_else(lost)?)?;
    let author = nodes::author(conn, root)?;
    apply.check_append_lease(parent.row, author)?;
    nodes::set_hidden(conn, root, None)?;
    let (children, _) = nodes::count_child(conn, parent.row, EdgeKind::Continuation, 1)?;
    let follows_leaf = children == 1 && parent.kind == EdgeKind::Continuation;
    let joint = TreeCountDelta {
        leaves: -i64::from(follows_leaf),
        branch_points: i64::from(children == 2),
        ..TreeCountDelta::default()
    };
    trees::add(conn, anchor.tree, &branch.added)?;
    trees::add(conn, anchor.tree, &joint)?;
    staged_nodes::publish(conn, staged.id)?;
    branch.applied(apply)
}

/// Deletes the copies that dead processes left unfinished. If another process prevents it, the nodes stay invisible, and
/// a later writer deletes them.
pub(super) fn delete_unfinished(conn: &mut Connection, path: &Path, rules: &CompiledRules) {
    for copy in staged_nodes::copies(conn).unwrap_or_default() {
        if !StageLock::is_held(path, copy) {
            delete(conn, copy, rules);
            StageLock::remove(path, copy);
        }
    }
}

/// Deletes the nodes of an unfinished copy, the last ones first.
pub(super) fn delete(conn: &mut Connection, copy: NodeId, rules: &CompiledRules) {
    // Each check of a deleted node would read the whole table of sessions. Nothing else refers to these nodes.
    let mut deleted = conn.pragma_update(None, "foreign_keys", "OFF").map(|()| true).map_err(StoreError::from);
    while matches!(deleted, Ok(true)) {
        deleted = delete_some(conn, copy, rules);
        std::thread::sleep(SLICE_PAUSE);
    }
    let checked = conn.pragma_update(None, "foreign_keys", "ON").map_err(StoreError::from);
    if let Err(error) = deleted.and(checked) {
        tracing::warn!(%error, "an unfinished copy could not be deleted");
    }
}

/// Deletes the last nodes of an unfinished copy; returns `false` if there are none.
fn delete_some(conn: &mut Connection, copy: NodeId, rules: &CompiledRules) -> Result<bool> {
    let tx = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let Some((range, after)) = staged_nodes::last_range(&tx, copy)? else { return Ok(false) };
    let last = range[1];
    let first = range[0].max(last - DELETED_NODES + 1);
    let mut statement =
        tx.prepare("SELECT DISTINCT session FROM nodes WHERE seq BETWEEN ?1 AND ?2 AND session IS NOT NULL")?;
    let mut sessions =
        statement.query_map([first, last], |r| r.get(0))?.collect::<rusqlite::Result<BTreeSet<i64>>>()?;
    drop(statement);
    fts_index::delete(&tx, first, last)?;
    vectors::remove_deleted(&tx, first, last)?;
    for sql in [
        "DELETE FROM node_state WHERE node BETWEEN ?1 AND ?2",
        "DELETE FROM local_ids_newest WHERE node BETWEEN ?1 AND ?2",
        "DELETE FROM local_ids_kept WHERE (local_id, tree) IN (SELECT local_id, tree FROM nodes WHERE seq BETWEEN ?1 AND ?2)",
        "DELETE FROM nodes WHERE seq BETWEEN ?1 AND ?2",
    ] {
        tx.execute(sql, [first, last])?;
    }
    staged_nodes::cut(&tx, range, first)?;
    fts_index::lower(&tx)?;
    if journal::has_since(&tx, after, ChangeKind::Purge)? {
        // The deleted text may be that of purged nodes.
        purge_rewrite::set_mark(&tx)?;
    }
    session_state::refresh_stale(&tx, &mut sessions, rules)?;
    tx.commit()?;
    Ok(true)
}
