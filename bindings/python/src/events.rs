//! The stream of changes of every process, as an iterator.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use loomtree::{
    ops,
    store::{JournalFilter, Watch},
    types::JournalEntry,
};
use pyo3::prelude::*;

use crate::{errors::raise, records::Event};

/// Entries of one read.
const PAGE_ENTRIES: u64 = 256;
/// Interval of checks for a commit.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Checks between two looks for a signal such as Ctrl+C.
const CHECKS_PER_SIGNAL: u32 = 5;

/// An iterator over the changes of every process, in the order of their commits. It waits for the next change.
#[pyclass(frozen, module = "loomtree")]
pub(crate) struct Events(Mutex<Follower>);

struct Follower {
    loom: ops::Loom,
    watch: Option<Box<dyn Watch>>,
    after: u64,
    page: VecDeque<JournalEntry>,
    /// True if there may be entries that no commit announces: at the start, and after a full page.
    full: bool,
}

impl Events {
    pub(crate) fn new(loom: ops::Loom, after: u64) -> Self {
        Self(Mutex::new(Follower { loom, watch: None, after, page: VecDeque::new(), full: true }))
    }

    /// Waits for an entry until `end`; `None` if there is none.
    fn next(&self, py: Python<'_>, end: Option<Instant>) -> PyResult<Option<JournalEntry>> {
        loop {
            py.check_signals()?;
            for _ in 0..CHECKS_PER_SIGNAL {
                let entry =
                    py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).next()).map_err(raise)?;
                let now = Instant::now();
                if entry.is_some() || end.is_some_and(|end| end <= now) {
                    return Ok(entry);
                }
                let pause = end.map_or(POLL_INTERVAL, |end| POLL_INTERVAL.min(end - now));
                py.detach(|| thread::sleep(pause));
            }
        }
    }
}

impl Follower {
    /// Returns the next entry that is in the file.
    fn next(&mut self) -> ops::Result<Option<JournalEntry>> {
        if self.page.is_empty() {
            let mut watch = match self.watch.take() {
                Some(watch) => watch,
                None => self.loom.store().watch()?,
            };
            // The check comes before the read, so that a commit between both is not missed.
            if watch.has_changed()? || self.full {
                let before = self.after.saturating_add(PAGE_ENTRIES + 1);
                let page = JournalFilter::default().before(before).after(self.after);
                self.page = self.loom.snapshot()?.journal(page)?.into_iter().rev().collect();
                self.full = self.page.len() as u64 == PAGE_ENTRIES;
            }
            self.watch = Some(watch);
        }
        let entry = self.page.pop_front();
        self.after = entry.as_ref().map_or(self.after, |entry| entry.seq);
        Ok(entry)
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
