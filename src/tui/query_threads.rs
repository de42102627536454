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
    queries::{LookupContext, lookup},
    screen_query::{ScreenQuery, look},
};
use crate::{ops::Loom, store::Watch};

/// How often it is looked whether something has changed.
const POLL: Duration = Duration::from_millis(100);

/// Something to be read.
pub(crate) enum ReadRequest {
    Look(Arc<ScreenQuery>),
    Ask(ScreenLookup, Box<LookupContext>),
}

/// Who reads.
pub(crate) struct QueryThreads {
    looks: mpsc::Sender<ReadRequest>,
    questions: mpsc::Sender<ReadRequest>,
}

impl QueryThreads {
    /// Starts the threads; they end when nobody can ask them any more. `kept` is of the look that was taken
    /// already.
    pub(crate) fn start(
        loom: &Loom,
        tell: &UnboundedSender<BackgroundReport>,
        watch: Box<dyn Watch>,
        kept: PathCache,
    ) -> std::io::Result<Self> {
        let start = |name: &str, watch: Option<Box<dyn Watch>>, kept: PathCache| {
            let (loom, tell) = (loom.clone(), tell.clone());
            let (sender, requests) = mpsc::channel();
            thread::Builder::new().name(name.to_owned()).spawn(move || read(&loom, &requests, &tell, watch, kept))?;
            std::io::Result::Ok(sender)
        };
        Ok(Self {
            looks: start("loomtree-looks", Some(watch), kept)?,
            questions: start("loomtree-questions", None, PathCache::default())?,
        })
    }

    /// Has something read.
    pub(crate) fn ask(&self, request: ReadRequest) {
        let reader = if matches!(request, ReadRequest::Look(_)) { &self.looks } else { &self.questions };
        // The threads are there as long as this is.
        let _ = reader.send(request);
    }
}

fn read(
    loom: &Loom,
    requests: &mpsc::Receiver<ReadRequest>,
    tell: &UnboundedSender<BackgroundReport>,
    mut watch: Option<Box<dyn Watch>>,
    mut kept: PathCache,
) {
    loop {
        let next = match watch {
            Some(_) => requests.recv_timeout(POLL),
            None => requests.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
        };
        let first = match next {
            Ok(request) => request,
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                if has_changed(&mut watch) && tell.send(BackgroundReport(BackgroundEvent::Changed)).is_err() {
                    return;
                }
                continue;
            }
        };
        let (wanted, passed) = newest(std::iter::once(first).chain(requests.try_iter()));
        for _ in 0..passed {
            let _ = tell.send(BackgroundReport(BackgroundEvent::Passed));
        }
        for request in wanted {
            let heard = match request {
                ReadRequest::Look(wanted) => {
                    // What was changed until now is seen by this look.
                    has_changed(&mut watch);
                    let seen = look(loom, &wanted, &mut kept).map(Box::new).map_err(|error| error.to_string());
                    BackgroundEvent::Seen(wanted.number, seen)
                }
                ReadRequest::Ask(question, about) => {
                    let answer = lookup(loom, &question, &about);
                    BackgroundEvent::Answered(question, answer)
                }
            };
            if tell.send(BackgroundReport(heard)).is_err() {
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
    let mut kept: Vec<ReadRequest> = Vec::new();
    let mut all = 0;
    for request in requests {
        all += 1;
        kept.retain(|before| match (before, &request) {
            (ReadRequest::Look(_), ReadRequest::Look(_)) => false,
            (ReadRequest::Ask(before, _), ReadRequest::Ask(now, _)) => discriminant(before) != discriminant(now),
            _ => true,
        });
        kept.push(request);
    }
    let passed = all - kept.len();
    (kept, passed)
}
