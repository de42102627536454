//! Copies of large branches in slices, so that other writers continue meanwhile.
//!
//! Each slice is a transaction that copies at most some hundred nodes and lists them in `staged_nodes`. No query returns a listed
//! node. The last transaction applies the whole change: it removes the list and so shows all nodes at once. Between
//! slices the writer thread pauses longer than another process sleeps between two attempts to take the lock.
//!
//! If the process dies before the last transaction, the next writer that opens the file deletes the listed nodes. A
//! locked file next to the database marks a live copy, because the operating system releases the lock of a dead process.

use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::{
    apply::{AppliedMutation, ChangeApplier},
    copy::BranchCopy,
    fts_index,
    prepared_change::PreparedChange,
    scrub, session_state,
    tables::{
        journal::{self, Added},
        nodes,
        staged_nodes::{self, UNSTAGED},
        trees,
    },
    vectors,
    visibility::row_of,
    writer::{Reply, WriterThread},
};
use crate::{
    id::NodeId,
    session_state::CompiledRules,
    store::{AppendedNode, ChangeKind, Mutation, Result, StoreError},
    types::EdgeKind,
};

/// Nodes of a branch that is staged. Smaller branches are copied in the transaction of their change.
const MIN_STAGED_NODES: u64 = 512;
/// Maximum number of nodes of a slice: as many as the search index takes at once.
const SLICE_NODES: u64 = 256;
/// Time after which a slice ends. Its commit, which may index the nodes, takes about as long again.
const SLICE_TIME: Duration = Duration::from_millis(10);
/// Bytes of text after which a slice ends.
const SLICE_BYTES: usize = 512 * 1024;
/// Time between two slices: longer than the longest sleep of a process that waits for the lock.
pub(super) const SLICE_PAUSE: Duration = Duration::from_millis(5);
/// Slices after which the log is written into the file: about 4 MB.
const CHECKPOINT_SLICES: u32 = 8;
/// Nodes of an unfinished copy that are deleted in one transaction.
const DELETED_NODES: i64 = 4_096;

/// A change whose large copies are staged before it is applied.
pub(super) struct CopyJob {
    work: Arc<PreparedChange>,
    reply: Reply,
    copies: Vec<StagedCopy>,
    lock: CopyLock,
}

/// A copy of a large branch.
pub(super) struct StagedCopy {
    pub(super) id: NodeId,
    from: NodeId,
    to: NodeId,
    /// `None` until the first slice.
    branch: Option<BranchCopy>,
    appended: Vec<AppendedNode>,
    /// The journal's last entry when the copy began.
    after: u64,
}

impl WriterThread {
    /// Starts a change that copies a large branch; returns any other change.
    pub(super) fn start_copy(
        &mut self,
        work: Arc<PreparedChange>,
        reply: Reply,
    ) -> Option<(Arc<PreparedChange>, Reply)> {
        let large = |mutation: &Mutation| match mutation {
            Mutation::CopyBranch { from, to, id } if is_large(&self.conn, *from, *to).unwrap_or(false) => {
                Some(StagedCopy { id: *id, from: *from, to: *to, branch: None, appended: Vec::new(), after: 0 })
            }
            _ => None,
        };
        let copies: Vec<StagedCopy> = work.change.mutations.iter().filter_map(large).collect();
        let Some(first) = copies.first() else { return Some((work, reply)) };
        match CopyLock::acquire(&self.path, first.id) {
            Ok(lock) => self.copies.push_back(CopyJob { work, reply, copies, lock }),
            Err(error) => {
                let detail = format!("the lock of a copy: {error}");
                let _ = reply.send(Err(StoreError::Io { detail }));
            }
        }
        None
    }

    /// Runs the next transaction of the first copy.
    pub(super) fn continue_copy(&mut self) {
        let Some(mut job) = self.copies.pop_front() else { return };
        let done = self.transact(|writer| {
            for copy in &mut job.copies {
                if !copy.stage(writer, &job.work)? {
                    return Ok(None);
                }
            }
            writer.apply(&job.work, &job.copies).map(Some)
        });
        match done {
            Ok(None) => {
                self.copies.push_front(job);
                // Otherwise another process would write the whole log into the file in one of its commits.
                self.uncheckpointed += 1;
                if self.uncheckpointed >= CHECKPOINT_SLICES {
                    self.checkpoint();
                }
            }
            Ok(Some(mut receipt)) => {
                let appended = receipt.nodes.split_off(0);
                receipt.nodes = job.copies.into_iter().flat_map(|copy| copy.appended).chain(appended).collect();
                drop(job.reply.send(Ok(receipt)));
            }
            Err(error) => {
                let _ = self.conn.busy_timeout(self.wait);
                for copy in &job.copies {
                    log_failure(delete(&mut self.conn, copy.id, &self.rules));
                }
                let _ = self.conn.busy_timeout(Duration::ZERO);
                self.cache.clear();
                drop(job.lock);
                let _ = job.reply.send(Err(error));
            }
        }
    }

    /// Runs `step` in a transaction of its own.
    fn transact<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.begin()?;
        let result = step(self);
        if result.is_ok() {
            self.commit()?;
        } else {
            self.cache.clear();
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        result.map_err(|error| self.with_context(error))
    }
}

impl StagedCopy {
    /// Copies the next nodes; returns whether the copy is complete.
    fn stage(&mut self, writer: &mut WriterThread, work: &Arc<PreparedChange>) -> Result<bool> {
        let mut apply = writer.applier(work, &[])?;
        let branch = match &mut self.branch {
            Some(branch) => branch,
            none => {
                self.after = journal::last(apply.conn)?;
                none.insert(BranchCopy::begin(&mut apply, self.from, self.to, self.id)?)
            }
        };
        branch.find_appended(apply.conn)?;
        let first = branch.last + 1;
        apply.concealed = Some(branch.root.unwrap_or(first));
        let (start, before, mut bytes) = (Instant::now(), branch.len(), 0);
        let mut is_full = false;
        while !is_full && !branch.is_complete() {
            bytes += branch.step(&mut apply)?;
            is_full = branch.len() - before >= SLICE_NODES || bytes >= SLICE_BYTES || start.elapsed() >= SLICE_TIME;
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
fn is_large(conn: &Connection, from: NodeId, to: NodeId) -> Result<bool> {
    let (Some(from), Some(to)) = (row_of(conn, from)?, row_of(conn, to)?) else { return Ok(false) };
    if nodes::hidden_by(conn, to)?.is_some() {
        return Ok(false);
    }
    let mut branch = conn.prepare_cached(&format!(
        "WITH RECURSIVE branch (node, tree, depth) AS (
             SELECT seq, tree, depth FROM nodes WHERE seq = ?1
             UNION ALL
             SELECT n.seq, n.tree, n.depth FROM branch b
                 CROSS JOIN nodes n ON n.tree = b.tree AND n.depth = b.depth + 1 AND n.parent = b.node
                 LEFT JOIN node_state s ON s.node = n.seq WHERE s.hidden_by IS ?2 AND {UNSTAGED}
             LIMIT ?3
         )
         SELECT count(*) FROM branch"
    ))?;
    let most = MIN_STAGED_NODES + 1;
    let nodes: u64 = branch.query_row((from, nodes::hidden_by(conn, from)?, most), |r| r.get(0))?;
    Ok(nodes == most)
}

/// Shows a staged copy, in the transaction that applies its change.
pub(super) fn publish(apply: &mut ChangeApplier<'_>, staged: &StagedCopy) -> Result<AppliedMutation> {
    let conn = apply.conn;
    let lost = || StoreError::Conflict("the copy was removed by another process".to_owned());
    let (branch, root) = staged.branch.as_ref().and_then(|branch| Some((branch, branch.root?))).ok_or_else(lost)?;
    if staged_nodes::count(conn, staged.id)? != branch.len() {
        return Err(lost());
    }
    if nodes::hidden_by(conn, branch.source.row)? != branch.mark
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
    let joint = Added { leaves: -i64::from(follows_leaf), branch_points: i64::from(children == 2), ..Added::default() };
    trees::add(conn, anchor.tree, &branch.added)?;
    trees::add(conn, anchor.tree, &joint)?;
    staged_nodes::publish(conn, staged.id)?;
    branch.applied(apply)
}

/// Deletes the copies that dead processes left unfinished. If another process prevents it, the nodes stay invisible, and
/// a later writer deletes them.
pub(super) fn delete_unfinished(conn: &mut Connection, path: &Path, rules: &CompiledRules) {
    for copy in staged_nodes::copies(conn).unwrap_or_default() {
        if !CopyLock::is_held(path, copy) {
            log_failure(delete(conn, copy, rules));
            let _ = std::fs::remove_file(lock_path(path, copy));
        }
    }
}

fn log_failure(deleted: Result<()>) {
    if let Err(error) = deleted {
        tracing::warn!(%error, "an unfinished copy could not be deleted");
    }
}

/// Deletes the nodes of an unfinished copy, the last ones first.
fn delete(conn: &mut Connection, copy: NodeId, rules: &CompiledRules) -> Result<()> {
    // Each check of a deleted node would read the whole table of sessions. Nothing else refers to these nodes.
    conn.pragma_update(None, "foreign_keys", "OFF")?;
    let mut deleted = Ok(true);
    while matches!(deleted, Ok(true)) {
        deleted = delete_some(conn, copy, rules);
    }
    conn.pragma_update(None, "foreign_keys", "ON")?;
    deleted.map(drop)
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
        scrub::set_mark(&tx)?;
    }
    session_state::refresh_stale(&tx, &mut sessions, rules)?;
    tx.commit()?;
    Ok(true)
}

/// The locked file of a live copy. Dropping it deletes the file.
struct CopyLock {
    path: PathBuf,
    _file: File,
}

fn lock_path(database: &Path, copy: NodeId) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(format!("-copy-{copy}"));
    PathBuf::from(name)
}

impl CopyLock {
    fn acquire(database: &Path, copy: NodeId) -> io::Result<Self> {
        let path = lock_path(database, copy);
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        file.lock()?;
        Ok(Self { path, _file: file })
    }

    /// True if a live process holds the lock.
    fn is_held(database: &Path, copy: NodeId) -> bool {
        File::open(lock_path(database, copy)).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }
}

impl Drop for CopyLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
