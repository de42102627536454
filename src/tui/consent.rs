//! Consent, asked for on the screen: what an agent is about to do waits for a person's yes. Questions wait for each other,
//! and none is put while somebody writes: what is typed into a text is no answer.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{mpsc, oneshot};

use super::message::{Heard, Report};
use crate::session::{Approval, Asking, Promise, Verdict};

/// Asks on the screen that it was given to in a [`super::Setup`]. Before that, and after, everything is refused.
#[derive(Debug, Clone, Default)]
pub struct Consent(Arc<Mutex<Desk>>);

#[derive(Debug, Default)]
struct Desk {
    tell: Option<mpsc::UnboundedSender<Report>>,
    asked: u64,
    waiting: HashMap<u64, (Asking, oneshot::Sender<Verdict>)>,
    /// What was allowed for good: the tool, and what it is about.
    always: HashSet<(String, String)>,
}

impl Consent {
    fn desk(&self) -> std::sync::MutexGuard<'_, Desk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Questions go to this screen from now on.
    pub(crate) fn attend(&self, tell: mpsc::UnboundedSender<Report>) {
        self.desk().tell = Some(tell);
    }

    /// A person's answer to a question; `always`: to all others like it too.
    pub(crate) fn answer(&self, number: u64, verdict: Verdict, always: bool) {
        let mut desk = self.desk();
        let Some((asking, answer)) = desk.waiting.remove(&number) else { return };
        if always {
            desk.always.insert((asking.tool, asking.subject));
        }
        // The agent may have been stopped meanwhile.
        let _ = answer.send(verdict);
    }
}

/// A question that somebody waits for; nobody does any more when this goes, and it is taken off the screen.
struct Waiting<'a>(&'a Consent, u64);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut desk = self.0.desk();
        if desk.waiting.remove(&self.1).is_some()
            && let Some(tell) = &desk.tell
        {
            // A screen that is gone shows nothing.
            let _ = tell.send(Report(Heard::Withdrawn(self.1)));
        }
    }
}

impl Approval for Consent {
    fn ask<'a>(&'a self, asking: &'a Asking) -> Promise<'a, Verdict> {
        Box::pin(async move {
            let answer = {
                let mut desk = self.desk();
                if !asking.subject.is_empty() && desk.always.contains(&(asking.tool.clone(), asking.subject.clone())) {
                    return Verdict::Yes;
                }
                desk.asked += 1;
                let (number, (sender, answer)) = (desk.asked, oneshot::channel());
                let report = Report(Heard::Asking(number, asking.clone()));
                if desk.tell.as_ref().is_none_or(|tell| tell.send(report).is_err()) {
                    return Verdict::No(Some("nobody is there to be asked".to_owned()));
                }
                desk.waiting.insert(number, (asking.clone(), sender));
                (Waiting(self, number), answer)
            };
            answer.1.await.unwrap_or(Verdict::No(None))
        })
    }
}
