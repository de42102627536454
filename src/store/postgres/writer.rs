//! The writer: a named thread that commits all queued changes in one transaction, after which their callers get receipts.
//!
//! A change that fails is answered, and the others are applied again without it. A deadlock, a serialization failure or a
//! lost connection is repeated: nothing was answered. After a connection was lost at COMMIT, the transaction's
//! number and a journal entry show whether it was committed (`lost_commit.rs`); after it was lost during appends at tips, the
//! nodes are looked up (`tip_appends.rs`). A change whose tree another transaction holds waits; the others are committed.

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
    connection::{Isolation, LOCK_WAIT, PostgresConnection},
    group_locks, group_reads,
    indexer::PgIndexer,
    purge::vacuum,
    server_url::PgServer,
    session_state,
    tip_appends::{KnownTips, only_append, written},
    uuid::Uuid,
};
use crate::{
    id::IdSource,
    session_state::CompiledRules,
    store::{Change, Mutation, OpenOptions, PendingCommit, QueuedChange, Receipt, Result, StoreError},
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

/// A change that waits for the writer, and the channel to its caller.
pub(super) struct PgWriteJob {
    change: Arc<Queued>,
    submitted: Instant,
    reply: Reply,
}

impl PgWriteJob {
    pub(super) fn change(&self) -> &Change {
        &self.change.0
    }

    pub(super) fn answer(self, receipt: Receipt) {
        drop(self.change);
        drop(self.reply.send(Ok(receipt)));
    }
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
        let thread =
            thread::Builder::new().name("loomtree-writer".to_owned()).spawn(move || run(worker, indexer, &jobs))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    pub(super) fn submit(&self, change: Change) -> PendingCommit {
        let (reply, receipt) = oneshot::channel();
        let change = Arc::new(Queued(change));
        let shared: Option<Arc<dyn QueuedChange>> = Some(Arc::clone(&change) as Arc<dyn QueuedChange>);
        if let Some(queue) = &self.queue {
            // If the thread has ended, the caller finds the channel closed.
            drop(queue.send(PgWriteJob { change, submitted: Instant::now(), reply }));
        }
        // A commit of a server takes longer than a thread needs to wake.
        PendingCommit { receipt, shared, polls: 0 }
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
    pub(super) tips: KnownTips,
    /// True if the answer to appends at tips was lost: they may have been written.
    pub(super) is_unconfirmed: bool,
    /// Nodes that were committed and not yet counted for the index, and the bytes of their texts.
    appended: [usize; 2],
    /// True if one thread uses it, which is in no runtime.
    is_alone: bool,
    /// Threads that vacuum after purges and send the results of these purges.
    vacuums: Vec<JoinHandle<()>>,
}

impl WriteConnection {
    pub(super) fn new(server: PgServer, options: &OpenOptions) -> Self {
        let (ids, rules) = (Arc::clone(&options.ids), Arc::clone(&options.rules));
        let (state, wait) = (WriteState::default(), options.wait);
        Self {
            server,
            conn: None,
            ids,
            rules,
            wait,
            state,
            tips: KnownTips::default(),
            is_unconfirmed: false,
            appended: [0; 2],
            is_alone: false,
            vacuums: Vec::new(),
        }
    }

    /// The connection, opened if there is none.
    pub(super) fn conn(&mut self) -> Result<&PostgresConnection> {
        match &mut self.conn {
            Some(conn) if !conn.is_closed() => {}
            lost => {
                let connect =
                    if self.is_alone { PostgresConnection::connect_alone } else { PostgresConnection::connect };
                // Behind it may be another server, which does not have all nodes of the first.
                self.tips = KnownTips::default();
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
        let wait = self.wait;
        self.conn()?.begin_within(wait)
    }

    /// Begins a transaction and reads what a group needs. If `blocked` is given, moves changes whose trees are locked by other
    /// transactions into it instead of waiting.
    fn begin_group(&mut self, group: &mut Vec<PgWriteJob>, blocked: Option<&mut Vec<PgWriteJob>>) -> Result<()> {
        self.conn()?;
        self.state = WriteState::default();
        let conn = self.conn.as_deref().ok_or(StoreError::Closed)?;
        let isolation = blocked.is_none().then_some(Isolation::ReadCommitted);
        if let Some(blocked) = blocked {
            let changes: Vec<&Change> = group.iter().map(PgWriteJob::change).collect();
            let mut waits = group_locks::lock_free(conn, &changes, &self.rules)?.into_iter();
            blocked.extend(group.extract_if(.., |_| waits.next().unwrap_or(false)));
        }
        let changes = || group.iter().map(PgWriteJob::change);
        group_reads::read(conn, &mut self.state, changes(), &self.rules, (isolation, self.wait))?;
        if self.is_unconfirmed {
            self.state.written = written(conn, changes())?;
        }
        Ok(())
    }

    /// Locks the trees of a change in an open transaction before anything else. Appends do so themselves.
    pub(super) fn lock_trees(&mut self, change: &Change) -> Result<()> {
        if change.mutations.iter().all(|mutation| matches!(mutation, Mutation::Append(_))) {
            return Ok(());
        }
        let conn = self.conn.as_deref().ok_or(StoreError::Closed)?;
        group_locks::lock_trees(conn, &mut self.state, change, &self.rules)
    }

    /// Applies a change in the open transaction; `group` is the first journal entry of what it belongs to.
    pub(super) fn apply(&mut self, change: &Change, group: Option<i64>) -> Result<Receipt> {
        if let Some(receipt) = only_append(change).and_then(|node| self.state.written.remove(&node.id)) {
            return Ok(receipt);
        }
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
    // Changes whose trees other transactions hold.
    let mut blocked: Vec<PgWriteJob> = Vec::new();
    loop {
        let mut group = std::mem::take(&mut blocked);
        let before = group.len();
        if before == 0 {
            match jobs.recv() {
                Ok(job) => group.push(job),
                Err(_) => break,
            }
        }
        // Those that wait leave room for others.
        let mut mutations: usize = group.iter().skip(before).map(|job| job.change().mutations.len()).sum();
        while mutations < MAX_GROUP_MUTATIONS {
            match jobs.try_recv() {
                Ok(job) => {
                    mutations += job.change().mutations.len();
                    group.push(job);
                }
                Err(TryRecvError::Empty) if group.len() < answered.0 && answered.1.elapsed() < GATHERING => {
                    thread::sleep(GATHERING / 8);
                }
                Err(_) => break,
            }
        }
        answered.0 = group.len();
        let is_divided = before > 0 && group.len() > before;
        blocked = worker.commit_group(group, is_divided);
        if let Some(conn) = worker.conn.as_deref()
            && let [nodes, bytes] = std::mem::take(&mut worker.appended)
            && let Err(error) = indexer.add(conn, nodes, bytes)
        {
            tracing::debug!(%error, "the indexer");
        }
        answered.1 = Instant::now();
    }
    for vacuum in worker.vacuums {
        // The thread does not panic; if it did, no caller is left to report to.
        let _ = vacuum.join();
    }
}

impl WriteConnection {
    /// Commits changes in one transaction and answers them. Returns the changes whose trees other transactions hold. If
    /// `is_divided`, the other changes are committed without waiting for them.
    fn commit_group(&mut self, mut group: Vec<PgWriteJob>, mut is_divided: bool) -> Vec<PgWriteJob> {
        let start = Instant::now();
        let mut pause = RETRY_PAUSES[0];
        let mut blocked = Vec::new();
        self.is_unconfirmed = false;
        if !is_divided {
            self.append_at_tips(&mut group);
            // Another transaction holds a tree: the others of the group have waited long enough.
            is_divided = group.len() > 1 && start.elapsed() >= LOCK_WAIT;
        }
        while !group.is_empty() {
            let begun = Instant::now();
            let error = match self.try_group(&mut group, is_divided.then_some(&mut blocked)) {
                Ok(receipts) => {
                    let changes = group.iter().map(PgWriteJob::change);
                    self.tips.add(&self.state, changes.zip(&receipts));
                    self.count_appended(self.state.appended, self.state.bytes);
                    self.answer(group, receipts);
                    break;
                }
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
            if matches!(error, StoreError::Busy { .. }) && begun.elapsed() >= LOCK_WAIT {
                if is_divided || group.len() == 1 {
                    blocked.append(&mut group);
                }
                is_divided = true;
                continue;
            }
            // A server that refuses a connection may have written them.
            let is_unknown = self.is_unconfirmed && self.conn.is_none();
            if !may_retry(&error) && !is_unknown || start.elapsed() > self.wait {
                let error = match error {
                    StoreError::Busy { .. } => StoreError::Busy { waited: self.wait },
                    error => error,
                };
                for job in group {
                    drop(job.reply.send(Err(error.duplicate())));
                }
                break;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(RETRY_PAUSES[1]);
        }
        for job in blocked.extract_if(.., |job| job.submitted.elapsed() > self.wait) {
            drop(job.reply.send(Err(StoreError::Busy { waited: self.wait })));
        }
        blocked
    }

    pub(super) fn count_appended(&mut self, nodes: usize, bytes: usize) {
        self.appended = [self.appended[0] + nodes, self.appended[1] + bytes];
    }

    /// Applies and commits all changes but those that are moved to `blocked`; an error names the change that failed, if one
    /// did.
    fn try_group(
        &mut self,
        group: &mut Vec<PgWriteJob>,
        blocked: Option<&mut Vec<PgWriteJob>>,
    ) -> std::result::Result<Vec<Receipt>, (Option<usize>, StoreError)> {
        self.begin_group(group, blocked).map_err(|error| (None, error))?;
        let mut receipts = Vec::with_capacity(group.len());
        for (at, job) in group.iter().enumerate() {
            let receipt = self.apply(job.change(), None).map_err(|error| (Some(at), error))?;
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
    fn one_by_one(&mut self, group: &mut Vec<PgWriteJob>) -> std::result::Result<Vec<Receipt>, (usize, StoreError)> {
        self.roll_back();
        self.begin_group(group, None).map_err(|error| (0, error))?;
        let mut receipts = Vec::with_capacity(group.len());
        for (at, job) in group.iter().enumerate() {
            receipts.push(self.apply(job.change(), None).map_err(|error| (at, error))?);
            self.flush().map_err(|error| (at, error))?;
        }
        self.commit().map_err(|error| (group.len().saturating_sub(1), error))?;
        Ok(receipts)
    }

    /// Answers changes. Purges are answered after a vacuum, for which the others do not wait.
    fn answer(&mut self, group: Vec<PgWriteJob>, receipts: Vec<Receipt>) {
        let mut purges = Vec::new();
        for (job, receipt) in group.into_iter().zip(receipts) {
            if job.change().is_purge() {
                purges.push((job, receipt));
                continue;
            }
            job.answer(receipt);
        }
        if purges.is_empty() {
            return;
        }
        let server = self.server.clone();
        let run = move || {
            let vacuumed = vacuum(&server);
            for (job, receipt) in purges {
                drop(job.change);
                let result = vacuumed.as_ref().map(|()| receipt).map_err(StoreError::duplicate);
                drop(job.reply.send(result));
            }
        };
        self.vacuums.retain(|vacuum| !vacuum.is_finished());
        // Without a thread the callers find their channels closed.
        self.vacuums.extend(thread::Builder::new().name("loomtree-vacuum".to_owned()).spawn(run));
    }
}
