//! Delegations in the background. The report is saved as a child of the node that delegated.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::{runtime::Handle, sync::watch};
use tokio_util::sync::CancellationToken;

use super::{
    DelegationReport, DelegationStatus, DelegationUpdate, Orchestrator, RunContext, UpdateSink,
    save_delegation_report::save_report,
};
use crate::tools::{ErrorCode, ToolError};

/// Running background delegations. They end with the program and can be resumed later.
#[derive(Default)]
pub struct BackgroundDelegations {
    running: watch::Sender<usize>,
    stop: CancellationToken,
    observer: Mutex<Option<UpdateSink>>,
}

impl BackgroundDelegations {
    /// Returns the number of running delegations.
    #[must_use]
    pub fn running(&self) -> usize {
        *self.running.borrow()
    }

    /// Waits until no delegation is running. The future can be dropped and created again.
    pub async fn idle(&self) {
        // The sender lives as long as `self`, so the wait does not fail.
        let _ = self.running.subscribe().wait_for(|running| *running == 0).await;
    }

    /// Cancels all delegations; results so far are saved.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Sets the receiver of progress events and of the ends of delegations. It replaces the one before.
    pub fn observe(&self, observer: UpdateSink) {
        *self.observer.lock().unwrap_or_else(PoisonError::into_inner) = Some(observer);
    }

    /// Passes an event to the receiver.
    pub(super) fn notify(&self, update: DelegationUpdate) {
        let observer = self.observer.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(observer) = observer {
            observer(update);
        }
    }

    /// Returns a token that [`BackgroundDelegations::stop`] cancels.
    #[must_use]
    pub fn cancel(&self) -> CancellationToken {
        self.stop.child_token()
    }

    /// Spawns the task of a delegation, which [`BackgroundDelegations::idle`] waits for.
    pub fn spawn(&self, runtime: &Handle, task: impl Future<Output = ()> + Send + 'static) {
        let running = RunningTask::begin(self.running.clone());
        runtime.spawn(async move {
            let _running = running;
            task.await;
        });
    }

    /// Runs or resumes a delegation, and passes its end to the receiver.
    pub(super) fn run(self: &Arc<Self>, runtime: &Handle, orchestrator: Arc<dyn Orchestrator>, run: RunContext) {
        let (background, loom, delegation) = (Arc::clone(self), run.actor.loom().clone(), run.delegation);
        self.run_then(runtime, orchestrator, run, move |result| {
            if let Ok(head) = loom.node(delegation) {
                let (completed, report) = match result {
                    Ok(report) => (report.state == DelegationStatus::Completed, report.to_string()),
                    Err(failure) => (false, format!("✗ {failure}")),
                };
                background.notify(DelegationUpdate::Ended { delegation: head.local, completed, report });
            }
        });
    }

    /// Runs or resumes a delegation, saves its report or failure below the node that delegated, and calls `on_end`.
    pub(crate) fn run_then(
        &self,
        runtime: &Handle,
        orchestrator: Arc<dyn Orchestrator>,
        run: RunContext,
        on_end: impl FnOnce(Result<DelegationReport, ToolError>) + Send + 'static,
    ) {
        self.spawn(runtime, async move {
            let (actor, delegation) = (run.actor.clone(), run.delegation);
            // A task of its own, so that a panic has a result too.
            let result = tokio::spawn(async move { orchestrator.run(run).await }).await;
            let result = result.unwrap_or_else(|error| {
                Err(ToolError::new(ErrorCode::Conflict, format!("the delegation task failed: {error}")))
            });
            if let Err(error) = save_report(&actor, delegation, &result).await {
                tracing::warn!(%error, "the report of a delegation could not be saved");
            }
            on_end(result);
        });
    }
}

/// Counts a task until it ends, also by a panic or with its runtime.
struct RunningTask(watch::Sender<usize>);

impl RunningTask {
    fn begin(running: watch::Sender<usize>) -> Self {
        running.send_modify(|running| *running += 1);
        Self(running)
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_that_was_dropped_does_not_lose_a_delegation() {
        let background = BackgroundDelegations::default();
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        background.spawn(&Handle::current(), async move { drop(ended.await) });
        let dropped = tokio::time::timeout(std::time::Duration::from_millis(5), background.idle()).await;
        assert!(dropped.is_err() && background.running() == 1);
        end.send(()).unwrap_or_else(|()| panic!("the task waits"));
        background.idle().await;
        assert_eq!(background.running(), 0);
    }
}
