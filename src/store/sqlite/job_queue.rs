//! The writer thread's queue of jobs, and the place where its state is while the thread sleeps.
//!
//! Waking a thread and waiting for its reply takes as long as a small commit. While the thread sleeps, a caller that would
//! wait for it commits on its own thread instead ([`super::caller_thread_commit`]). A queued job is counted until the thread has
//! both the job and the writer, so that a caller never overtakes a change that was queued before.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::{
    prepared_change::PreparedChange,
    transaction::LentWriter,
    writer::{Reply, WriterThread},
};
use crate::{store::Result, text_index::WordTokenizer};

/// Idle time before a checkpoint.
const CHECKPOINT_IDLE: Duration = Duration::from_millis(50);
/// Minimum number of transactions that make a checkpoint worth its syncs.
pub(super) const MIN_CHECKPOINT_TRANSACTIONS: u32 = 100;

pub(super) type Task = Box<dyn FnOnce(&mut Connection) + Send>;

pub(super) enum WriteJob {
    Change(Arc<PreparedChange>, Reply),
    Task(Task),
    Transaction(mpsc::SyncSender<Result<LentWriter>>),
    /// Changes that callers committed, to be tokenized for the index.
    Words(Vec<Arc<PreparedChange>>),
    /// Callers committed so much that the log should be checkpointed when they pause.
    CheckpointDue,
}

impl WriteJob {
    /// True if the job needs the writer, and so must not be overtaken.
    fn is_ordered(&self) -> bool {
        !matches!(self, Self::Words(_) | Self::CheckpointDue)
    }
}

/// The writer while its thread sleeps.
#[derive(Default)]
pub(super) struct IdleWriter {
    state: Mutex<IdleWriterState>,
    queued: AtomicUsize,
}

#[derive(Default)]
pub(super) struct IdleWriterState {
    /// `None` while the writer thread works, or the writer is lent.
    pub(super) writer: Option<WriterThread>,
    /// End of the last commit of a caller.
    pub(super) committed: Option<Instant>,
    /// Committed changes that are not tokenized yet.
    pub(super) untokenized_changes: Vec<Arc<PreparedChange>>,
}

impl fmt::Debug for IdleWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdleWriter").field("queued", &self.queued).finish_non_exhaustive()
    }
}

impl IdleWriter {
    /// Returns the state, unless another thread uses it or a job is queued.
    pub(super) fn try_state(&self) -> Option<MutexGuard<'_, IdleWriterState>> {
        let state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        (self.queued.load(Ordering::SeqCst) == 0).then_some(state)
    }

    fn state(&self) -> MutexGuard<'_, IdleWriterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a job. A failure means that the writer thread ended.
    pub(super) fn send(&self, queue: &mpsc::Sender<WriteJob>, job: WriteJob) -> bool {
        if job.is_ordered() {
            self.queued.fetch_add(1, Ordering::SeqCst);
        }
        queue.send(job).is_ok()
    }

    /// True if the writer should checkpoint once no caller commits for a while.
    fn is_checkpoint_due(&self) -> bool {
        self.state().writer.as_ref().is_some_and(|writer| writer.uncheckpointed >= MIN_CHECKPOINT_TRANSACTIONS)
    }

    /// Checkpoints unless a caller has committed within the idle time.
    fn checkpoint(&self) {
        let mut state = self.state();
        let is_idle = state.committed.is_none_or(|committed| committed.elapsed() >= CHECKPOINT_IDLE);
        if let Some(mut writer) = state.writer.take_if(|_| is_idle) {
            // Without the lock, so that a caller queues its change instead of waiting.
            drop(state);
            writer.checkpoint();
            self.state().writer = Some(writer);
        }
    }
}

/// The writer thread's end of the queue.
pub(super) struct JobQueue {
    pub(super) jobs: mpsc::Receiver<WriteJob>,
    pub(super) idle: Arc<IdleWriter>,
}

impl JobQueue {
    /// Receives a job without waiting, while the thread has the writer.
    pub(super) fn try_recv(&self) -> std::result::Result<WriteJob, mpsc::TryRecvError> {
        self.jobs.try_recv().inspect(|job| self.uncount(job))
    }

    /// Receives a job while the thread has the writer; `None` if there is none in time.
    pub(super) fn recv_timeout(&self, most: Duration) -> Option<WriteJob> {
        self.jobs.recv_timeout(most).ok().inspect(|job| self.uncount(job))
    }

    fn uncount(&self, job: &WriteJob) {
        if job.is_ordered() {
            self.idle.queued.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Leaves the writer to callers until a job needs it. Returns both; `None` if the store was dropped.
    pub(super) fn recv_idle(&self, writer: WriterThread) -> Option<(WriterThread, WriteJob)> {
        self.idle.state().writer = Some(writer);
        let mut tokenizer = WordTokenizer::default();
        loop {
            let received = if self.idle.is_checkpoint_due() {
                self.jobs.recv_timeout(CHECKPOINT_IDLE)
            } else {
                self.jobs.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected)
            };
            match received {
                Ok(WriteJob::CheckpointDue) => {}
                Ok(WriteJob::Words(changes)) => PreparedChange::read_words(&changes, &mut tokenizer),
                Ok(job) => {
                    let writer = self.idle.state().writer.take()?;
                    self.uncount(&job);
                    return Some((writer, job));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => self.idle.checkpoint(),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    drop(self.idle.state().writer.take());
                    return None;
                }
            }
        }
    }
}
