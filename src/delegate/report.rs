//! What comes back of a delegation: short enough for the conversation, with the ids of all that is longer.

use std::fmt;

use serde::Serialize;

use crate::{
    id::{LocalId, NodeId},
    provider::Money,
    types::one_line,
};

/// How a delegation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DelegationStatus {
    /// Every subtask is done and verified.
    Completed,
    /// Some could not be done.
    Incomplete,
    /// Somebody stopped it.
    Stopped,
    /// It is not at its end: it is going on, or was cut off.
    Open,
}

/// How a subtask stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SubtaskStatus {
    /// Done, and seen to be.
    Verified,
    /// Not done; why.
    Failed {
        /// What the last verdict says, or what went wrong.
        why: String,
    },
    /// Not tried: what it needs was not done.
    Skipped {
        /// The title of that.
        needs: String,
    },
    /// Not at its end.
    Open,
}

/// A subtask in a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SubtaskReport {
    /// Its name in the plan.
    pub id: String,
    /// What it is.
    pub title: String,
    /// How it stands.
    #[serde(flatten)]
    pub status: SubtaskStatus,
    /// How often it was tried.
    pub attempts: u32,
    /// Where its branch begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<LocalId>,
    /// Whether a command's exit status said that it is done, rather than a model.
    pub checked: bool,
}

/// What comes back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DelegationReport {
    /// The delegation: the node below which all of it is.
    pub delegation: NodeId,
    /// Its short id, by which it is taken up again.
    #[serde(rename = "local_id")]
    pub local: LocalId,
    /// What was wanted.
    pub goal: String,
    /// How it stands.
    pub state: DelegationStatus,
    /// The subtasks, as planned; none as long as there is no plan.
    pub subtasks: Vec<SubtaskReport>,
    /// Files that were changed, where that is known: `src/a.rs (created)`.
    pub files: Vec<String>,
    /// What others were doing to the same files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<String>,
    /// Generations that it took, plan and verdicts included.
    pub generations: u64,
    /// Tokens of their prompts.
    pub prompt: u64,
    /// Tokens of their replies.
    pub output: u64,
    /// What that cost, where it is known.
    pub cost: Vec<Money>,
}

impl DelegationReport {
    fn count(&self, fits: impl Fn(&SubtaskStatus) -> bool) -> usize {
        self.subtasks.iter().filter(|line| fits(&line.status)).count()
    }

    /// How much of it was verified, and how.
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
    /// The report as a model reads it; every line begins with words of ours.
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
            _ => write!(f, "\nWhat is verified stays. To go on with the rest: loom delegate --resume {}", self.local),
        }
    }
}
