//! Report of a delegation, built from its state and the nodes that its events name. Also detects files that other
//! delegations change.

use std::collections::{BTreeMap, HashMap};

use super::{
    super::{DelegationState, DelegationStatus, SubtaskReport, SubtaskState, SubtaskStatus, TaskStatus},
    DelegationDriver, DelegationEvent, DelegationReport, Plan, ToolError, events, judge,
};
use crate::{
    id::NodeId,
    session::stats,
    store::GenerationFilter,
    types::{AuthorType, one_line},
};

impl DelegationDriver {
    pub(super) fn report(&self) -> Result<DelegationReport, ToolError> {
        let snapshot = self.loom.snapshot()?;
        let filter = GenerationFilter { session: Some(self.session), ..GenerationFilter::default() };
        let took = stats(&*snapshot, &filter)?.all;
        let subtasks = match &self.delegation_state {
            Some(delegation) => {
                let line = |(at, task)| self.subtask_report(delegation, at, task);
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
        let who: Vec<String> = (0..subtasks.len()).map(|task| self.worker_name(task)).collect();
        let mut shared: Vec<String> = self.shared.values().flatten().cloned().collect();
        shared.sort_unstable();
        shared.dedup();
        Ok(DelegationReport {
            delegation: self.head.id,
            local: self.head.local.clone(),
            goal: self.goal.goal.clone(),
            state,
            subtasks,
            files: self.config.worker_tools.changed(&who),
            shared,
            generations: took.generations,
            prompt: took.prompt,
            output: took.output,
            cost: took.cost(),
        })
    }

    fn subtask_report(
        &self,
        delegation: &DelegationState,
        at: usize,
        task: &SubtaskState,
    ) -> Result<SubtaskReport, ToolError> {
        let subtask = &delegation.plan().subtasks()[at];
        let mark = match &task.standing {
            TaskStatus::Verified(_) => SubtaskStatus::Verified,
            TaskStatus::Failed(why) => SubtaskStatus::Failed { why: self.why(task, why.as_deref())? },
            TaskStatus::Skipped(needs) => {
                SubtaskStatus::Skipped { needs: delegation.plan().subtasks()[*needs].title.clone() }
            }
            TaskStatus::Waiting | TaskStatus::Working | TaskStatus::Verifying(_) => SubtaskStatus::Open,
        };
        let verdict = task.verdict.map(|verdict| self.loom.node(verdict)).transpose()?;
        Ok(SubtaskReport {
            id: subtask.id.clone(),
            title: subtask.title.clone(),
            status: mark,
            attempts: task.attempts,
            branch: task.brief.map(|brief| self.loom.node(brief)).transpose()?.map(|node| node.local),
            checked: verdict.is_some_and(|verdict| verdict.author_type == AuthorType::Tool),
        })
    }

    fn why(&self, task: &SubtaskState, why: Option<&str>) -> Result<String, ToolError> {
        Ok(match (why.or(task.last_error.as_deref()), task.verdict) {
            (Some(why), _) => why.to_owned(),
            (None, Some(verdict)) => judge::verdict_reason(&self.loom.node(verdict)?),
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
        for other in events::list(&self.loom)?.into_iter().filter(|other| other.is_open()) {
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
        let events = events::events(&self.loom, &head)?;
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
