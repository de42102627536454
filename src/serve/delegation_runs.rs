//! Delegations that this server runs: their progress for readers, and the outcome of the last run.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    runtime::Handle,
    sync::{broadcast, watch},
};
use tokio_util::sync::CancellationToken;

use super::{error::Result, state::AppState};
use crate::{
    id::NodeId,
    ops::Actor,
    session::{DelegationReport, DelegationUpdate, Orchestrator, RunContext},
    tools::{ErrorCode, ToolError},
    types::Permissions,
};

/// Runs whose outcome stays in memory.
const MAX_RUNS: usize = 256;

/// Progress events that a slow reader may lag behind. It misses older ones; the stored events are complete.
const MAX_LAG: usize = 256;

/// End of a run.
pub(super) type DelegationOutcome = Result<Arc<DelegationReport>, ToolError>;

/// A delegation that runs in this server, or ran in it.
pub(super) struct DelegationRun {
    pub(super) cancel: CancellationToken,
    updates: broadcast::Sender<DelegationUpdate>,
    outcome: watch::Sender<Option<DelegationOutcome>>,
}

impl DelegationRun {
    /// Returns a receiver of progress events.
    pub(super) fn updates(&self) -> broadcast::Receiver<DelegationUpdate> {
        self.updates.subscribe()
    }

    /// Returns the outcome; `None` while the delegation runs.
    pub(super) fn outcome(&self) -> Option<DelegationOutcome> {
        self.outcome.borrow().clone()
    }

    /// Waits for the end of the run.
    pub(super) async fn ended(&self) {
        // The sender is part of the run, so the channel is open.
        let _ = self.outcome.subscribe().wait_for(Option::is_some).await;
    }
}

/// Runs by the head nodes of their delegations.
#[derive(Default)]
pub(super) struct DelegationRuns(Mutex<HashMap<NodeId, Arc<DelegationRun>>>);

impl DelegationRuns {
    /// Returns the newest run of a delegation in this server.
    pub(super) fn get(&self, delegation: NodeId) -> Option<Arc<DelegationRun>> {
        self.lock().get(&delegation).cloned()
    }

    /// Adds a run, and forgets an ended one beyond the maximum. Returns an error if the delegation runs already.
    fn add(&self, delegation: NodeId, cancel: CancellationToken) -> Result<Arc<DelegationRun>, ToolError> {
        let mut runs = self.lock();
        if runs.get(&delegation).is_some_and(|run| run.outcome().is_none()) {
            return Err(ToolError::new(ErrorCode::Conflict, "the delegation is running"));
        }
        if runs.len() >= MAX_RUNS {
            let ended = runs.iter().find(|(_, run)| run.outcome().is_some()).map(|(id, _)| *id);
            ended.map(|id| runs.remove(&id));
        }
        let run = DelegationRun { cancel, updates: broadcast::Sender::new(MAX_LAG), outcome: watch::Sender::new(None) };
        let run = Arc::new(run);
        runs.insert(delegation, Arc::clone(&run));
        Ok(run)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<NodeId, Arc<DelegationRun>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the orchestrator, or an error if none is set up.
pub(super) fn orchestrator(state: &AppState) -> Result<Arc<dyn Orchestrator>, ToolError> {
    let orchestrator = state.settings.tool_access.orchestrator.clone();
    orchestrator.ok_or_else(|| ToolError::new(ErrorCode::NotConfigured, "no orchestrator is set up"))
}

/// Runs or resumes a delegation in the background. The report or failure is saved below the node that delegated.
pub(super) fn start(
    state: &AppState,
    actor: Actor,
    delegation: NodeId,
    withheld: Permissions,
) -> Result<(), ToolError> {
    let (orchestrator, background) = (orchestrator(state)?, &state.settings.tool_access.background);
    let run = state.delegations.add(delegation, background.cancel())?;
    let updates = run.updates.clone();
    let context = RunContext {
        actor,
        delegation,
        cancel: run.cancel.clone(),
        // An error means that nobody reads.
        on_update: Arc::new(move |update| _ = updates.send(update)),
        withheld,
    };
    background.run_then(&Handle::current(), orchestrator, context, move |result| {
        run.outcome.send_replace(Some(result.map(Arc::new)));
    });
    Ok(())
}
