//! The stream of changes of every process, as an iterator.

use std::{
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use loomtree::{
    ops::{self, JournalFollower},
    types::JournalEntry,
};
use pyo3::prelude::*;

use crate::{errors::raise, records::Event};

/// Checks between two looks for a signal such as Ctrl+C.
const CHECKS_PER_SIGNAL: u32 = 5;

/// An iterator over the changes of every process, in the order of their commits. It waits for the next change.
#[pyclass(frozen, module = "loomtree")]
pub(crate) struct Events(Mutex<JournalFollower>);

impl Events {
    pub(crate) fn new(loom: ops::Loom, after: u64) -> Self {
        Self(Mutex::new(JournalFollower::new(loom, after)))
    }

    /// Waits for an entry until `end`; `None` if there is none.
    fn next(&self, py: Python<'_>, end: Option<Instant>) -> PyResult<Option<JournalEntry>> {
        loop {
            py.check_signals()?;
            for _ in 0..CHECKS_PER_SIGNAL {
                let entry = py.detach(|| self.take()).map_err(raise)?;
                let now = Instant::now();
                if entry.is_some() || end.is_some_and(|end| end <= now) {
                    return Ok(entry);
                }
                let pause =
                    end.map_or(JournalFollower::POLL_INTERVAL, |end| JournalFollower::POLL_INTERVAL.min(end - now));
                py.detach(|| thread::sleep(pause));
            }
        }
    }

    /// Returns the next entry that was committed, if there is one.
    fn take(&self) -> ops::Result<Option<JournalEntry>> {
        let mut follower = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = follower.take() {
            return Ok(Some(entry));
        }
        follower.read()?;
        Ok(follower.take())
    }
}

#[pymethods]
impl Events {
    /// Waits for a change for at most so many seconds. Returns all changes that are there, in order.
    #[pyo3(signature = (timeout=0.0))]
    fn read(&self, py: Python<'_>, timeout: f64) -> PyResult<Vec<Event>> {
        let wait = Duration::try_from_secs_f64(timeout).unwrap_or_default();
        let mut events = Vec::new();
        let mut end = Some(Instant::now() + wait);
        while let Some(entry) = self.next(py, end)? {
            events.push(Event(entry));
            end = Some(Instant::now());
        }
        Ok(events)
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        Ok(self.next(py, None)?.map(Event))
    }
}
