//! Consent, asked for on the screen: what an agent is about to do waits for a person's yes. Questions wait for each other,
//! and none is put while somebody writes: what is typed into a text is no answer.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{mpsc, oneshot};

use super::message::{BackgroundEvent, BackgroundReport};
use crate::session::{Approval, ApprovalRequest, Decision, Promise};

/// Asks on the screen that it was given to in a [`super::Setup`]. Before that, and after, everything is refused.
#[derive(Debug, Clone, Default)]
pub struct ApprovalQueue(Arc<Mutex<ApprovalState>>);

#[derive(Debug, Default)]
struct ApprovalState {
    reports: Option<mpsc::UnboundedSender<BackgroundReport>>,
    last_number: u64,
    pending: HashMap<u64, (ApprovalRequest, oneshot::Sender<Decision>)>,
    /// What was allowed for good: the tool, and what it is about.
    always: HashSet<(String, String)>,
}

impl ApprovalQueue {
    fn state(&self) -> std::sync::MutexGuard<'_, ApprovalState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Questions go to this screen from now on.
    pub(crate) fn connect(&self, reports: mpsc::UnboundedSender<BackgroundReport>) {
        self.state().reports = Some(reports);
    }

    /// A person's answer to a question; `always`: to all others like it too.
    pub(crate) fn answer(&self, number: u64, decision: Decision, always: bool) {
        let mut state = self.state();
        let Some((request, answer)) = state.pending.remove(&number) else { return };
        if always {
            state.always.insert((request.tool, request.subject));
        }
        // The agent may have been stopped meanwhile.
        let _ = answer.send(decision);
    }
}

/// A question that somebody waits for; nobody does any more when this goes, and it is taken off the screen.
struct PendingApproval<'a>(&'a ApprovalQueue, u64);

impl Drop for PendingApproval<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if state.pending.remove(&self.1).is_some()
            && let Some(reports) = &state.reports
        {
            // A screen that is gone shows nothing.
            let _ = reports.send(BackgroundReport(BackgroundEvent::ApprovalWithdrawn(self.1)));
        }
    }
}

impl Approval for ApprovalQueue {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> Promise<'a, Decision> {
        Box::pin(async move {
            let answer = {
                let mut state = self.state();
                if !request.subject.is_empty()
                    && state.always.contains(&(request.tool.clone(), request.subject.clone()))
                {
                    return Decision::Yes;
                }
                state.last_number += 1;
                let (number, (sender, answer)) = (state.last_number, oneshot::channel());
                let report = BackgroundReport(BackgroundEvent::ApprovalRequested(number, request.clone()));
                if state.reports.as_ref().is_none_or(|reports| reports.send(report).is_err()) {
                    return Decision::No(Some("nobody is there to be asked".to_owned()));
                }
                state.pending.insert(number, (request.clone(), sender));
                (PendingApproval(self, number), answer)
            };
            answer.1.await.unwrap_or(Decision::No(None))
        })
    }
}
