//! Attempts at a subtask: a worker's instructions, its session and the run of its turn.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{
    super::{
        DelegationEvent, DelegationUpdate, TaskStatus, prompts,
        verification::{self, VerificationOutcome},
    },
    DelegationDriver, TaskOutcome,
    spawn_verification::PANICKED,
};
use crate::{
    id::SessionId,
    ops::{Actor, NodeDraft, OpsError},
    session::{GenerateRequest, Progress, generate},
    store::Mutation,
    tools::ToolError,
    types::{AuthorType, NewSession, Parent, SessionPatch},
};

impl DelegationDriver {
    /// Starts an attempt: saves the instructions and spawns the worker.
    pub(super) async fn start_attempt(&mut self, task: usize, fallback: bool) -> Result<(), ToolError> {
        let Some(delegation) = &self.delegation_state else { return Ok(()) };
        let (state, plan) = (delegation.tasks()[task].clone(), delegation.plan());
        let subtask = plan.subtasks()[task].clone();
        let mut mutations = Vec::new();
        let (session, parent, asked) = match state.session {
            Some(session) => {
                let at = self.loom.session(session)?.position.or(state.brief).unwrap_or(self.head.id);
                // A killed process may still hold a lease at the worker's position.
                let worker = &self.config.worker.agent;
                let held = self.loom.actor(worker).in_session(session);
                held.release(at, worker.id()).await.map_err(OpsError::from)?;
                (session, at, self.retry_message(&state, fallback)?)
            }
            None => {
                let session = self.loom.session_id();
                mutations.push(Mutation::CreateSession(self.worker_session(session)?));
                let mut results = Vec::new();
                for need in plan.needs(task) {
                    if let TaskStatus::Verified(node) = delegation.tasks()[*need].status {
                        results.push((&plan.subtasks()[*need], self.loom.node(node)?));
                    }
                }
                let others = self.shared.get(&task).map_or(&[][..], Vec::as_slice);
                (session, self.head.id, prompts::instructions(&self.goal, plan, task, &results, others))
            }
        };
        let draft = NodeDraft { author_type: Some(AuthorType::Tool), keep_position: true, ..NodeDraft::text(asked) };
        let node = self.actor.draft(Parent::Node(parent), draft);
        let brief = node.id;
        let stand = SessionPatch { position: Some(brief), ..SessionPatch::default() };
        mutations.extend([Mutation::Append(Box::new(node)), Mutation::UpdateSession { session, patch: stand }]);
        let started = DelegationEvent::Started { task, session, brief, fallback };
        // A started attempt has no further effects.
        self.commit_event(started, mutations).await?;
        let model = self.model(fallback);
        (self.run_context.on_update)(DelegationUpdate::Started {
            task,
            title: subtask.title.clone(),
            attempt: state.attempts + 1,
            branch: self.loom.node(brief)?.local,
            model: model.reference().to_owned(),
        });
        let request = self.worker_request((task, &subtask), (brief, state.brief.unwrap_or(brief)), model)?;
        let actor = self.loom.actor(&self.config.worker.agent).in_session(session);
        let work = run_worker(actor, request, task, Arc::clone(&self.run_context.on_update));
        self.spawn(work, DelegationEvent::WorkFailed { task, why: PANICKED.to_owned() });
        Ok(())
    }

    /// Returns a new session for a worker.
    fn worker_session(&self, id: SessionId) -> Result<NewSession, ToolError> {
        let own = self.loom.session(self.session)?;
        Ok(NewSession::of_delegated_work(id, self.config.worker.agent.id(), &own, self.loom.now()))
    }

    /// Returns the message for another attempt, with the reason of the last failure.
    fn retry_message(&self, state: &super::super::SubtaskState, fallback: bool) -> Result<String, ToolError> {
        Ok(match (state.verdict, &state.last_error) {
            (Some(verdict), _) => {
                let why = verification::verdict_reason(&self.loom.node(verdict)?);
                prompts::retry(&why, fallback && !state.fallback)
            }
            (None, trouble) => prompts::resume(trouble.as_deref().unwrap_or("it was interrupted")),
        })
    }
}

/// Runs one attempt as a whole turn; `None` if it was cancelled.
async fn run_worker(
    actor: Actor,
    request: GenerateRequest,
    task: usize,
    on_update: super::super::UpdateSink,
) -> TaskOutcome {
    let cancel: CancellationToken = request.cancel.clone();
    let mut failed = None;
    let done = generate(&actor, request, |progress| match progress {
        Progress::Failed { error, .. } => failed = Some(error.to_string()),
        Progress::Ran { line, reply, .. } => on_update(DelegationUpdate::Ran { task, line, ok: reply.is_ok() }),
        _ => {}
    })
    .await;
    if cancel.is_cancelled() {
        return None;
    }
    let work_failed =
        |why: String| Some(VerificationOutcome { event: DelegationEvent::WorkFailed { task, why: why.clone() }, why });
    match (done, failed) {
        (Err(error), _) => work_failed(error.to_string()),
        (Ok(_), Some(why)) => work_failed(why),
        (Ok(nodes), None) => match nodes.iter().rev().find(|node| !node.content.trim().is_empty()) {
            Some(result) => Some(VerificationOutcome {
                event: DelegationEvent::Finished { task, node: result.id },
                why: String::new(),
            }),
            None => work_failed("it ended without a report of its work".to_owned()),
        },
    }
}
