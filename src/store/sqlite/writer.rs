//! The writer: a named thread that owns the writing connection.
//!
//! All queued changes are committed in one transaction, so that many callers share one sync (group commit), after which
//! they get receipts. If a change fails, the others are applied again: a savepoint per change would slow down all.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{
    apply::ChangeApplier,
    fts_index,
    job_queue::{IdleWriter, JobQueue, Task, WriteJob},
    prepared_change::{ChangePreparer, PreparedChange},
    purge_rewrite, session_state,
    staged_change::{SLICE_PAUSE, SlicePace, StagedChange, StagedPart},
    staged_visibility::MarkReplacement,
    transaction::LentWriter,
    writer_cache::WriterCache,
};
use crate::{
    id::IdSource,
    session_state::CompiledRules,
    store::{
        Change, OpenOptions, Receipt, Result, StoreError,
        transaction_rules::{TransactionOwner, check_no_open_transaction},
    },
};

/// Number of mutations after which a transaction accepts no further change: bounds the latency of the first one.
const MAX_GROUP_MUTATIONS: usize = 1_024;
/// Polls of the queue before the thread sleeps: about 50 µs, the cost of waking a thread on a virtual machine.
const MAX_QUEUE_POLLS: u32 = 1_024;

pub(super) type Reply = oneshot::Sender<Result<Receipt>>;

#[derive(Debug)]
pub(super) struct WriterHandle {
    queue: Option<mpsc::Sender<WriteJob>>,
    thread: Option<JoinHandle<()>>,
    path: PathBuf,
    pub(super) tokenizers: ChangePreparer,
    pub(super) rules: Arc<CompiledRules>,
    transaction_owner: TransactionOwner,
    pub(super) idle: Arc<IdleWriter>,
}

impl WriterHandle {
    pub(super) fn start(
        conn: Connection,
        path: PathBuf,
        options: &OpenOptions,
        marked: Vec<MarkReplacement>,
    ) -> Result<Self> {
        let (queue, jobs) = mpsc::channel();
        let idle = Arc::<IdleWriter>::default();
        let jobs = JobQueue { jobs, idle: Arc::clone(&idle) };
        conn.busy_timeout(Duration::ZERO)?;
        let worker = WriterThread {
            conn,
            ids: Arc::clone(&options.ids),
            rules: Arc::clone(&options.rules),
            wait: options.wait,
            cache: WriterCache::default(),
            path: path.clone(),
            uncheckpointed: 0,
            staged: VecDeque::new(),
            marked: marked.into(),
            pace: SlicePace::default(),
        };
        let thread = thread::Builder::new().name("loomtree-writer".to_owned()).spawn(move || worker.run(&jobs))?;
        let (rules, queue, thread) = (Arc::clone(&options.rules), Some(queue), Some(thread));
        Ok(Self {
            queue,
            thread,
            path,
            tokenizers: ChangePreparer::default(),
            rules,
            transaction_owner: TransactionOwner::default(),
            idle,
        })
    }

    /// Creates a writer that refuses all changes, for a read-only store.
    pub(super) fn read_only(path: PathBuf) -> Self {
        let (tokenizers, transaction_owner, idle) =
            (ChangePreparer::default(), TransactionOwner::default(), Arc::default());
        Self { queue: None, thread: None, path, tokenizers, rules: Arc::default(), transaction_owner, idle }
    }

    /// Queues a change; returns its prepared form, shared with the writer thread.
    pub(super) fn submit(&self, change: Change, reply: Reply) -> Option<Arc<PreparedChange>> {
        // Send errors are ignored: the caller has dropped its receiver, or finds the channel closed.
        let queue = match self.queue() {
            Ok(queue) => queue,
            Err(error) => {
                drop(reply.send(Err(error)));
                return None;
            }
        };
        let work = PreparedChange::new(change);
        self.tokenizers.prepare_hashes(&work, &self.rules);
        self.idle.send(queue, WriteJob::Change(Arc::clone(&work), reply));
        self.tokenizers.prepare_words(&work);
        Some(work)
    }

    /// Runs `task` on the writer thread between two transactions, and waits for its result.
    pub(super) fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let queue = self.queue()?;
        let (reply, answer) = mpsc::sync_channel(1);
        let task: Task = Box::new(move |conn| drop(reply.send(task(conn))));
        self.idle.send(queue, WriteJob::Task(task));
        answer.recv().map_err(|_| StoreError::Closed)?
    }

    /// Borrows the writer for a transaction of several changes, after the queued changes.
    pub(super) fn borrow(&self) -> Result<LentWriter> {
        let (reply, lent) = mpsc::sync_channel(1);
        self.idle.send(self.queue()?, WriteJob::Transaction(reply));
        let lent = lent.recv().map_err(|_| StoreError::Closed)??;
        Ok(lent.owned_by_this_thread(&self.transaction_owner))
    }

    pub(super) fn queue(&self) -> Result<&mpsc::Sender<WriteJob>> {
        check_no_open_transaction(&self.transaction_owner)?;
        self.queue.as_ref().ok_or_else(|| StoreError::ReadOnly { path: self.path.clone() })
    }
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // The thread does not panic; if it did, no caller is left to report to.
            let _ = thread.join();
        }
    }
}

pub(super) struct WriterThread {
    pub(super) conn: Connection,
    ids: Arc<dyn IdSource>,
    pub(super) rules: Arc<CompiledRules>,
    pub(super) wait: Duration,
    pub(super) cache: WriterCache,
    pub(super) path: PathBuf,
    /// Changes in progress. The first one advances.
    pub(super) staged: VecDeque<StagedChange>,
    /// Marks of changed branches, replaced before the next staged change.
    pub(super) marked: VecDeque<MarkReplacement>,
    pub(super) pace: SlicePace,
    /// Transactions since the last checkpoint.
    pub(super) uncheckpointed: u32,
}

impl WriterThread {
    /// Receives the next job. Polls briefly before it sleeps: a caller that appends one message after another sends the
    /// next one soon, and waking a thread costs as much as an append.
    fn next_job(mut self, queue: &JobQueue) -> Option<(Self, WriteJob)> {
        while !self.staged.is_empty() || !self.marked.is_empty() {
            match queue.recv_timeout(SLICE_PAUSE) {
                Some(job) => return Some((self, job)),
                None => self.continue_staged(),
            }
        }
        for _ in 0..MAX_QUEUE_POLLS {
            match queue.try_recv() {
                Ok(job) => return Some((self, job)),
                Err(mpsc::TryRecvError::Disconnected) => return None,
                Err(mpsc::TryRecvError::Empty) => std::hint::spin_loop(),
            }
        }
        queue.recv_idle(self)
    }

    /// Checkpoints the log while no caller waits. If readers prevent it, a later checkpoint does the work.
    pub(super) fn checkpoint(&mut self) {
        self.uncheckpointed = 0;
        if let Err(error) = self.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
            tracing::debug!(%error, "moving the log into the file");
        }
    }

    fn run(mut self, queue: &JobQueue) {
        let mut next = None;
        loop {
            let job = match next.take() {
                Some(job) => job,
                None => match self.next_job(queue) {
                    Some((writer, job)) => {
                        self = writer;
                        job
                    }
                    None => return,
                },
            };
            match job {
                WriteJob::Task(task) => {
                    self.cache.clear();
                    let _ = self.conn.busy_timeout(self.wait);
                    task(&mut self.conn);
                    let _ = self.conn.busy_timeout(Duration::ZERO);
                }
                WriteJob::Change(work, reply) => {
                    if let Some((work, reply)) = self.start_staged(work, reply) {
                        next = self.commit_group(work, reply, queue);
                    }
                    // A full queue does not stop the staged changes.
                    self.continue_staged();
                }
                WriteJob::Transaction(caller) => match self.lend(&caller) {
                    Some(writer) => self = writer,
                    None => return,
                },
                WriteJob::Words(changes) => PreparedChange::read_words(&changes, &mut self.cache.words),
                WriteJob::CheckpointDue => {}
            }
        }
    }

    /// Commits this change and those queued meanwhile in one transaction. Returns a received job that is not a change.
    fn commit_group(&mut self, work: Arc<PreparedChange>, reply: Reply, queue: &JobQueue) -> Option<WriteJob> {
        let mut other = None;
        let mut refused: Vec<(Reply, StoreError)> = Vec::new();
        let mut group: Vec<(Arc<PreparedChange>, Reply, Receipt)> = Vec::new();
        let mut job = Some((work, reply));
        let mut mutations = 0;
        if let Err(error) = self.begin() {
            self.reply_all(job.map(|(_, reply)| reply), &error);
            return None;
        }
        while let Some((work, reply)) = job.take() {
            mutations += work.change.mutations.len();
            match self.apply(&work, &[]) {
                Ok(receipt) => group.push((work, reply, receipt)),
                Err(error) => {
                    let error = self.with_context(error);
                    // A purge that finds nothing may still have to finish an earlier one before its reply.
                    if work.change.is_purge() {
                        refused.push((reply, error));
                    } else {
                        let _ = reply.send(Err(error));
                    }
                    if let Err(error) = self.replay_without(&mut group) {
                        reply_refused(refused, &Ok(()));
                        self.reply_all(group.into_iter().map(|(_, reply, _)| reply), &error);
                        return None;
                    }
                }
            }
            if mutations < MAX_GROUP_MUTATIONS {
                match queue.try_recv() {
                    Ok(WriteJob::Change(work, reply)) => job = self.start_staged(work, reply),
                    Ok(job) => other = Some(job),
                    Err(_) => {}
                }
            }
        }
        self.uncheckpointed += 1;
        if let Err(error) = self.commit() {
            reply_refused(refused, &Ok(()));
            self.reply_all(group.into_iter().map(|(_, reply, _)| reply), &error);
            return other;
        }
        let purged = !refused.is_empty() || group.iter().any(|(work, ..)| work.change.is_purge());
        let scrubbed = if purged { self.scrub() } else { Ok(()) };
        reply_refused(refused, &scrubbed);
        for (work, reply, receipt) in group {
            // A failed scrub concerns only purges: other changes of the transaction are complete.
            let result = match &scrubbed {
                Err(error) if work.change.is_purge() => Err(error.duplicate()),
                _ => Ok(receipt),
            };
            drop(work);
            let _ = reply.send(result);
        }
        other
    }

    pub(super) fn applier<'w>(
        &'w mut self,
        work: &'w Arc<PreparedChange>,
        staged: &'w [StagedPart],
    ) -> Result<ChangeApplier<'w>> {
        ChangeApplier::begin(&self.conn, &mut self.cache, self.ids.as_ref(), &self.rules, work, staged)
    }

    pub(super) fn apply(&mut self, work: &Arc<PreparedChange>, staged: &[StagedPart]) -> Result<Receipt> {
        self.applier(work, staged)?.run()
    }

    /// Applies a change; `group` is the first journal entry of the transaction that it belongs to.
    pub(super) fn apply_in_group(&mut self, work: &Arc<PreparedChange>, group: Option<i64>) -> Result<Receipt> {
        self.applier(work, &[])?.in_group(group).run()
    }

    /// Rolls back after the last change failed, and applies the other changes again. A change that fails now (disk
    /// full) is answered with its error and dropped.
    fn replay_without(&mut self, group: &mut Vec<(Arc<PreparedChange>, Reply, Receipt)>) -> Result<()> {
        let mut left = std::mem::take(group);
        loop {
            self.cache.clear();
            if !self.conn.is_autocommit() {
                self.conn.execute_batch("ROLLBACK")?;
            }
            if let Err(error) = self.begin() {
                *group = left;
                return Err(error);
            }
            let mut failed = None;
            for (at, (work, _, receipt)) in left.iter_mut().enumerate() {
                match self.apply(work, &[]) {
                    Ok(again) => *receipt = again,
                    Err(error) => {
                        failed = Some((at, error));
                        break;
                    }
                }
            }
            let Some((at, error)) = failed else { break };
            let (_, reply, _) = left.remove(at);
            let _ = reply.send(Err(self.with_context(error)));
        }
        *group = left;
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Result<()> {
        let flushed = self.cache.flush(&self.conn);
        let written = flushed.and_then(|()| fts_index::index_if_due(&self.conn, &mut self.cache));
        let written = written
            .and_then(|()| session_state::refresh_stale(&self.conn, &mut self.cache.stale_sessions, &self.rules));
        let committed = written.and_then(|()| Ok(self.conn.prepare_cached("COMMIT")?.execute([]).map(drop)?));
        self.cache.is_uncommitted &= committed.is_err();
        committed.map_err(|error| {
            self.roll_back();
            self.with_context(error)
        })
    }

    /// Rewrites the file after a purge.
    pub(super) fn scrub(&mut self) -> Result<()> {
        let scrubbed = purge_rewrite::scrub(&mut self.conn, self.wait);
        let _ = self.conn.busy_timeout(Duration::ZERO);
        scrubbed.map_err(|error| {
            StoreError::Conflict(format!(
                "the content is purged, but traces may be left in the file until it is opened again: {error}"
            ))
        })
    }

    /// Replies with the same error to all: a failed sync fails every change of its group.
    fn reply_all(&self, replies: impl IntoIterator<Item = Reply>, error: &StoreError) {
        for reply in replies {
            let _ = reply.send(Err(error.duplicate()));
        }
    }

    /// Adds the path or the wait to an error that lacks it.
    pub(super) fn with_context(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Backend(source)
                if source.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code)
                    == Some(rusqlite::ErrorCode::ReadOnly) =>
            {
                StoreError::ReadOnly { path: self.path.clone() }
            }
            StoreError::Busy { .. } => StoreError::Busy { waited: self.wait },
            other => other,
        }
    }
}

/// Replies to refused purges, with the scrub's error if it failed too.
fn reply_refused(refused: Vec<(Reply, StoreError)>, scrubbed: &Result<()>) {
    for (reply, error) in refused {
        let _ = reply.send(Err(scrubbed.as_ref().err().map_or(error, StoreError::duplicate)));
    }
}
