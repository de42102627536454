//! Storage of delegations: head nodes and their event lists.

use super::{DelegationEvent, prompts};
use crate::{
    id::NodeId,
    ops::Loom,
    store::Mutation,
    tools::{ErrorCode, ToolError},
    types::{Json, Node},
};

/// Delegation in a list.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DelegationSummary {
    /// Head node.
    pub head: Node,
    /// Goal of the delegation.
    pub goal: String,
    /// Last event.
    pub last: DelegationEvent,
}

impl DelegationSummary {
    fn new(head: Node, last: DelegationEvent) -> Self {
        let goal = task_of(&head).map(|task| task.goal).unwrap_or_default();
        Self { head, goal, last }
    }

    /// Returns true if the delegation is running or was interrupted: it has neither ended nor been stopped or refused.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        !matches!(self.last, DelegationEvent::Ended | DelegationEvent::Stopped | DelegationEvent::Refused)
    }

    /// Returns the state as a word: `running` if a process runs it, else `ended`, `stopped`, `refused` or `open`.
    #[must_use]
    pub const fn state(&self, is_running: bool) -> &'static str {
        match self.last {
            _ if is_running => "running",
            DelegationEvent::Ended => "ended",
            DelegationEvent::Stopped => "stopped",
            DelegationEvent::Refused => "refused",
            _ => "open",
        }
    }
}

/// Returns the mutation that appends an event.
pub(super) fn event_mutation(delegation: NodeId, number: u32, event: &DelegationEvent) -> Result<Mutation, ToolError> {
    let text = serde_json::to_string(event).map_err(|error| ToolError::new(ErrorCode::Conflict, error.to_string()))?;
    let event = Json::parse(text).map_err(|error| ToolError::new(ErrorCode::Conflict, error.to_string()))?;
    Ok(Mutation::AppendDelegationEvent { node: delegation, number, event })
}

/// Returns all delegations of the database, newest first.
///
/// # Errors
/// If the store cannot be read.
pub fn list(loom: &Loom) -> Result<Vec<DelegationSummary>, ToolError> {
    let snapshot = loom.snapshot()?;
    let mut found = Vec::new();
    for (head, last) in snapshot.delegations()? {
        let Some(head) = snapshot.node(head)? else { continue };
        found.push(DelegationSummary::new(head, event(&last)?));
    }
    Ok(found)
}

/// Returns the delegation with a head node.
///
/// # Errors
/// If the node is not the head of a delegation, or the store cannot be read.
pub fn summary(loom: &Loom, head: Node) -> Result<DelegationSummary, ToolError> {
    let last = events(loom, &head)?.pop();
    let last = last.ok_or_else(|| ToolError::new(ErrorCode::NotFound, format!("[{}] is no delegation", head.local)))?;
    Ok(DelegationSummary::new(head, last))
}

/// Returns the events of a delegation, in order.
///
/// # Errors
/// If the node is not the head of a delegation, or the store cannot be read.
pub fn events(loom: &Loom, head: &Node) -> Result<Vec<DelegationEvent>, ToolError> {
    let kept = loom.snapshot()?.delegation(head.id)?;
    if kept.is_empty() {
        return Err(ToolError::new(ErrorCode::NotFound, format!("[{}] is no delegation", head.local)));
    }
    kept.iter().map(event).collect()
}

fn event(kept: &Json) -> Result<DelegationEvent, ToolError> {
    let broken =
        |error| ToolError::new(ErrorCode::Conflict, format!("an event of the delegation cannot be read: {error}"));
    serde_json::from_str(kept.as_str()).map_err(broken)
}

/// Returns the goal stored in a head node; `None` after a purge.
pub(super) fn task_of(head: &Node) -> Option<prompts::DelegationGoal> {
    head.metadata.as_ref().and_then(|kept| serde_json::from_str(kept.as_str()).ok())
}
