//! The thread that reads. Of looks and of questions of one kind only the newest is answered: what came before it nobody
//! waits for any more. Between requests it looks whether the journal has grown.

use std::{
    mem::discriminant,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use tokio::sync::mpsc::UnboundedSender;

use super::{
    look::{Look, look},
    lookup::{About, lookup},
    message::{Heard, Question, Report},
};
use crate::ops::Loom;

/// How often the journal is looked at.
const POLL: Duration = Duration::from_millis(100);

/// Something to be read.
pub(crate) enum Request {
    Look(Arc<Look>),
    Ask(Question, Box<About>),
}

/// Starts the thread; it ends when nobody can ask it any more.
pub(crate) fn start(loom: Loom, tell: UnboundedSender<Report>) -> std::io::Result<mpsc::Sender<Request>> {
    let (sender, requests) = mpsc::channel();
    thread::Builder::new().name("loomtree-reader".to_owned()).spawn(move || read(&loom, &requests, &tell))?;
    Ok(sender)
}

fn read(loom: &Loom, requests: &mpsc::Receiver<Request>, tell: &UnboundedSender<Report>) {
    let mut known = last(loom);
    loop {
        let first = match requests.recv_timeout(POLL) {
            Ok(request) => request,
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let now = last(loom);
                if now != known {
                    known = now;
                    if tell.send(Report(Heard::Changed(now.unwrap_or(0)))).is_err() {
                        return;
                    }
                }
                continue;
            }
        };
        let (wanted, passed) = newest(std::iter::once(first).chain(requests.try_iter()));
        for _ in 0..passed {
            let _ = tell.send(Report(Heard::Passed));
        }
        for request in wanted {
            let heard = match request {
                Request::Look(wanted) => {
                    let seen = look(loom, &wanted).map(Box::new).map_err(|error| error.to_string());
                    if let Ok(sight) = &seen {
                        known = Some(sight.seq);
                    }
                    Heard::Seen(wanted.number, seen)
                }
                Request::Ask(question, about) => {
                    let answer = lookup(loom, &question, &about);
                    Heard::Answered(question, answer)
                }
            };
            if tell.send(Report(heard)).is_err() {
                return;
            }
        }
    }
}

fn last(loom: &Loom) -> Option<u64> {
    loom.snapshot().ok()?.last_seq().ok()
}

/// Requests without those that a newer one of their kind follows, and how many those were.
fn newest(requests: impl Iterator<Item = Request>) -> (Vec<Request>, usize) {
    let mut kept: Vec<Request> = Vec::new();
    let mut all = 0;
    for request in requests {
        all += 1;
        kept.retain(|before| match (before, &request) {
            (Request::Look(_), Request::Look(_)) => false,
            (Request::Ask(before, _), Request::Ask(now, _)) => discriminant(before) != discriminant(now),
            _ => true,
        });
        kept.push(request);
    }
    let passed = all - kept.len();
    (kept, passed)
}
