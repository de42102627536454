//! Reading threads: one runs screen queries, one runs lookups, so that a slow lookup does not delay a key. Of several
//! waiting requests of one kind only the newest runs. Between queries the first thread polls the store for changes.

use std::{
    mem::discriminant,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use tokio::sync::mpsc::UnboundedSender;

use super::{
    message::{BackgroundEvent, BackgroundReport, ScreenLookup},
    path_cache::PathCache,
    queries::{LookupContext, run_lookup},
    screen_query::{ScreenQuery, load_screen},
};
use crate::{ops::Loom, store::Watch};

/// Interval between polls of the store.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Request of a read.
pub(crate) enum ReadRequest {
    LoadScreen(Arc<ScreenQuery>),
    Query(ScreenLookup, Box<LookupContext>),
}

/// Queues of the reading threads.
pub(crate) struct QueryThreads {
    screens: mpsc::Sender<ReadRequest>,
    lookups: mpsc::Sender<ReadRequest>,
}

impl QueryThreads {
    /// Starts the threads; they end when the queues are dropped. `path_cache` comes from the first query.
    pub(crate) fn start(
        loom: &Loom,
        reports: &UnboundedSender<BackgroundReport>,
        watch: Box<dyn Watch>,
        path_cache: PathCache,
    ) -> std::io::Result<Self> {
        let start = |name: &str, watch: Option<Box<dyn Watch>>, path_cache: PathCache| {
            let (loom, reports) = (loom.clone(), reports.clone());
            let (sender, requests) = mpsc::channel();
            thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || read(&loom, &requests, &reports, watch, path_cache))?;
            std::io::Result::Ok(sender)
        };
        Ok(Self {
            screens: start("loomtree-screen", Some(watch), path_cache)?,
            lookups: start("loomtree-lookup", None, PathCache::default())?,
        })
    }

    /// Queues a request on its thread.
    pub(crate) fn send(&self, request: ReadRequest) {
        let reader = if matches!(request, ReadRequest::LoadScreen(_)) { &self.screens } else { &self.lookups };
        // The threads live as long as their queues.
        let _ = reader.send(request);
    }
}

fn read(
    loom: &Loom,
    requests: &mpsc::Receiver<ReadRequest>,
    reports: &UnboundedSender<BackgroundReport>,
    mut watch: Option<Box<dyn Watch>>,
    mut path_cache: PathCache,
) {
    loop {
        let next = match watch {
            Some(_) => requests.recv_timeout(POLL_INTERVAL),
            None => requests.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
        };
        let first = match next {
            Ok(request) => request,
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                if has_changed(&mut watch) && reports.send(BackgroundReport(BackgroundEvent::StoreChanged)).is_err() {
                    return;
                }
                continue;
            }
        };
        let (wanted, superseded) = newest(std::iter::once(first).chain(requests.try_iter()));
        for _ in 0..superseded {
            let _ = reports.send(BackgroundReport(BackgroundEvent::Superseded));
        }
        for request in wanted {
            let event = match request {
                ReadRequest::LoadScreen(query) => {
                    // This query sees all changes made until now.
                    has_changed(&mut watch);
                    let seen =
                        load_screen(loom, &query, &mut path_cache).map(Box::new).map_err(|error| error.to_string());
                    BackgroundEvent::ScreenLoaded(query.number, seen)
                }
                ReadRequest::Query(lookup, context) => {
                    let answer = run_lookup(loom, &lookup, &context);
                    BackgroundEvent::QueryDone(lookup, answer)
                }
            };
            if reports.send(BackgroundReport(event)).is_err() {
                return;
            }
        }
    }
}

/// Returns whether the store was changed. Errors are ignored here; the next query reports them.
fn has_changed(watch: &mut Option<Box<dyn Watch>>) -> bool {
    watch.as_mut().is_some_and(|watch| watch.has_changed().unwrap_or(false))
}

/// Removes requests that a newer one of their kind replaces. Returns the rest and the number removed.
fn newest(requests: impl Iterator<Item = ReadRequest>) -> (Vec<ReadRequest>, usize) {
    let mut newest: Vec<ReadRequest> = Vec::new();
    let mut all = 0;
    for request in requests {
        all += 1;
        newest.retain(|before| match (before, &request) {
            (ReadRequest::LoadScreen(_), ReadRequest::LoadScreen(_)) => false,
            (ReadRequest::Query(before, _), ReadRequest::Query(now, _)) => discriminant(before) != discriminant(now),
            _ => true,
        });
        newest.push(request);
    }
    let superseded = all - newest.len();
    (newest, superseded)
}
