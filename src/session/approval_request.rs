//! Approval of an agent's action by the user.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use futures_util::future::BoxFuture;

use crate::{
    id::NodeId,
    tools::{ErrorCode, ToolError},
    types::literal_line,
};

/// Action that an agent asks to perform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// Name of the requested tool.
    pub tool: String,
    /// File or command that the user can approve permanently for this tool. Empty if every call needs approval.
    pub subject: String,
    /// Summary of the action in one line. It contains model output, so a front end must sanitize it.
    pub summary: String,
    /// Complete action: the command, the diff or the plan. It contains model output and may be empty.
    pub details: String,
    /// Name of the agent that asks, such as `collaborator, subtask 2 of [a7x2kq]`, or of the check; `None` for a plan.
    pub agent: Option<String>,
    /// Node that the action belongs to: the head of the delegation for a plan.
    pub node: Option<NodeId>,
}

impl ApprovalRequest {
    /// Describes the later requests that a permanent approval covers, in one line: those of the same tool for exactly this
    /// action, or for the same file. `None` if every call needs approval.
    #[must_use]
    pub fn permanent_scope(&self) -> Option<String> {
        if self.subject.is_empty() {
            return None;
        }
        // A time limit can follow the command.
        if self.subject == self.summary || self.details.starts_with(&self.subject) {
            return Some(format!("{} of exactly this", literal_line(&self.tool)));
        }
        Some(format!("{} for {}", literal_line(&self.tool), literal_line(&self.subject)))
    }
}

/// Permanent approvals of the user, in memory: each covers one tool and one subject.
#[derive(Debug, Default)]
pub struct PermanentApprovals(Mutex<HashSet<(String, String)>>);

impl PermanentApprovals {
    /// Approves later requests of the same tool and subject. A request without a subject has no effect.
    pub fn add(&self, request: &ApprovalRequest) {
        if !request.subject.is_empty() {
            self.lock().insert((request.tool.clone(), request.subject.clone()));
        }
    }

    /// Returns whether an earlier approval covers a request.
    #[must_use]
    pub fn covers(&self, request: &ApprovalRequest) -> bool {
        self.lock().contains(&(request.tool.clone(), request.subject.clone()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<(String, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answer of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The action is approved.
    Yes,
    /// The action is refused, with an optional reason for the agent.
    No(Option<String>),
}

impl Decision {
    /// Converts a refusal into a tool error for the agent.
    ///
    /// # Errors
    /// `CANCELLED` with the reason, if the action is refused.
    pub fn into_result(self) -> Result<(), ToolError> {
        match self {
            Self::Yes => Ok(()),
            Self::No(None) => Err(ToolError::new(ErrorCode::Cancelled, "it was refused")),
            Self::No(Some(why)) => Err(ToolError::new(ErrorCode::Cancelled, format!("it was refused: {why}"))),
        }
    }
}

/// Asks the user for approval. Agents that run concurrently may call it at the same time.
pub trait Approval: Send + Sync {
    /// Waits for the decision. The future is dropped if the decision is no longer needed.
    fn ask<'a>(&'a self, asking: &'a ApprovalRequest) -> BoxFuture<'a, Decision>;
}

/// Fixed decision for every request.
impl Approval for Decision {
    fn ask<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        Box::pin(async { self.clone() })
    }
}
