//! Tasks of the driver: checks before the work, and verification of results.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;

use super::{
    super::{
        DelegationEvent,
        verification::{Verification, VerificationOutcome},
    },
    DelegationDriver, TaskOutcome,
};
use crate::id::NodeId;

/// Error of a task that panicked.
pub(super) const PANICKED: &str = "it panicked";

impl DelegationDriver {
    /// Spawns a task. Models and tools may be code of the embedding program: if the task panics, its outcome is `panicked`,
    /// and the other subtasks continue.
    pub(super) fn spawn(
        &mut self,
        task: impl Future<Output = TaskOutcome> + Send + 'static,
        panicked: DelegationEvent,
    ) {
        let failed = VerificationOutcome { event: panicked, why: PANICKED.to_owned() };
        self.running.spawn(AssertUnwindSafe(task).catch_unwind().map(|done| done.unwrap_or(Some(failed))));
    }

    /// Spawns the check of a subtask before its work. A check that cannot run counts as failed.
    pub(super) fn check_first(&mut self, task: usize) {
        let Some(delegation) = &self.delegation_state else { return };
        let check = delegation.plan().subtasks()[task].check.clone().unwrap_or_default();
        let (config, cancel) = (Arc::clone(&self.config), self.run_context.cancel.child_token());
        let work = async move {
            let ran = config.worker_tools.check(&check, cancel.clone()).await;
            let passed = ran.is_ok_and(|ran| ran.passed);
            let event = DelegationEvent::CheckedBefore { task, passed };
            (!cancel.is_cancelled()).then_some(VerificationOutcome { event, why: String::new() })
        };
        self.spawn(work, DelegationEvent::CheckedBefore { task, passed: false });
    }

    /// Spawns the verification of a result.
    pub(super) fn verify(&mut self, task: usize, node: NodeId) {
        let Some(delegation) = &self.delegation_state else { return };
        let state = &delegation.tasks()[task];
        let verification = Verification {
            config: Arc::clone(&self.config),
            actor: self.actor.clone(),
            task: self.goal.clone(),
            at: task,
            subtask: delegation.plan().subtasks()[task].clone(),
            node,
            worker_name: self.worker_name(task),
            session: state.session.unwrap_or(self.session),
            worker: self.model(state.fallback),
            passed_before: state.checked_before == Some(true),
            cancel: self.run_context.cancel.child_token(),
        };
        self.spawn(verification.run(), DelegationEvent::VerifyFailed { task, why: PANICKED.to_owned() });
    }
}
