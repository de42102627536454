//! Report of a delegation: short enough for the conversation, with the local ids of the nodes that hold the details.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::UsageTotals;
use crate::{
    id::{LocalId, NodeId},
    provider::Money,
    types::{first_words, one_line},
};

/// Maximum characters of the goal in the report's text.
const MAX_GOAL_CHARS: usize = 80;
/// Line before the changed files, and the start of each of their lines.
const FILES_HEADING: &str = "\nFiles changed:";
const FILE_PREFIX: &str = "  - ";

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
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// Check command with the first line of its output, which has the exit status; `None` if it did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Node with the worker's result; `None` without a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<LocalId>,
    /// First words of the worker's result; `…` marks an omission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Replies, tokens and cost of the worker.
    pub usage: SubtaskUsage,
    /// Seconds from the first instructions to the newest verdict or result.
    pub seconds: u64,
}

/// Replies, tokens and cost of a subtask.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SubtaskUsage {
    /// Number of replies.
    pub replies: u64,
    /// Prompt and reply tokens; `None` if no provider reported any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<(u64, u64)>,
    /// Cost by currency, if known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cost: Vec<Money>,
}

impl From<&UsageTotals> for SubtaskUsage {
    fn from(totals: &UsageTotals) -> Self {
        let is_reported = totals.uncounted < totals.generations;
        let tokens = is_reported.then_some((totals.prompt, totals.output));
        Self { replies: totals.generations, tokens, cost: totals.cost() }
    }
}

impl fmt::Display for SubtaskUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.replies {
            1 => f.write_str("1 reply")?,
            replies => write!(f, "{replies} replies")?,
        }
        match self.tokens {
            Some((prompt, output)) => write!(f, ", {prompt} tokens in and {output} out")?,
            None => f.write_str(", tokens not reported")?,
        }
        self.cost.iter().try_for_each(|money| write!(f, ", {} {}", money.amount, money.currency))
    }
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
    /// Files that workers changed, if known: `src/a.rs (created by subtask 2)`.
    pub files: Vec<String>,
    /// Warnings about files that other delegations change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<String>,
    /// Replies, tokens and cost of all subtasks, of planning and of verification.
    pub usage: SubtaskUsage,
    /// Seconds from the delegation to the newest result.
    pub seconds: u64,
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

/// Returns the metadata of a stored report: the files that it names, for the state of the delegating session. `None` if it
/// names none.
pub(super) fn report_metadata(report: &str) -> Option<Value> {
    let (_, rest) = report.split_once(FILES_HEADING)?;
    let lines = rest.lines().skip(1).map_while(|line| line.strip_prefix(FILE_PREFIX));
    let file = |line: &str| {
        let (path, action) = line.strip_suffix(')')?.rsplit_once(" (")?;
        Some(json!({ "path": path, "action": action }))
    };
    Some(json!({ "files": lines.filter_map(file).collect::<Value>() }))
}

impl fmt::Display for DelegationReport {
    /// Formats the report for a model. Every line starts with fixed text, so that content cannot imitate a command.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let goal = first_words(&one_line(&self.goal), MAX_GOAL_CHARS);
        let mark = if self.state == DelegationStatus::Completed { '✓' } else { '✗' };
        let state = match self.state {
            DelegationStatus::Completed => "completed",
            DelegationStatus::Incomplete => "ended, not completed",
            DelegationStatus::Stopped => "stopped",
            DelegationStatus::Open => "going on",
        };
        write!(f, "{mark} task {state}: \"{goal}\" [{}]", self.local)?;
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
            if line.attempts > 0 {
                let check =
                    line.check.as_deref().map(|check| format!("check {} · ", one_line(check))).unwrap_or_default();
                write!(f, "\n      {check}{} · {} s", line.usage, line.seconds)?;
            }
            if let Some(outcome) = &line.outcome {
                write!(f, "\n      \"{}\"", one_line(outcome))?;
                if let Some(result) = line.result.as_ref().filter(|_| outcome.ends_with('…')) {
                    write!(f, " → view {result} full")?;
                }
            }
        }
        if !self.files.is_empty() {
            f.write_str(FILES_HEADING)?;
            self.files.iter().try_for_each(|file| write!(f, "\n{FILE_PREFIX}{}", one_line(file)))?;
        }
        for shared in &self.shared {
            write!(f, "\nTake care: {}", one_line(shared))?;
        }
        if !self.subtasks.is_empty() {
            write!(f, "\n{}", self.verification())?;
        }
        write!(f, "\nIt took {} · {} s", self.usage, self.seconds)?;
        match self.state {
            DelegationStatus::Completed => Ok(()),
            _ => write!(
                f,
                "\nVerified subtasks stay. To resume the rest: → delegate resume:{0} (a person: loom delegate --resume {0})",
                self.local
            ),
        }
    }
}
