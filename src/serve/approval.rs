//! Approvals as resources: what needs a person's consent waits until it is approved, refused, or timed out.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde::Serialize;
use tokio::sync::oneshot;
use utoipa::ToSchema;

use crate::{
    id::NodeId,
    session::{Approval, ApprovalRequest, BoxFuture, Decision, PermanentApprovals},
};

/// Default time for a decision.
const APPROVAL_TIMEOUT: Duration = Duration::from_secs(600);

/// An action that waits for a decision.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct WaitingApproval {
    /// Id of the approval.
    pub(super) id: u64,
    /// Tool that the agent asks for.
    pub(super) tool: String,
    /// File or command.
    subject: String,
    /// Action in one line.
    summary: String,
    /// Complete action: the command, the diff or the plan.
    details: String,
    /// Later calls that `always` approves too: of the tool for exactly this action, or for this file.
    #[serde(skip_serializing_if = "Option::is_none")]
    always: Option<String>,
    /// Node that the action belongs to: the head of the delegation for a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<NodeId>,
}

impl WaitingApproval {
    fn of(id: u64, request: &ApprovalRequest) -> Self {
        let always = request.permanent_scope();
        let ApprovalRequest { tool, subject, summary, details, node, .. } = request.clone();
        Self { id, tool, subject, summary, details, always, node }
    }
}

struct Waiting {
    id: u64,
    request: ApprovalRequest,
    answer: oneshot::Sender<Decision>,
}

/// Approvals that wait for a decision. Without a decision an action is refused after ten minutes.
pub struct PendingApprovals {
    waiting: Mutex<(u64, Vec<Waiting>)>,
    /// Requests answered with `always`, until the server ends.
    always: PermanentApprovals,
    timeout: Duration,
}

impl Default for PendingApprovals {
    fn default() -> Self {
        Self { waiting: Mutex::default(), always: PermanentApprovals::default(), timeout: APPROVAL_TIMEOUT }
    }
}

impl PendingApprovals {
    /// Sets the time after which an action without a decision is refused.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Returns the waiting approvals, the oldest first.
    pub(super) fn list(&self) -> Vec<WaitingApproval> {
        let waiting = self.lock();
        let open = waiting.1.iter().filter(|waiting| !waiting.answer.is_closed());
        open.map(|waiting| WaitingApproval::of(waiting.id, &waiting.request)).collect()
    }

    /// Decides an approval; `always` also decides later requests with the same tool and subject. Returns whether it was
    /// waiting.
    pub(super) fn decide(&self, id: u64, decision: Decision, always: bool) -> bool {
        let mut waiting = self.lock();
        let Some(at) = waiting.1.iter().position(|waiting| waiting.id == id) else { return false };
        let decided = waiting.1.remove(at);
        if always && decision == Decision::Yes {
            self.always.add(&decided.request);
        }
        decided.answer.send(decision).is_ok()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (u64, Vec<Waiting>)> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, request: &ApprovalRequest) -> oneshot::Receiver<Decision> {
        let (answer, decision) = oneshot::channel();
        let mut waiting = self.lock();
        waiting.0 += 1;
        let (id, request) = (waiting.0, request.clone());
        waiting.1.retain(|waiting| !waiting.answer.is_closed());
        waiting.1.push(Waiting { id, request, answer });
        decision
    }
}

impl Approval for PendingApprovals {
    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        if self.always.covers(request) {
            return Box::pin(async { Decision::Yes });
        }
        let decision = self.add(request);
        Box::pin(async move {
            match tokio::time::timeout(self.timeout, decision).await {
                Ok(Ok(decision)) => decision,
                _ => Decision::No(Some("no decision within the time limit".to_owned())),
            }
        })
    }
}
