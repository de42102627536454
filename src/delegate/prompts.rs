//! Prompts for the planner, the workers and the judge.

use super::{Plan, PlanError, Subtask, plan::schema};
use crate::{
    tools::HostTool,
    types::{Node, one_line},
};

/// System prompt of the planner.
const PLANNER: &str = include_str!("planner.md");
/// System prompt of the judge.
pub(super) const JUDGE: &str = include_str!("judge.md");
/// Repeated question to a judge whose answer could not be parsed.
pub(super) const VERDICT_FORMAT_REMINDER: &str =
    "That could not be read. Answer with the JSON object alone: {\"passed\": true or false, \"why\": \"…\"}";
/// Maximum characters of a result in a prompt.
const MAX_RESULT_CHARS: usize = 16_000;
/// Maximum characters of all steps of a worker, and of one command result in them.
const MAX_STEPS_CHARS: usize = 16_000;
const MAX_STEP_RESULT_CHARS: usize = 1_200;

/// Goal of a delegation with its context; stored as metadata of the head node.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct DelegationGoal {
    /// Goal in the delegating agent's words.
    pub goal: String,
    /// Background information from the delegating agent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// Key decisions of the delegating session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// Constraints of the delegating session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
}

impl DelegationGoal {
    /// Formats context, constraints and decisions; empty if there are none.
    fn format_background(&self) -> String {
        let mut text = String::new();
        if !self.context.trim().is_empty() {
            text.push_str(&format!("\n\nContext:\n{}", self.context.trim()));
        }
        for (what, lines) in [("Constraints", &self.constraints), ("Decisions", &self.decisions)] {
            if !lines.is_empty() {
                text.push_str(&format!("\n\n{what}:"));
                lines.iter().for_each(|line| text.push_str(&format!("\n- {}", one_line(line))));
            }
        }
        text
    }

    /// Returns the content of the delegation's head node.
    pub(super) fn head(&self) -> String {
        format!("Delegated: {}{}", self.goal.trim(), self.format_background())
    }
}

/// Shortens a text to its beginning and end, at ends of lines if some are near. A text that is little too long stays.
fn truncate_middle(text: &str, most: usize) -> String {
    let all = text.chars().count();
    if all <= most + most / 8 {
        return text.to_owned();
    }
    let half = most / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(all - half).collect();
    let start =
        start.rsplit_once('\n').map(|(kept, _)| kept).filter(|kept| kept.chars().count() > half / 2).unwrap_or(&start);
    let end = end.split_once('\n').map(|(_, kept)| kept).filter(|kept| kept.chars().count() > half / 2).unwrap_or(&end);
    let left_out = all - start.chars().count() - end.chars().count();
    format!("{start}\n[… {left_out} characters are left out here …]\n{end}")
}

/// Returns the planner's system prompt and its first message. `failures` are those of earlier delegations.
pub(super) fn planning_prompt(
    task: &DelegationGoal,
    tools: &[HostTool],
    checks: bool,
    failures: &[String],
) -> (String, String) {
    let mut asked = format!("Goal: {}{}", task.goal.trim(), task.format_background());
    asked.push_str(if tools.is_empty() {
        "\n\nThere are no tools other than reading and writing in the conversation."
    } else {
        "\n\nTools:"
    });
    for tool in tools {
        asked.push_str(&format!("\n- {}: {}", tool.name, one_line(&tool.description)));
    }
    if !checks {
        asked.push_str("\n\nNo commands can be run as checks: give criteria.");
    }
    if !failures.is_empty() {
        asked.push_str("\n\nWhat failed in earlier delegations of this folder:");
        failures.iter().for_each(|failure| asked.push_str(&format!("\n- {}", one_line(failure))));
    }
    (format!("{PLANNER}{}", schema()), asked)
}

/// Returns the message that asks the planner to correct an invalid plan.
pub(super) fn repair(error: &PlanError) -> String {
    format!("This plan is invalid: {error}. Answer with the whole corrected plan as one JSON object.")
}

/// Returns the instructions of a worker. `results` are those of its dependencies; `others` are warnings about shared
/// files.
pub(super) fn instructions(
    task: &DelegationGoal,
    plan: &Plan,
    at: usize,
    results: &[(&Subtask, Node)],
    others: &[String],
) -> String {
    let all = plan.subtasks();
    let Some(subtask) = all.get(at) else { return String::new() };
    let mut text = format!("Subtask {} of {}: {}", at + 1, all.len(), subtask.title.trim());
    if !subtask.details.trim().is_empty() {
        text.push_str(&format!("\n\n{}", subtask.details.trim()));
    }
    text.push_str(&format!("\n\nIt is part of this goal: {}{}", task.goal.trim(), task.format_background()));
    if !subtask.criteria.trim().is_empty() {
        text.push_str(&format!("\n\nIt is done when: {}", subtask.criteria.trim()));
    }
    if let Some(check) = &subtask.check {
        text.push_str(&format!("\n\nWhen you are done, this is run, and must succeed: {check}"));
    }
    if !subtask.tools.is_empty() {
        text.push_str(&format!("\n\nTools for it: {}", subtask.tools.join(", ")));
    }
    for other in others {
        text.push_str(&format!("\n\nTake care: {other}"));
    }
    for (on, result) in results {
        let words = truncate_middle(result.content.trim(), MAX_RESULT_CHARS);
        text.push_str(&format!("\n\n--- Result of \"{}\" [{}]\n{words}", one_line(&on.title), result.local));
    }
    if !results.is_empty() {
        text.push_str("\n---");
    }
    text.push_str(
        "\n\nDo this subtask and nothing else. End with what you did and found, in words: that is what is verified and \
         what others go on with.",
    );
    text
}

/// Returns the message that asks a worker to mend what a check or judge found.
pub(super) fn retry(why: &str, is_new_model: bool) -> String {
    let who = if is_new_model {
        "Another model tried this before you, and that attempt failed"
    } else {
        "That attempt failed"
    };
    format!(
        "{who}:\n\n{}\n\nCorrect it, and end with what you did and found.",
        truncate_middle(why.trim(), MAX_RESULT_CHARS)
    )
}

/// Returns the message that asks a worker to continue after an attempt that ended before its result.
pub(super) fn resume(why: &str) -> String {
    format!(
        "The last attempt ended before its result: {}. What it did is above. Continue, and end with what you did and found.",
        truncate_middle(why.trim().trim_end_matches('.'), MAX_RESULT_CHARS)
    )
}

/// Output of a worker that a judge sees.
pub(super) struct WorkerOutput {
    /// Commands with their results.
    pub(super) steps: Vec<(String, String)>,
    /// Files that the worker changed.
    pub(super) files: Vec<String>,
    /// Text of the result.
    pub(super) result: String,
}

/// Returns the judge's question.
pub(super) fn judge_question(task: &DelegationGoal, subtask: &Subtask, output: &WorkerOutput) -> String {
    let mut text = format!("Subtask: {}\n\n{}", subtask.title.trim(), subtask.details.trim());
    text.push_str(&format!("\n\nIt is part of this goal: {}{}", task.goal.trim(), task.format_background()));
    let criteria = if subtask.criteria.trim().is_empty() { "as the subtask says" } else { subtask.criteria.trim() };
    text.push_str(&format!("\n\nCriteria: {criteria}"));
    let mut steps = String::new();
    for (line, answer) in &output.steps {
        // Spaces of a written text stay, so that its indentation can be judged.
        let line = line.lines().collect::<Vec<_>>().join("\\n");
        steps.push_str(&format!("\n{line}\n{}\n", truncate_middle(answer, MAX_STEP_RESULT_CHARS)));
    }
    if !steps.is_empty() {
        text.push_str(&format!("\n\n--- What was done on the way{}", truncate_middle(&steps, MAX_STEPS_CHARS)));
    }
    if !output.files.is_empty() {
        text.push_str(&format!("\n\n--- Files that its tools changed: {}", output.files.join(", ")));
    }
    text.push_str(&format!("\n\n--- The result\n{}\n---", truncate_middle(output.result.trim(), MAX_RESULT_CHARS)));
    text
}
