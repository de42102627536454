//! Report of a delegation, built from its state and the nodes that its events name. Also detects files that other
//! delegations change.

use std::collections::{BTreeMap, HashMap};

use super::{
    super::{DelegationState, DelegationStatus, SubtaskReport, SubtaskState, SubtaskStatus, SubtaskUsage, TaskStatus},
    DelegationDriver, DelegationEvent, DelegationReport, Plan, ToolError, delegation_store, verification,
};
use crate::{
    id::NodeId,
    session::stats,
    store::GenerationFilter,
    types::{AuthorType, Timestamp, first_words, one_line},
};

/// Maximum characters of a worker's result.
const MAX_OUTCOME_CHARS: usize = 600;

/// Returns the seconds between two times.
fn seconds(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from((to.as_millis() - from.as_millis()) / 1_000).unwrap_or(0)
}

impl DelegationDriver {
    pub(super) fn report(&self) -> Result<DelegationReport, ToolError> {
        let snapshot = self.loom.snapshot()?;
        let usage = |session| -> Result<SubtaskUsage, ToolError> {
            let filter = GenerationFilter { session: Some(session), ..GenerationFilter::default() };
            Ok((&stats(&*snapshot, &filter)?.all).into())
        };
        let subtasks = match &self.delegation_state {
            Some(delegation) => {
                let line = |(at, task): (usize, &SubtaskState)| {
                    let usage = task.session.map(usage).transpose()?.unwrap_or_default();
                    self.subtask_report(delegation, at, task, usage)
                };
                delegation.tasks().iter().enumerate().map(line).collect::<Result<_, _>>()?
            }
            None => Vec::new(),
        };
        let state = match (&self.delegation_state, self.events.last()) {
            (Some(delegation), _) if delegation.is_complete() => DelegationStatus::Completed,
            (_, Some(DelegationEvent::Ended)) => DelegationStatus::Incomplete,
            (_, Some(DelegationEvent::Stopped)) => DelegationStatus::Stopped,
            _ if self.run_context.cancel.is_cancelled() => DelegationStatus::Stopped,
            _ => DelegationStatus::Open,
        };
        let files = (0..subtasks.len()).flat_map(|task| self.changed_files(task)).collect();
        let mut shared: Vec<String> = self.shared.values().flatten().cloned().collect();
        shared.sort_unstable();
        shared.dedup();
        Ok(DelegationReport {
            delegation: self.head.id,
            local: self.head.local.clone(),
            goal: self.goal.goal.clone(),
            state,
            subtasks,
            files,
            shared,
            seconds: self.seconds_since_start()?,
            usage: usage(self.session)?,
        })
    }

    fn subtask_report(
        &self,
        delegation: &DelegationState,
        at: usize,
        task: &SubtaskState,
        usage: SubtaskUsage,
    ) -> Result<SubtaskReport, ToolError> {
        let subtask = &delegation.plan().subtasks()[at];
        let mark = match &task.status {
            TaskStatus::Verified(_) => SubtaskStatus::Verified,
            TaskStatus::Failed(why) => SubtaskStatus::Failed { why: self.why(task, why.as_deref())? },
            TaskStatus::Skipped(needs) => {
                SubtaskStatus::Skipped { needs: delegation.plan().subtasks()[*needs].title.clone() }
            }
            TaskStatus::Waiting | TaskStatus::Working | TaskStatus::Verifying(_) => SubtaskStatus::Open,
        };
        let node = |id: Option<NodeId>| id.map(|id| self.loom.node(id)).transpose();
        let (brief, verdict, result) = (node(task.brief)?, node(task.verdict)?, node(task.result)?);
        let newest = verdict.as_ref().or(result.as_ref()).map(|node| node.created_at);
        let took = brief.as_ref().zip(newest).map_or(0, |(brief, newest)| seconds(brief.created_at, newest));
        let checked = verdict.as_ref().filter(|verdict| verdict.author_type == AuthorType::Tool);
        Ok(SubtaskReport {
            id: subtask.id.clone(),
            title: subtask.title.clone(),
            status: mark,
            attempts: task.attempts,
            branch: brief.map(|brief| brief.local),
            checked: checked.is_some(),
            // The first line of the verdict is the command, the second one its exit status.
            check: checked.map(|verdict| verdict.content.lines().take(2).collect::<Vec<_>>().join(": ")),
            result: result.as_ref().map(|result| result.local.clone()),
            outcome: result.map(|result| first_words(&one_line(&result.content), MAX_OUTCOME_CHARS)),
            usage,
            seconds: took,
        })
    }

    /// Returns the files that the worker of a subtask changed: `src/a.rs (created by subtask 2)`.
    fn changed_files(&self, task: usize) -> Vec<String> {
        let changed = self.config.worker_tools.changed(&[self.worker_name(task)]);
        let with_task = |file: String| match file.strip_suffix(')') {
            Some(file) => format!("{file} by subtask {})", task + 1),
            None => format!("{file} (changed by subtask {})", task + 1),
        };
        changed.into_iter().map(with_task).collect()
    }

    /// Returns the seconds from the delegation to the newest result or verdict.
    fn seconds_since_start(&self) -> Result<u64, ToolError> {
        let tasks = self.delegation_state.as_ref().map_or(&[][..], DelegationState::tasks);
        let mut newest = self.head.created_at;
        for id in tasks.iter().filter_map(|task| task.verdict.or(task.result)) {
            newest = newest.max(self.loom.node(id)?.created_at);
        }
        Ok(seconds(self.head.created_at, newest))
    }

    pub(super) fn why(&self, task: &SubtaskState, why: Option<&str>) -> Result<String, ToolError> {
        Ok(match (why.or(task.last_error.as_deref()), task.verdict) {
            (Some(why), _) => why.to_owned(),
            (None, Some(verdict)) => verification::verdict_reason(&self.loom.node(verdict)?),
            (None, None) => String::new(),
        })
    }

    /// Returns warnings about files of the plan that other open delegations in the same workspace change, by subtask.
    pub(super) fn shared_files(&self, plan: &Plan) -> Result<HashMap<usize, Vec<String>>, ToolError> {
        let mut shared: HashMap<usize, Vec<String>> = HashMap::new();
        let own: Vec<(usize, String)> = plan.files().collect();
        if own.is_empty() {
            return Ok(shared);
        }
        let folder = self.loom.session(self.session)?.workspace;
        for other in delegation_store::list(&self.loom)?.into_iter().filter(|other| other.is_open()) {
            // Only the later of two delegations is warned.
            if other.head.id == self.head.id || other.head.seq > self.head.seq {
                continue;
            }
            let theirs = self.files_of(other.head.id, &folder)?;
            for (task, file) in &own {
                if theirs.contains_key(file) {
                    let who = format!("[{}] \"{}\"", other.head.local, one_line(&other.goal));
                    shared
                        .entry(*task)
                        .or_default()
                        .push(format!("{file} is also being changed by the delegation {who}"));
                }
            }
        }
        Ok(shared)
    }

    /// Returns the files that a delegation in this workspace plans to change.
    fn files_of(&self, head: NodeId, folder: &str) -> Result<BTreeMap<String, usize>, ToolError> {
        let head = self.loom.node(head)?;
        let events = delegation_store::events(&self.loom, &head)?;
        let (mut here, mut files) = (false, BTreeMap::new());
        for event in &events {
            match event {
                DelegationEvent::Begun { session } => here = self.loom.session(*session)?.workspace == folder,
                DelegationEvent::Planned { node } if here => {
                    let node = self.loom.node(*node)?;
                    // Only the file names matter, so the plan is not checked against the rules.
                    let subtasks = Plan::parse_lenient(&node.content);
                    files = subtasks.iter().flat_map(Plan::files).map(|(task, file)| (file, task)).collect();
                }
                _ => {}
            }
        }
        Ok(files)
    }
}
