//! Delegated work that nobody waits for. Its report becomes a node where it was delegated, when it is there.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::{runtime::Handle, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    arrow::run::ToolError,
    delegate::{DelegationReport, Orchestrator, RunContext},
    id::NodeId,
    ops::{Actor, NodeDraft, OpsError},
    store::Mutation,
    tools::Tool,
    types::{AuthorType, EdgeKind, Op, Parent, ToolCallFields},
};

/// Work that goes on beside the conversation, as long as the program does. What is cut off can be carried on.
#[derive(Default)]
pub struct Background {
    running: Mutex<Vec<JoinHandle<()>>>,
    stop: CancellationToken,
}

impl Background {
    /// How much of it is going on.
    #[must_use]
    pub fn running(&self) -> usize {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|work| !work.is_finished());
        running.len()
    }

    /// Waits until nothing of it is going on.
    pub async fn idle(&self) {
        loop {
            let next = self.running.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(next) = next else { return };
            // One that broke off has said so.
            let _ = next.await;
        }
    }

    /// Stops all of it; what was done stays.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    pub(super) fn cancel(&self) -> CancellationToken {
        self.stop.child_token()
    }

    pub(super) fn run(&self, runtime: &Handle, orchestrator: Arc<dyn Orchestrator>, work: RunContext) {
        let running = runtime.spawn(async move {
            let done = orchestrator.run(work.clone()).await;
            if let Err(error) = save_report(&work.actor, work.delegation, &done).await {
                tracing::warn!(%error, "the report of delegated work is not kept");
            }
        });
        self.running.lock().unwrap_or_else(PoisonError::into_inner).push(running);
    }
}

/// Keeps a report as the answer of the tool, beside the node that delegated: so it is found by `→ recall tool:delegate`. An
/// agent's own call is answered anyway; this is for work that nobody waited for, that a person began, or that was taken up.
///
/// # Errors
/// If the store fails.
pub async fn save_report(
    actor: &Actor,
    delegation: NodeId,
    done: &Result<DelegationReport, ToolError>,
) -> Result<(), OpsError> {
    let head = actor.loom().node(delegation)?;
    let text = match done {
        Ok(report) => report.to_string(),
        Err(failure) => format!("✗ {failure}"),
    };
    let draft = NodeDraft {
        kind: Some(EdgeKind::Tool),
        author_type: Some(AuthorType::Tool),
        tool: ToolCallFields { name: Some(Tool::Delegate.name().to_owned()), ..ToolCallFields::default() },
        ..NodeDraft::text(text)
    };
    let report = actor.draft(Parent::Node(head.parent.unwrap_or(head.id)), draft);
    actor.submit(Op::Turn, vec![Mutation::Append(Box::new(report))]).await?;
    Ok(())
}
