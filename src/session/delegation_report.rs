//! Report of a delegation: short enough for the conversation, with the local ids of the nodes that hold the details.

use std::fmt;

use serde::Serialize;

use crate::{
    id::{LocalId, NodeId},
    provider::Money,
    types::one_line,
};

/// Status of a delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DelegationStatus {
    /// Every subtask is verified.
    Completed,
    /// The delegation ended, and some subtasks failed or were skipped.
    Incomplete,
    /// The delegation was cancelled and can be resumed.
    Stopped,
    /// The delegation is running or its process ended; it can be resumed.
    Open,
}

/// Status of a subtask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SubtaskStatus {
    /// The result passed verification.
    Verified,
    /// All attempts failed.
    Failed {
        /// Reason of the last verdict, or the last error.
        why: String,
    },
    /// A dependency failed or was skipped.
    Skipped {
        /// Title of the dependency.
        needs: String,
    },
    /// The subtask has not ended.
    Open,
}

/// Subtask in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SubtaskReport {
    /// Id of the subtask in the plan.
    pub id: String,
    /// Title of the subtask.
    pub title: String,
    /// Status of the subtask.
    #[serde(flatten)]
    pub status: SubtaskStatus,
    /// Number of started attempts.
    pub attempts: u32,
    /// First node of the subtask's branch; `None` before the first attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<LocalId>,
    /// True if a check command verified the result, false for a model.
    pub checked: bool,
}

/// Report of a delegation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DelegationReport {
    /// Head node of the delegation.
    pub delegation: NodeId,
    /// Local id of the head node, which a resume takes.
    #[serde(rename = "local_id")]
    pub local: LocalId,
    /// Goal of the delegation.
    pub goal: String,
    /// Status of the delegation.
    pub state: DelegationStatus,
    /// Subtasks in plan order; empty without a plan.
    pub subtasks: Vec<SubtaskReport>,
    /// Files that workers changed, if known: `src/a.rs (created)`.
    pub files: Vec<String>,
    /// Warnings about files that other delegations change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<String>,
    /// Number of generations, including planning and verification.
    pub generations: u64,
    /// Prompt tokens of all generations.
    pub prompt: u64,
    /// Reply tokens of all generations.
    pub output: u64,
    /// Cost by currency, if known.
    pub cost: Vec<Money>,
}

impl DelegationReport {
    fn count(&self, fits: impl Fn(&SubtaskStatus) -> bool) -> usize {
        self.subtasks.iter().filter(|line| fits(&line.status)).count()
    }

    /// Formats the number of verified subtasks and the kind of verification.
    fn verification(&self) -> String {
        let verified = self.count(|mark| *mark == SubtaskStatus::Verified);
        let checked =
            self.subtasks.iter().filter(|line| line.status == SubtaskStatus::Verified && line.checked).count();
        let by = match (checked, verified - checked) {
            (0, 0) => String::new(),
            (checked, 0) => format!(" ({checked} by a check)"),
            (0, judged) => format!(" ({judged} by a model that did not do the work)"),
            (checked, judged) => format!(" ({checked} by a check, {judged} by a model that did not do the work)"),
        };
        format!("Verification: {verified} of {} subtasks passed{by}", self.subtasks.len())
    }
}

impl fmt::Display for DelegationReport {
    /// Formats the report for a model. Every line starts with fixed text, so that content cannot imitate a command.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let goal = one_line(&self.goal);
        let state = match self.state {
            DelegationStatus::Completed => "completed",
            DelegationStatus::Incomplete => "ended, not completed",
            DelegationStatus::Stopped => "stopped",
            DelegationStatus::Open => "going on",
        };
        write!(f, "✓ task {state}: \"{goal}\" [{}]", self.local)?;
        if !self.subtasks.is_empty() {
            f.write_str("\nSubtasks:")?;
        }
        for line in &self.subtasks {
            let (mark, why) = match &line.status {
                SubtaskStatus::Verified => ("[x]", String::new()),
                SubtaskStatus::Failed { why } => ("[!]", format!(" — failed: {}", one_line(why))),
                SubtaskStatus::Skipped { needs } => ("[-]", format!(" — skipped: it needs \"{}\"", one_line(needs))),
                SubtaskStatus::Open => ("[ ]", String::new()),
            };
            let branch = line.branch.as_ref().map(|id| format!(" [{id}]")).unwrap_or_default();
            let tries = if line.attempts > 1 { format!(" ({} attempts)", line.attempts) } else { String::new() };
            write!(f, "\n  {mark} {}{branch}{tries}{why}", one_line(&line.title))?;
        }
        if !self.files.is_empty() {
            f.write_str("\nFiles changed:")?;
            self.files.iter().try_for_each(|file| write!(f, "\n  - {}", one_line(file)))?;
        }
        for shared in &self.shared {
            write!(f, "\nTake care: {}", one_line(shared))?;
        }
        if !self.subtasks.is_empty() {
            write!(f, "\n{}", self.verification())?;
        }
        let replies =
            if self.generations == 1 { "1 reply".to_owned() } else { format!("{} replies", self.generations) };
        write!(f, "\nIt took {replies}, {} tokens in and {} out", self.prompt, self.output)?;
        for money in &self.cost {
            write!(f, ", {} {}", money.amount, money.currency)?;
        }
        match self.state {
            DelegationStatus::Completed => Ok(()),
            _ => write!(f, "\nVerified subtasks stay. To resume the rest: loom delegate --resume {}", self.local),
        }
    }
}
