//! Storage of delegations: head nodes and their event lists.

use super::{DelegationEvent, prompts};
use crate::{
    id::NodeId,
    ops::{Actor, Loom, NodeDraft, OpsError},
    session_state::StateEntry,
    store::Mutation,
    tools::{ErrorCode, MAX_CONTENT_BYTES, ToolError},
    types::{AuthorType, Json, NewSession, Node, Op, Parent, SessionPatch},
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

/// Creates the head node of a delegation below node `below`, with the decisions and constraints of the actor's session.
/// [`super::Orchestrator::run`] starts the work.
///
/// # Errors
/// If the goal is empty or too long, the actor has no session, or the store fails.
pub fn create(actor: &Actor, below: NodeId, goal: &str, context: &str) -> Result<NodeId, ToolError> {
    if goal.trim().is_empty() {
        return Err(ToolError::new(ErrorCode::InvalidSyntax, "a delegation needs a goal"));
    }
    if goal.len() + context.len() > MAX_CONTENT_BYTES {
        return Err(ToolError::new(
            ErrorCode::LimitExceeded,
            format!("goal and context are at most {MAX_CONTENT_BYTES} bytes"),
        ));
    }
    let session =
        actor.session().ok_or_else(|| OpsError::Invalid("the delegating agent needs a session".to_owned()))?;
    let loom = actor.loom();
    let own = loom.session(session)?;
    let register = loom.snapshot()?.session_state(session).map_err(OpsError::from)?;
    let said = |noted: Vec<StateEntry>| noted.into_iter().map(|noted| noted.text).collect();
    let (decisions, constraints) = (said(register.key_decisions), said(register.constraints));
    let task = prompts::DelegationGoal {
        goal: goal.trim().to_owned(),
        context: context.trim().to_owned(),
        decisions,
        constraints,
    };
    let metadata = serde_json::to_string(&task).ok().and_then(|text| Json::parse(text).ok());
    let draft = NodeDraft {
        author_type: Some(AuthorType::Tool),
        metadata,
        keep_position: true,
        ..NodeDraft::text(task.head())
    };
    let head = actor.draft(Parent::Node(below), draft);
    let (node, plans) = (head.id, loom.session_id());
    let planning = NewSession::of_delegated_work(plans, actor.agent(), &own, loom.now());
    let stand = SessionPatch { position: Some(node), ..SessionPatch::default() };
    let begun = vec![
        Mutation::CreateSession(planning),
        Mutation::Append(Box::new(head)),
        Mutation::UpdateSession { session: plans, patch: stand },
        event_mutation(node, 1, &DelegationEvent::Begun { session: plans })?,
    ];
    actor.commit(Op::Delegate, begun)?;
    Ok(node)
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
