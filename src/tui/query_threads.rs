//! The threads that read: one looks for the screen, one looks up what was asked, so that no question makes a key wait. Of
//! looks and of questions of one kind only the newest is answered: what came before it nobody waits for any more.
//! Between looks, the first watches the store for changes.

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

/// How often it is looked whether something has changed.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Something to be read.
pub(crate) enum ReadRequest {
    LoadScreen(Arc<ScreenQuery>),
    Query(ScreenLookup, Box<LookupContext>),
}

/// Who reads.
pub(crate) struct QueryThreads {
    screens: mpsc::Sender<ReadRequest>,
    lookups: mpsc::Sender<ReadRequest>,
}

impl QueryThreads {
    /// Starts the threads; they end when nobody can ask them any more. `kept` is of the look that was taken
    /// already.
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
            screens: start("loomtree-looks", Some(watch), path_cache)?,
            lookups: start("loomtree-questions", None, PathCache::default())?,
        })
    }

    /// Has something read.
    pub(crate) fn send(&self, request: ReadRequest) {
        let reader = if matches!(request, ReadRequest::LoadScreen(_)) { &self.screens } else { &self.lookups };
        // The threads are there as long as this is.
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
                    // What was changed until now is seen by this look.
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

/// Whether the store was changed; what cannot be read now is looked at by the next look, which says so.
fn has_changed(watch: &mut Option<Box<dyn Watch>>) -> bool {
    watch.as_mut().is_some_and(|watch| watch.has_changed().unwrap_or(false))
}

/// Requests without those that a newer one of their kind follows, and how many those were.
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
