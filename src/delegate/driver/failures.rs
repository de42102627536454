//! Failures of earlier delegations in the same workspace. The planner gets them, so that a plan does not repeat them.

use super::{
    super::{DelegationLimits, DelegationState, DelegationSummary, TaskStatus},
    DelegationDriver, DelegationEvent, Plan, ToolError, delegation_store,
};
use crate::types::{Session, first_words, one_line};

/// Maximum number of delegations of the workspace whose failures are read, the newest first, and of failures that are
/// returned.
const MAX_DELEGATIONS: usize = 20;
const MAX_FAILURES: usize = 8;
/// Maximum characters of a reason.
const MAX_REASON_CHARS: usize = 200;

impl DelegationDriver {
    /// Returns subtasks that failed in other delegations of this workspace and work item, each with its reason.
    pub(super) fn earlier_failures(&self) -> Result<Vec<String>, ToolError> {
        let own = self.loom.session(self.session)?;
        let others = delegation_store::list(&self.loom)?;
        let others =
            others.iter().filter(|other| other.head.id != self.head.id && other.head.state.hidden_by.is_none());
        let mut found = Vec::new();
        for failures in others.filter_map(|other| self.failures_of(other, &own).transpose()).take(MAX_DELEGATIONS) {
            found.extend(failures?);
        }
        found.truncate(MAX_FAILURES);
        Ok(found)
    }

    /// Returns the failures of a delegation; `None` if it has no plan or is of another workspace or work item.
    fn failures_of(&self, other: &DelegationSummary, own: &Session) -> Result<Option<Vec<String>>, ToolError> {
        let events = delegation_store::events(&self.loom, &other.head)?;
        let Some(DelegationEvent::Begun { session }) = events.first() else { return Ok(None) };
        let theirs = self.loom.session(*session)?;
        if (&theirs.workspace, &theirs.item) != (&own.workspace, &own.item) {
            return Ok(None);
        }
        let planned = events.iter().rev().find_map(|event| match event {
            DelegationEvent::Planned { node } => Some(*node),
            _ => None,
        });
        let Some(planned) = planned else { return Ok(None) };
        let Some(plan) = Plan::parse_lenient(&self.loom.node(planned)?.content) else { return Ok(None) };
        let state = DelegationState::replay(plan, self.limits(), &events);
        let mut failures = Vec::new();
        for (subtask, task) in state.plan().subtasks().iter().zip(state.tasks()) {
            let TaskStatus::Failed(why) = &task.status else { continue };
            let why = first_words(&one_line(&self.why(task, why.as_deref())?), MAX_REASON_CHARS);
            failures.push(format!("\"{}\": {why}", one_line(&subtask.title)));
        }
        Ok(Some(failures))
    }

    pub(super) fn limits(&self) -> DelegationLimits {
        DelegationLimits {
            parallel: self.config.parallel,
            attempts: self.config.attempts.max(1),
            fallback: self.config.fallback.is_some(),
            checks: self.config.worker_tools.checks(),
        }
    }
}
