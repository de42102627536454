//! The writer: one named thread that owns the writing connection.
//!
//! It takes what is queued into one transaction, so that many callers share one sync (group commit). Each change
//! runs in a savepoint of its own: one that fails is rolled back alone and told so, its neighbours go on. Callers
//! get their receipts only after the transaction's sync.
//!
//! Other processes hold the file too. The lock is taken at the start of the transaction (`BEGIN IMMEDIATE`), with
//! short sleeps between tries rather than SQLite's own, which grow to 100 ms and let eight writers starve.

use std::{
    path::PathBuf,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{
    apply::{Apply, Cache},
    error::is_busy,
    purge,
};
use crate::{
    id::IdSource,
    store::{Change, Mutation, Receipt, Result, StoreError},
};

/// Changes taken into one transaction at the most: bounds how long the first of them waits.
const GROUP: usize = 1_024;
/// The longest sleep between two tries for the lock.
const LONGEST_SLEEP: Duration = Duration::from_millis(4);

type Reply = oneshot::Sender<Result<Receipt>>;
type Task = Box<dyn FnOnce(&mut Connection) + Send>;

enum Job {
    Change(Change, Reply),
    Task(Task),
}

#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    path: PathBuf,
}

impl Writer {
    pub(super) fn start(conn: Connection, path: PathBuf, ids: Arc<dyn IdSource>, wait: Duration) -> Result<Self> {
        let (queue, jobs) = mpsc::channel();
        conn.busy_timeout(Duration::ZERO)?;
        let worker = Worker { conn, ids, wait, cache: Cache::default(), path: path.clone() };
        let thread = thread::Builder::new()
            .name("loomtree-writer".to_owned())
            .spawn(move || worker.run(&jobs))
            .map_err(|e| StoreError::Io { detail: e.to_string() })?;
        Ok(Self { queue: Some(queue), thread: Some(thread), path })
    }

    /// A writer of a file that is only read: it refuses.
    pub(super) fn refusing(path: PathBuf) -> Self {
        Self { queue: None, thread: None, path }
    }

    pub(super) fn submit(&self, change: Change, reply: Reply) {
        // Where nobody listens any more, the caller has stopped waiting too, or finds the channel closed.
        match &self.queue {
            None => drop(reply.send(Err(StoreError::ReadOnly { path: self.path.clone() }))),
            Some(queue) => drop(queue.send(Job::Change(change, reply))),
        }
    }

    /// Runs `task` on the writer's thread between two transactions, and waits for it.
    pub(super) fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let Some(queue) = &self.queue else {
            return Err(StoreError::ReadOnly { path: self.path.clone() });
        };
        let (reply, answer) = mpsc::sync_channel(1);
        let task: Task = Box::new(move |conn| drop(reply.send(task(conn))));
        queue.send(Job::Task(task)).map_err(|_| StoreError::Closed)?;
        answer.recv().map_err(|_| StoreError::Closed)?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // The thread does not panic; if it did, there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

struct Worker {
    conn: Connection,
    ids: Arc<dyn IdSource>,
    wait: Duration,
    cache: Cache,
    path: PathBuf,
}

impl Worker {
    fn run(mut self, jobs: &mpsc::Receiver<Job>) {
        let mut next = jobs.recv().ok();
        while let Some(job) = next.take() {
            match job {
                Job::Task(task) => {
                    self.cache.clear();
                    let _ = self.conn.busy_timeout(self.wait);
                    task(&mut self.conn);
                    let _ = self.conn.busy_timeout(Duration::ZERO);
                }
                Job::Change(change, reply) => next = self.group(change, reply, jobs),
            }
            if next.is_none() {
                next = jobs.recv().ok();
            }
        }
    }

    /// One transaction: this change and those that are queued by the time it is done. Returns a job that was taken
    /// from the queue and is not a change.
    fn group(&mut self, change: Change, reply: Reply, jobs: &mpsc::Receiver<Job>) -> Option<Job> {
        let mut other = None;
        let mut done: Vec<(Reply, Result<Receipt>)> = Vec::new();
        let mut purges: Vec<usize> = Vec::new();
        if let Err(error) = self.begin() {
            let _ = reply.send(Err(error));
            return None;
        }
        let mut job = Some((change, reply));
        while let Some((change, reply)) = job.take() {
            let result = self.one(&change);
            if result.is_ok() && change.mutations.iter().any(|m| matches!(m, Mutation::Purge(_))) {
                purges.push(done.len());
            }
            if self.conn.is_autocommit() {
                // The failure (a full disk, a failed read) made SQLite take back the whole transaction.
                let error = result.err().unwrap_or(StoreError::Full);
                Self::fail(done, |result| result.err().unwrap_or_else(|| clone_error(&error)));
                let _ = reply.send(Err(error));
                return None;
            }
            done.push((reply, result));
            if done.len() < GROUP {
                match jobs.try_recv() {
                    Ok(Job::Change(change, reply)) => job = Some((change, reply)),
                    Ok(task @ Job::Task(_)) => other = Some(task),
                    Err(_) => {}
                }
            }
        }
        if let Err(error) = self.conn.execute_batch("COMMIT") {
            self.cache.clear();
            if !self.conn.is_autocommit() {
                let _ = self.conn.execute_batch("ROLLBACK");
            }
            let error = self.explain(error.into());
            Self::fail(done, |result| result.err().unwrap_or_else(|| clone_error(&error)));
            return other;
        }
        if !purges.is_empty() {
            let scrubbed = purge::scrub(&mut self.conn, self.wait);
            let _ = self.conn.busy_timeout(Duration::ZERO);
            if let Err(error) = scrubbed {
                let said =
                    format!("the content is purged, but traces may be left in the file until the next purge: {error}");
                // Only the purges are told: what shared their transaction is done.
                for purge in purges {
                    done[purge].1 = Err(StoreError::Conflict(said.clone()));
                }
            }
        }
        for (reply, result) in done {
            let _ = reply.send(result);
        }
        other
    }

    fn fail(done: Vec<(Reply, Result<Receipt>)>, mut error: impl FnMut(Result<Receipt>) -> StoreError) {
        for (reply, result) in done {
            let _ = reply.send(Err(error(result)));
        }
    }

    /// Takes the file's write lock, waiting for other processes.
    fn begin(&self) -> Result<()> {
        let start = Instant::now();
        let mut sleep = Duration::from_micros(100);
        loop {
            match self.conn.execute_batch("BEGIN IMMEDIATE") {
                Ok(()) => return Ok(()),
                Err(error) if is_busy(&error) => {
                    if start.elapsed() >= self.wait {
                        return Err(StoreError::Busy { waited: self.wait });
                    }
                    thread::sleep(sleep);
                    sleep = (sleep * 2).min(LONGEST_SLEEP);
                }
                Err(error) => return Err(self.explain(error.into())),
            }
        }
    }

    fn one(&mut self, change: &Change) -> Result<Receipt> {
        self.conn.prepare_cached("SAVEPOINT change")?.execute([])?;
        let applied = Apply::begin(&self.conn, &mut self.cache, self.ids.as_ref(), change).and_then(Apply::run);
        match applied {
            Ok(receipt) => {
                self.conn.prepare_cached("RELEASE change")?.execute([])?;
                Ok(receipt)
            }
            Err(error) => {
                self.cache.clear();
                if !self.conn.is_autocommit() && self.conn.execute_batch("ROLLBACK TO change; RELEASE change").is_err()
                {
                    // Half of the change may still be there: nothing of this transaction can be kept.
                    let _ = self.conn.execute_batch("ROLLBACK");
                }
                Err(self.explain(error))
            }
        }
    }

    /// Names the file where SQLite does not.
    fn explain(&self, error: StoreError) -> StoreError {
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

/// One failed sync fails every change of the group, so its error is told several times.
fn clone_error(error: &StoreError) -> StoreError {
    match error {
        StoreError::Full => StoreError::Full,
        StoreError::ReadOnly { path } => StoreError::ReadOnly { path: path.clone() },
        StoreError::Busy { waited } => StoreError::Busy { waited: *waited },
        StoreError::Damaged { detail } => StoreError::Damaged { detail: detail.clone() },
        other => StoreError::Io { detail: other.to_string() },
    }
}
