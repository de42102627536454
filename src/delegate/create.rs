//! Creation of a delegation: its head node with the goal, its planning session and its first event.

use super::{DelegationEvent, delegation_store::event_mutation, prompts};
use crate::{
    id::NodeId,
    ops::{Actor, NodeDraft, OpsError},
    session_state::StateEntry,
    store::Mutation,
    tools::{ErrorCode, MAX_CONTENT_BYTES, ToolError},
    types::{AuthorType, Json, NewSession, Op, Parent, SessionPatch},
};

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
