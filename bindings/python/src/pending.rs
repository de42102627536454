//! A queued change. A program waits for it, or is called when it is on disk, so that an event loop is not blocked.

use std::{
    future::Future as _,
    hint,
    pin::Pin,
    sync::{Mutex, OnceLock, PoisonError, mpsc},
    task, thread,
    time::{Duration, Instant},
};

use loomtree::{
    id::NodeId,
    store::{self, Receipt, StoreError},
};
use pyo3::{exceptions::PyRuntimeError, prelude::*};

use crate::{
    callback_threads::RunningCall,
    errors::{LoomError, raise},
};

/// A queued change. It is committed whether or not a program waits for it.
#[pyclass(frozen, module = "loomtree")]
pub(crate) struct Pending {
    change: Mutex<Option<store::PendingCommit>>,
    nodes: Vec<NodeId>,
}

/// A change for the thread that reports commits, and the function to call.
type Watched = (store::PendingCommit, Vec<NodeId>, Py<PyAny>, RunningCall);

impl Pending {
    pub(crate) fn new(change: Option<store::PendingCommit>, nodes: Vec<NodeId>) -> Self {
        Self { change: Mutex::new(change), nodes }
    }

    fn take(&self) -> PyResult<store::PendingCommit> {
        let mut change = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        change.take().ok_or_else(|| PyRuntimeError::new_err("the result of this change was taken already"))
    }
}

#[pymethods]
impl Pending {
    /// ULIDs of the nodes that the change appends, in order.
    #[getter]
    fn node_ids(&self) -> Vec<String> {
        ids(&self.nodes)
    }

    /// Waits until the change is on disk. Returns the ULIDs of its nodes.
    fn wait(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let change = self.take()?;
        py.detach(|| change.wait()).map_err(raise)?;
        Ok(ids(&self.nodes))
    }

    /// Waits for at most so many microseconds. Returns whether the change is on disk.
    fn poll(&self, py: Python<'_>, micros: u64) -> PyResult<bool> {
        let mut change = self.take()?;
        match py.detach(|| poll_until(&mut change, Duration::from_micros(micros))) {
            Some(result) => result.map(|_| true).map_err(raise),
            None => {
                *self.change.lock().unwrap_or_else(PoisonError::into_inner) = Some(change);
                Ok(false)
            }
        }
    }

    /// Calls `done(ids, error)` from another thread when the change is on disk or was refused. One of both is `None`.
    fn notify(&self, done: Py<PyAny>) -> PyResult<()> {
        static COMMITS: OnceLock<Option<mpsc::Sender<Watched>>> = OnceLock::new();
        let watched = (self.take()?, self.nodes.clone(), done, RunningCall::begin());
        let sent = COMMITS.get_or_init(start_notifier).as_ref().map(|commits| commits.send(watched));
        sent.and_then(Result::ok).ok_or_else(|| LoomError::new_err("the thread that reports commits does not run"))
    }
}

fn ids(nodes: &[NodeId]) -> Vec<String> {
    nodes.iter().map(ToString::to_string).collect()
}

/// Polls a change without parking the thread: on fast storage the receipt arrives sooner than a thread would wake.
fn poll_until(change: &mut store::PendingCommit, most: Duration) -> Option<Result<Receipt, StoreError>> {
    let end = Instant::now() + most;
    let mut context = task::Context::from_waker(task::Waker::noop());
    loop {
        for _ in 0..64 {
            if let task::Poll::Ready(result) = Pin::new(&mut *change).poll(&mut context) {
                return Some(result);
            }
            hint::spin_loop();
        }
        if Instant::now() >= end {
            return None;
        }
    }
}

/// Starts the thread that reports commits. Commits end in the order of their submission, so one thread waits for all.
fn start_notifier() -> Option<mpsc::Sender<Watched>> {
    let (commits, watched) = mpsc::channel::<Watched>();
    let run = move || {
        for (change, nodes, done, _running) in watched {
            let result = change.wait();
            // At the end of the interpreter nobody waits any more.
            let _ = Python::try_attach(|py| {
                let called = match result {
                    Ok(_) => done.call1(py, (ids(&nodes), py.None())),
                    Err(error) => done.call1(py, (py.None(), raise(error))),
                };
                if let Err(error) = called {
                    error.write_unraisable(py, None);
                }
            });
        }
    };
    thread::Builder::new().name("loomtree-commits".to_owned()).spawn(run).ok().map(|_| commits)
}
