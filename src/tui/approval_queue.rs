//! Consent, asked for on the screen: what an agent is about to do waits for a person's yes. Questions wait for each other,
//! and none is put while somebody writes: what is typed into a text is no answer.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{mpsc, oneshot};

use super::message::{BackgroundEvent, BackgroundReport};
use crate::session::{Approval, ApprovalRequest, BoxFuture, Decision};

/// Asks on the screen that it was given to in a [`super::Setup`]. Before that, and after, everything is refused.
#[derive(Debug, Clone, Default)]
pub struct ApprovalQueue(Arc<Mutex<ApprovalState>>);

#[derive(Debug, Default)]
struct ApprovalState {
    tell: Option<mpsc::UnboundedSender<BackgroundReport>>,
    asked: u64,
    waiting: HashMap<u64, (ApprovalRequest, oneshot::Sender<Decision>)>,
    /// What was allowed for good: the tool, and what it is about.
    always: HashSet<(String, String)>,
}

impl ApprovalQueue {
    fn desk(&self) -> std::sync::MutexGuard<'_, ApprovalState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Questions go to this screen from now on.
    pub(crate) fn attend(&self, tell: mpsc::UnboundedSender<BackgroundReport>) {
        self.desk().tell = Some(tell);
    }

    /// A person's answer to a question; `always`: to all others like it too.
    pub(crate) fn answer(&self, number: u64, verdict: Decision, always: bool) {
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
struct PendingApproval<'a>(&'a ApprovalQueue, u64);

impl Drop for PendingApproval<'_> {
    fn drop(&mut self) {
        let mut desk = self.0.desk();
        if desk.waiting.remove(&self.1).is_some()
            && let Some(tell) = &desk.tell
        {
            // A screen that is gone shows nothing.
            let _ = tell.send(BackgroundReport(BackgroundEvent::Withdrawn(self.1)));
        }
    }
}

impl Approval for ApprovalQueue {
    fn ask<'a>(&'a self, asking: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            let answer = {
                let mut desk = self.desk();
                if !asking.subject.is_empty() && desk.always.contains(&(asking.tool.clone(), asking.subject.clone())) {
                    return Decision::Yes;
                }
                desk.asked += 1;
                let (number, (sender, answer)) = (desk.asked, oneshot::channel());
                let report = BackgroundReport(BackgroundEvent::Asking(number, asking.clone()));
                if desk.tell.as_ref().is_none_or(|tell| tell.send(report).is_err()) {
                    return Decision::No(Some("nobody is there to be asked".to_owned()));
                }
                desk.waiting.insert(number, (asking.clone(), sender));
                (PendingApproval(self, number), answer)
            };
            answer.1.await.unwrap_or(Decision::No(None))
        })
    }
}
