//! Checks before the work, and verification of results.

use std::sync::Arc;

use super::{
    super::{
        DelegationEvent,
        verification::{Verification, VerificationOutcome},
    },
    DelegationDriver,
};
use crate::id::NodeId;

impl DelegationDriver {
    /// Spawns the check of a subtask before its work. A check that cannot run counts as failed.
    pub(super) fn check_first(&mut self, task: usize) {
        let Some(delegation) = &self.delegation_state else { return };
        let check = delegation.plan().subtasks()[task].check.clone().unwrap_or_default();
        let (config, cancel) = (Arc::clone(&self.config), self.run_context.cancel.child_token());
        self.running.spawn(async move {
            let ran = config.worker_tools.check(&check, cancel.clone()).await;
            let passed = ran.is_ok_and(|ran| ran.passed);
            let event = DelegationEvent::CheckedBefore { task, passed };
            (!cancel.is_cancelled()).then_some(VerificationOutcome { event, why: String::new() })
        });
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
            worker: self.model(state.use_fallback),
            passed_before: state.checked_before == Some(true),
            cancel: self.run_context.cancel.child_token(),
        };
        self.running.spawn(verification.run());
    }
}
