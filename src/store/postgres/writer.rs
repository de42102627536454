//! The writer: a named thread that commits all queued changes in one transaction, after which their callers get receipts.
//!
//! A change that fails is answered, and the others are applied again without it. A deadlock, a serialization failure or a
//! lost connection is repeated: nothing was answered. After a connection was lost at COMMIT, the transaction's
//! number shows whether it was committed.

use std::{
    sync::{
        Arc,
        mpsc::{self, TryRecvError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use super::{
    apply::{PgChangeApplier, WriteState},
    connection::PostgresConnection,
    group_reads,
    indexer::PgIndexer,
    server_url::PgServer,
    session_state,
    uuid::Uuid,
};
use crate::{
    id::IdSource,
    session_state::CompiledRules,
    store::{Change, Mutation, OpenOptions, Pending, QueuedChange, Receipt, Result, StoreError},
};

/// Number of mutations after which a transaction accepts no further change.
const MAX_GROUP_MUTATIONS: usize = 1_024;
/// Time that a group waits for the callers of the group before it, who mostly come back at once. Without it they would be in
/// two groups, each of which waits for the other's sync.
const GATHERING: Duration = Duration::from_millis(1);
/// Pause before a transaction is repeated, at first and at most.
pub(super) const RETRY_PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(100)];

type Reply = oneshot::Sender<Result<Receipt>>;

#[derive(Debug)]
struct Queued(Change);

impl QueuedChange for Queued {
    fn change(&self) -> &Change {
        &self.0
    }
}

struct PgWriteJob {
    change: Arc<Queued>,
    reply: Reply,
}

/// The queue of a writer thread.
#[derive(Debug)]
pub(super) struct PgWriterHandle {
    queue: Option<mpsc::Sender<PgWriteJob>>,
    thread: Option<JoinHandle<()>>,
}

impl PgWriterHandle {
    pub(super) fn start(server: PgServer, options: &OpenOptions) -> Result<Self> {
        let (queue, jobs) = mpsc::channel();
        let alone = || WriteConnection { is_alone: true, ..WriteConnection::new(server.clone(), options) };
        let (worker, indexer) = (alone(), PgIndexer::new(alone()));
        let thread = thread::Builder::new()
            .name("loomtree-writer".to_owned())
            .spawn(move || run(worker, indexer, &jobs))
            .map_err(|e| StoreError::Io { detail: e.to_string() })?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    pub(super) fn submit(&self, change: Change) -> Pending {
        let (reply, receipt) = oneshot::channel();
        let change = Arc::new(Queued(change));
        let shared: Option<Arc<dyn QueuedChange>> = Some(Arc::clone(&change) as Arc<dyn QueuedChange>);
        if let Some(queue) = &self.queue {
            // If the thread has ended, the caller finds the channel closed.
            drop(queue.send(PgWriteJob { change, reply }));
        }
        // A commit of a server takes longer than a thread needs to wake.
        Pending { receipt, shared, polls: 0 }
    }
}

impl Drop for PgWriterHandle {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // The thread does not panic; if it did, no caller is left to report to.
            let _ = thread.join();
        }
    }
}

/// A connection that writes, opened anew when it was lost, and the transaction on it.
pub(super) struct WriteConnection {
    server: PgServer,
    pub(super) conn: Option<Arc<PostgresConnection>>,
    ids: Arc<dyn IdSource>,
    pub(super) rules: Arc<CompiledRules>,
    pub(super) wait: Duration,
    pub(super) state: WriteState,
    /// True if one thread uses it, which is in no runtime.
    is_alone: bool,
}

impl WriteConnection {
    pub(super) fn new(server: PgServer, options: &OpenOptions) -> Self {
        let (ids, rules) = (Arc::clone(&options.ids), Arc::clone(&options.rules));
        Self { server, conn: None, ids, rules, wait: options.wait, state: WriteState::default(), is_alone: false }
    }

    /// The connection, opened if there is none.
    pub(super) fn conn(&mut self) -> Result<&PostgresConnection> {
        match &mut self.conn {
            Some(conn) if !conn.is_closed() => {}
            lost => {
                let connect =
                    if self.is_alone { PostgresConnection::connect_alone } else { PostgresConnection::connect };
                *lost = Some(Arc::new(connect(&self.server)?));
            }
        }
        self.conn.as_deref().ok_or(StoreError::Closed)
    }

    /// The connection, for a snapshot of the open transaction.
    pub(super) fn shared(&self) -> Option<Arc<PostgresConnection>> {
        self.conn.clone()
    }

    pub(super) fn begin(&mut self) -> Result<()> {
        self.state = WriteState::default();
        self.conn()?.begin()
    }

    /// Begins a transaction and reads what a group needs.
    fn begin_group(&mut self, group: &[PgWriteJob]) -> Result<()> {
        self.conn()?;
        self.state = WriteState::default();
        let conn = self.conn.as_deref().ok_or(StoreError::Closed)?;
        group_reads::begin(conn, &mut self.state, group.iter().map(|job| &job.change.0), &self.rules)
    }

    /// Applies a change in the open transaction; `group` is the first journal entry of what it belongs to.
    pub(super) fn apply(&mut self, change: &Change, group: Option<i64>) -> Result<Receipt> {
        let conn = self.conn.as_deref().ok_or(StoreError::Closed)?;
        group_reads::compare_local_ids(conn, &mut self.state, change, &self.rules)?;
        let applier = PgChangeApplier {
            conn,
            state: &mut self.state,
            ids: self.ids.as_ref(),
            rules: &self.rules,
            change,
            agent: Uuid::from(change.agent),
            session: change.session.map(Uuid::from),
            group,
            receipt: Receipt::default(),
        };
        applier.run()
    }

    /// Writes what is in memory, so that queries see it.
    pub(super) fn flush(&mut self) -> Result<&PostgresConnection> {
        let conn = self.conn.as_deref().ok_or(StoreError::Closed)?;
        self.state.flush(conn)?;
        for session in std::mem::take(&mut self.state.stale) {
            session_state::rebuild_state(conn, session, &self.rules)?;
        }
        Ok(conn)
    }

    pub(super) fn roll_back(&mut self) {
        self.state = WriteState::default();
        if let Some(conn) = &self.conn
            && conn.batch("ROLLBACK").is_err()
        {
            self.conn = None;
        }
    }

    /// Removes dead rows after a purge, which still hold its text.
    fn vacuum(&mut self) -> Result<()> {
        self.conn()?.on_all_tables("VACUUM").map_err(|error| {
            StoreError::Conflict(format!("the content is purged, but traces stay until a VACUUM succeeds: {error}"))
        })
    }
}

/// True for an error of the connection.
pub(super) fn is_lost(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { .. })
}

/// True for an error after which the same transaction may succeed.
pub(super) fn may_retry(error: &StoreError) -> bool {
    is_lost(error) || matches!(error, StoreError::Busy { .. })
}

fn run(mut worker: WriteConnection, mut indexer: PgIndexer, jobs: &mpsc::Receiver<PgWriteJob>) {
    let mut answered = (0, Instant::now());
    while let Ok(job) = jobs.recv() {
        let mut mutations = job.change.0.mutations.len();
        let mut group = vec![job];
        while mutations < MAX_GROUP_MUTATIONS {
            match jobs.try_recv() {
                Ok(job) => {
                    mutations += job.change.0.mutations.len();
                    group.push(job);
                }
                Err(TryRecvError::Empty) if group.len() < answered.0 && answered.1.elapsed() < GATHERING => {
                    thread::sleep(GATHERING / 8);
                }
                Err(_) => break,
            }
        }
        answered.0 = group.len();
        worker.commit_group(group);
        if let Err(error) = indexer.add(worker.state.appended, worker.state.bytes) {
            tracing::debug!(%error, "the indexer");
        }
        answered.1 = Instant::now();
    }
}

impl WriteConnection {
    /// Commits changes in one transaction and answers them.
    fn commit_group(&mut self, mut group: Vec<PgWriteJob>) {
        let start = Instant::now();
        let mut pause = RETRY_PAUSES[0];
        while !group.is_empty() {
            let error = match self.try_group(&group) {
                Ok(receipts) => return self.answer(group, receipts),
                Err((at, error)) => {
                    self.roll_back();
                    if !may_retry(&error)
                        && let Some(at) = at
                    {
                        drop(group.remove(at).reply.send(Err(error)));
                        continue;
                    }
                    error
                }
            };
            if !may_retry(&error) || start.elapsed() > self.wait {
                for job in group {
                    drop(job.reply.send(Err(copied(&error, self.wait))));
                }
                return;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(RETRY_PAUSES[1]);
        }
    }

    /// Applies and commits all changes; an error names the change that failed, if one did.
    fn try_group(&mut self, group: &[PgWriteJob]) -> std::result::Result<Vec<Receipt>, (Option<usize>, StoreError)> {
        self.begin_group(group).map_err(|error| (None, error))?;
        let mut receipts = Vec::with_capacity(group.len());
        for (at, job) in group.iter().enumerate() {
            let receipt = self.apply(&job.change.0, None).map_err(|error| (Some(at), error))?;
            receipts.push(receipt);
        }
        // A statement that writes many rows fails for all; alone, the change that is at fault is found.
        let only = (group.len() == 1).then_some(0);
        match self.commit() {
            Ok(()) => Ok(receipts),
            Err(error) if only.is_some() || may_retry(&error) => Err((only, error)),
            Err(_) => self.one_by_one(group).map_err(|(at, error)| (Some(at), error)),
        }
    }

    /// Applies and writes each change before the next, so that the one at fault is known.
    fn one_by_one(&mut self, group: &[PgWriteJob]) -> std::result::Result<Vec<Receipt>, (usize, StoreError)> {
        self.roll_back();
        self.begin().map_err(|error| (0, error))?;
        let mut receipts = Vec::with_capacity(group.len());
        for (at, job) in group.iter().enumerate() {
            receipts.push(self.apply(&job.change.0, None).map_err(|error| (at, error))?);
            self.flush().map_err(|error| (at, error))?;
        }
        self.commit().map_err(|error| (group.len().saturating_sub(1), error))?;
        Ok(receipts)
    }

    fn answer(&mut self, group: Vec<PgWriteJob>, receipts: Vec<Receipt>) {
        let purged = group.iter().any(|job| is_purge(&job.change.0));
        let vacuumed = if purged { self.vacuum() } else { Ok(()) };
        for (job, receipt) in group.into_iter().zip(receipts) {
            // A failed vacuum concerns only purges: other changes of the transaction are complete.
            let result = match &vacuumed {
                Err(error) if is_purge(&job.change.0) => Err(copied(error, self.wait)),
                _ => Ok(receipt),
            };
            drop(job.change);
            drop(job.reply.send(result));
        }
    }
}

/// True if the change contains a purge.
fn is_purge(change: &Change) -> bool {
    change.mutations.iter().any(|m| matches!(m, Mutation::Purge(_)))
}

/// The same error for another caller.
pub(super) fn copied(error: &StoreError, wait: Duration) -> StoreError {
    match error {
        StoreError::Full => StoreError::Full,
        StoreError::Busy { .. } => StoreError::Busy { waited: wait },
        StoreError::Conflict(said) => StoreError::Conflict(said.clone()),
        StoreError::SessionEnded => StoreError::SessionEnded,
        StoreError::Refused(said) => StoreError::Refused(said.clone()),
        StoreError::Io { detail } => StoreError::Io { detail: detail.clone() },
        other => StoreError::Io { detail: other.to_string() },
    }
}
