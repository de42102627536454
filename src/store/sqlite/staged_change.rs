//! Changes of large branches in slices, so that other writers continue meanwhile: copies, moves, prunes, restores, and the
//! undo of each.
//!
//! Each slice is a short transaction that prepares a part of the change in a form that no query returns: the nodes of a copy
//! ([`staged_copy`](super::staged_copy)), the marks of a branch ([`staged_visibility`](super::staged_visibility)). The last transaction
//! applies the whole change and so shows everything at once. Between slices the writer thread pauses longer than another
//! process sleeps between two attempts to take the lock. The length of a slice follows from the measured time of earlier ones.
//!
//! If the process dies before the last transaction, the next writer that opens the file removes what was prepared. A
//! locked file next to the database marks a live change, because the operating system releases the lock of a dead process.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::{
    prepared_change::PreparedChange,
    purge_rewrite,
    staged_copy::{self, StagedCopy},
    staged_visibility::StagedVisibilityChange,
    tables::{nodes, staged_nodes::UNSTAGED, visibility_marks::HIDDEN_BY},
    undo,
    writer::{Reply, WriterThread},
};
use crate::{
    id::NodeId,
    store::{Mutation, Result, StoreError, sidecar_path},
};

/// Nodes of a branch that is staged. Smaller branches are changed in the transaction of their change.
const MIN_STAGED_NODES: u64 = 512;
/// Desired time of a slice with its commit and its share of a checkpoint: half of what another writer may wait.
const SLICE_TIME: Duration = Duration::from_millis(25);
/// Bounds of the time after which a slice commits.
const WORK_TIME: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(15)];
/// Time between two slices: longer than the longest sleep of a process that waits for the lock.
pub(super) const SLICE_PAUSE: Duration = Duration::from_millis(5);
/// Slices after which the log is written into the file: about 4 MB.
const CHECKPOINT_SLICES: u32 = 8;

/// A change whose large parts are staged before it is applied.
pub(super) struct StagedChange {
    work: Arc<PreparedChange>,
    reply: Reply,
    parts: Vec<StagedPart>,
    locks: Vec<StageLock>,
}

impl StagedChange {
    /// Takes the locks of the parts, unless they are taken. Not earlier than the first slice: the replacement of a mark of
    /// the same branch may hold one. A branch that another process changes is not staged.
    fn take_locks(&mut self, path: &Path) -> io::Result<()> {
        if !self.locks.is_empty() {
            return Ok(());
        }
        for part in std::mem::take(&mut self.parts) {
            match (StageLock::acquire(path, part.id()), &part) {
                (Ok(lock), _) => {
                    self.locks.push(lock);
                    self.parts.push(part);
                }
                (Err(error), StagedPart::Copy(_)) => return Err(error),
                (Err(_), StagedPart::Visibility(_)) => {}
            }
        }
        Ok(())
    }
}

/// A part of a change that is staged.
pub(super) enum StagedPart {
    Copy(StagedCopy),
    Visibility(StagedVisibilityChange),
}

impl StagedPart {
    fn id(&self) -> NodeId {
        match self {
            Self::Copy(copy) => copy.id,
            Self::Visibility(change) => change.id,
        }
    }

    /// Continues the part; returns whether it is complete.
    fn stage(&mut self, writer: &mut WriterThread, work: &Arc<PreparedChange>, slice: &Slice) -> Result<bool> {
        let mut apply = writer.applier(work, &[])?;
        match self {
            Self::Copy(copy) => copy.stage(&mut apply, slice),
            Self::Visibility(change) => change.stage(&mut apply, slice),
        }
    }
}

/// The time limit of a transaction of a staged change.
pub(super) struct Slice {
    until: Instant,
}

impl Slice {
    pub(super) fn is_full(&self) -> bool {
        Instant::now() >= self.until
    }
}

/// The time that a slice works before it commits, adapted to what slices took.
#[derive(Clone, Copy)]
pub(super) struct SlicePace(Duration);

impl Default for SlicePace {
    fn default() -> Self {
        Self(WORK_TIME[1] / 2)
    }
}

impl SlicePace {
    /// Shortens the work after a slice that took too long, at once; lengthens it slowly.
    fn adapt(&mut self, took: Duration) {
        let ratio = SLICE_TIME.as_secs_f64() / took.as_secs_f64().max(1e-6);
        self.0 = self.0.mul_f64(ratio.clamp(0.25, 1.1)).clamp(WORK_TIME[0], WORK_TIME[1]);
    }
}

impl WriterThread {
    /// Starts a change with a large branch; returns any other change.
    pub(super) fn start_staged(
        &mut self,
        work: Arc<PreparedChange>,
        reply: Reply,
    ) -> Option<(Arc<PreparedChange>, Reply)> {
        let parts = large_parts(&self.conn, &work.change.mutations);
        if parts.is_empty() {
            return Some((work, reply));
        }
        self.staged.push_back(StagedChange { work, reply, parts, locks: Vec::new() });
        None
    }

    /// Runs the next transaction of the first staged change.
    pub(super) fn continue_staged(&mut self) {
        if let Some(mut marked) = self.marked.pop_front() {
            match self.slice(|writer, slice| marked.run(&writer.conn, slice)) {
                Ok(true) => {}
                Ok(false) => self.marked.push_front(marked),
                // The mark keeps its meaning; the next writer that opens the file replaces it.
                Err(error) => tracing::warn!(%error, "a mark of a branch could not be replaced"),
            }
            return;
        }
        let Some(mut job) = self.staged.pop_front() else { return };
        if let Err(error) = job.take_locks(&self.path) {
            let detail = format!("the lock of a copy: {error}");
            drop(job.reply.send(Err(StoreError::Io { detail })));
            return;
        }
        let done = self.slice(|writer, slice| {
            for part in &mut job.parts {
                if !part.stage(writer, &job.work, slice)? {
                    return Ok(None);
                }
            }
            writer.apply(&job.work, &job.parts).map(Some)
        });
        match done {
            Ok(None) => self.staged.push_front(job),
            Ok(Some(mut receipt)) => {
                let mut copied = Vec::new();
                for (part, lock) in job.parts.into_iter().zip(job.locks) {
                    match part {
                        StagedPart::Copy(copy) => copied.extend(copy.appended),
                        StagedPart::Visibility(change) => self.marked.extend(change.replacement(lock)),
                    }
                }
                copied.append(&mut receipt.nodes);
                receipt.nodes = copied;
                drop(job.reply.send(Ok(receipt)));
            }
            Err(error) => {
                self.discard(job.parts, job.locks);
                let _ = job.reply.send(Err(error));
            }
        }
    }

    /// Removes what a failed change prepared.
    fn discard(&mut self, parts: Vec<StagedPart>, locks: Vec<StageLock>) {
        for (part, lock) in parts.into_iter().zip(locks) {
            match part {
                StagedPart::Copy(copy) => {
                    let _ = self.conn.busy_timeout(self.wait);
                    staged_copy::delete(&mut self.conn, copy.id, &self.rules);
                    let _ = self.conn.busy_timeout(Duration::ZERO);
                }
                StagedPart::Visibility(change) => self.marked.extend(change.replacement(lock)),
            }
        }
        self.cache.clear();
        // The deleted nodes may have copied text that was purged meanwhile.
        let scrubbed =
            purge_rewrite::pending_mark(&self.conn).and_then(|mark| if mark.is_some() { self.scrub() } else { Ok(()) });
        if let Err(error) = scrubbed {
            tracing::warn!(%error, "the file could not be rewritten after a refused copy");
        }
    }

    /// Runs `step` in a transaction of its own, and adapts the length of the next one.
    fn slice<T>(&mut self, step: impl FnOnce(&mut Self, &Slice) -> Result<T>) -> Result<T> {
        self.begin()?;
        let start = Instant::now();
        let result = step(self, &Slice { until: start + self.pace.0 });
        let result = match result {
            Ok(done) => self.commit().map(|()| done),
            Err(error) => {
                self.cache.clear();
                let _ = self.conn.execute_batch("ROLLBACK");
                Err(self.with_context(error))
            }
        };
        // Otherwise another process would write the whole log into the file in one of its commits.
        self.uncheckpointed += 1;
        if self.uncheckpointed >= CHECKPOINT_SLICES {
            self.checkpoint();
        }
        self.pace.adapt(start.elapsed());
        result
    }
}

/// The large copies and prunes of a change. Changes of visibility are staged only if no other mutation of the change
/// could alter their branch.
fn large_parts(conn: &Connection, mutations: &[Mutation]) -> Vec<StagedPart> {
    let mut parts = Vec::new();
    let mut is_simple = true;
    for mutation in mutations {
        match mutation {
            Mutation::CopyBranch { from, to, id } if staged_copy::is_staged(conn, *from, *to).unwrap_or(false) => {
                parts.push(StagedPart::Copy(StagedCopy::new(*id, *from, *to)));
            }
            Mutation::CopyBranch { .. } => {}
            Mutation::Prune { .. } | Mutation::Restore { .. } => {
                parts.extend(StagedVisibilityChange::of(conn, mutation).map(StagedPart::Visibility));
            }
            Mutation::Undo { group } => {
                let inverses = undo::first_inverses(conn, *group).unwrap_or_default();
                let changes = inverses.iter().filter_map(|inverse| StagedVisibilityChange::of(conn, inverse));
                parts.extend(changes.map(StagedPart::Visibility));
            }
            _ => is_simple = false,
        }
    }
    let changes = parts.iter().filter(|part| matches!(part, StagedPart::Visibility(_))).count();
    if !is_simple || changes > 2 {
        parts.retain(|part| matches!(part, StagedPart::Copy(_)));
    }
    parts
}

/// True if the branch at a row is staged: its nodes with the same visibility are many.
pub(super) fn is_large(conn: &Connection, row: i64) -> Result<bool> {
    let mut branch = conn.prepare_cached(&format!(
        "WITH RECURSIVE branch (node, tree, depth) AS (
             SELECT seq, tree, depth FROM nodes WHERE seq = ?1
             UNION ALL
             SELECT n.seq, n.tree, n.depth FROM branch b
                 CROSS JOIN nodes n ON n.tree = b.tree AND n.depth = b.depth + 1 AND n.parent = b.node
                 LEFT JOIN node_state s ON s.node = n.seq WHERE {HIDDEN_BY} IS ?2 AND {UNSTAGED}
             LIMIT ?3
         )
         SELECT count(*) FROM branch"
    ))?;
    let most = MIN_STAGED_NODES + 1;
    let nodes: u64 = branch.query_row((row, nodes::hidden_by(conn, row)?, most), |r| r.get(0))?;
    Ok(nodes == most)
}

/// The locked file of a live part of a change. Dropping it deletes the file.
pub(super) struct StageLock {
    path: PathBuf,
    _file: File,
}

fn lock_path(database: &Path, id: NodeId) -> PathBuf {
    sidecar_path(database, &format!("-staged-{id}"))
}

impl StageLock {
    /// Takes the lock; fails if it is held.
    pub(super) fn acquire(database: &Path, id: NodeId) -> io::Result<Self> {
        let path = lock_path(database, id);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
        file.try_lock()?;
        let lock = Self { path, _file: file };
        // The former holder may have deleted the file after it was opened here.
        if Self::is_held(database, id) { Ok(lock) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    /// True if a live process holds the lock.
    pub(super) fn is_held(database: &Path, id: NodeId) -> bool {
        File::open(lock_path(database, id)).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Deletes the file that a dead process left.
    pub(super) fn remove(database: &Path, id: NodeId) {
        let _ = std::fs::remove_file(lock_path(database, id));
    }
}

impl Drop for StageLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
