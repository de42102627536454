//! Approval requests of agents, shown on the screen. An agent waits until the user answers. Requests queue up; none is
//! shown while the user types, because typed text is no answer.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{mpsc, oneshot};

use super::message::{BackgroundEvent, BackgroundReport};
use crate::session::{Approval, ApprovalRequest, BoxFuture, Decision, PermanentApprovals};

/// Approval queue of the screen whose [`super::ScreenSetup`] holds it. Without an open screen every request is refused.
#[derive(Debug, Clone, Default)]
pub struct ApprovalQueue(Arc<Mutex<ApprovalState>>);

#[derive(Debug, Default)]
struct ApprovalState {
    reports: Option<mpsc::UnboundedSender<BackgroundReport>>,
    last_number: u64,
    pending: HashMap<u64, (ApprovalRequest, oneshot::Sender<Decision>)>,
    always: PermanentApprovals,
}

impl ApprovalQueue {
    fn state(&self) -> std::sync::MutexGuard<'_, ApprovalState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends requests to this screen from now on.
    pub(crate) fn connect(&self, reports: mpsc::UnboundedSender<BackgroundReport>) {
        self.state().reports = Some(reports);
    }

    /// Answers a request with the user's decision; `always` also allows later requests with the same tool and subject.
    pub(crate) fn answer(&self, number: u64, decision: Decision, always: bool) {
        let mut state = self.state();
        let Some((request, answer)) = state.pending.remove(&number) else { return };
        if always {
            state.always.add(&request);
        }
        // The agent may have been cancelled meanwhile.
        let _ = answer.send(decision);
    }
}

/// A request that an agent waits for. Dropping it withdraws the request from the screen.
struct PendingApproval<'a>(&'a ApprovalQueue, u64);

impl Drop for PendingApproval<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if state.pending.remove(&self.1).is_some()
            && let Some(reports) = &state.reports
        {
            // A closed screen needs no withdrawal.
            let _ = reports.send(BackgroundReport(BackgroundEvent::ApprovalWithdrawn(self.1)));
        }
    }
}

impl Approval for ApprovalQueue {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            let answer = {
                let mut state = self.state();
                if state.always.covers(request) {
                    return Decision::Yes;
                }
                state.last_number += 1;
                let (number, (sender, answer)) = (state.last_number, oneshot::channel());
                let report = BackgroundReport(BackgroundEvent::ApprovalRequested(number, request.clone()));
                if state.reports.as_ref().is_none_or(|reports| reports.send(report).is_err()) {
                    return Decision::No(Some("no screen is open to ask the user".to_owned()));
                }
                state.pending.insert(number, (request.clone(), sender));
                (PendingApproval(self, number), answer)
            };
            answer.1.await.unwrap_or(Decision::No(None))
        })
    }
}
