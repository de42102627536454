//! Plan of a delegation: subtasks and their dependencies, parsed from a planner's reply and validated as a whole.
//!
//! Planners are models: the JSON may be embedded in prose or in a code fence. Validation reports all problems at once,
//! so that the planner can correct them in one reply.

use std::{
    collections::HashMap,
    fmt,
    path::{Component, Path},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::types::{literal, literal_line};

mod dependency_graph;
mod shared_files;

use dependency_graph::{cycles, levels};
use shared_files::file_order;

/// Maximum bytes of a plan's text.
const MAX_PLAN_BYTES: usize = 1 << 20;
/// Maximum problems that an error lists; more are only counted.
const MAX_LISTED_PROBLEMS: usize = 12;

/// Subtask of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subtask {
    /// Id for dependencies, unique in the plan.
    pub id: String,
    /// Short title.
    pub title: String,
    /// Instructions for the worker.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details: String,
    /// Ids of the subtasks whose results it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Criteria for the judge.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub criteria: String,
    /// Command that verifies the result by its exit status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Host tools that the worker may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Files that the worker plans to change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// Rules for the validation of a plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanRules<'a> {
    /// Names of the available host tools.
    pub tools: &'a [String],
    /// True if commands can run as checks.
    pub checks: bool,
    /// Maximum number of subtasks.
    pub most: usize,
}

/// Valid plan: ids are unique and dependencies have no cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    subtasks: Vec<Subtask>,
    /// Indices of the dependencies of each subtask.
    needs: Vec<Vec<usize>>,
    /// Indices of the subtasks that must have ended before each subtask, because they change one of its files.
    after: Vec<Vec<usize>>,
    /// Indices of all subtasks in a topological order.
    order: Vec<usize>,
}

/// Problems of an invalid plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PlanError(Vec<String>);

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0[..self.0.len().min(MAX_LISTED_PROBLEMS)].join("; "))?;
        let more = self.0.len().saturating_sub(MAX_LISTED_PROBLEMS);
        if more > 0 { write!(f, "; and {more} more") } else { Ok(()) }
    }
}

impl From<String> for PlanError {
    fn from(problem: String) -> Self {
        Self(vec![problem])
    }
}

/// JSON that a planner writes.
#[derive(Deserialize)]
#[serde(untagged)]
enum PlanJson {
    Whole {
        subtasks: Vec<Subtask>,
        /// True if subtasks may change one file at the same time.
        #[serde(default)]
        shared_files: bool,
    },
    Bare(Vec<Subtask>),
}

impl Plan {
    /// Parses and validates a planner's reply.
    ///
    /// # Errors
    /// If the reply holds no valid plan; lists all problems.
    pub fn read(text: &str, rules: &PlanRules<'_>) -> Result<Self, PlanError> {
        if text.len() > MAX_PLAN_BYTES {
            return Err(format!("the plan has {} bytes, and {MAX_PLAN_BYTES} is the most", text.len()).into());
        }
        let value = extract_json(text).ok_or_else(|| "there is no JSON object with \"subtasks\" in it".to_owned())?;
        let (subtasks, shared) = match serde_json::from_value(value.clone()) {
            Ok(PlanJson::Whole { subtasks, shared_files }) => (subtasks, shared_files),
            Ok(PlanJson::Bare(subtasks)) => (subtasks, false),
            Err(_) => return Err(shape_error(&value).into()),
        };
        let mut plan = Self::new(subtasks, rules)?;
        if shared {
            plan.after.iter_mut().for_each(Vec::clear);
        }
        Ok(plan)
    }

    /// Parses the plan of another delegation without validating its tools; `None` if it cannot be parsed.
    pub(super) fn parse_lenient(text: &str) -> Option<Self> {
        let written = serde_json::from_value(extract_json(text)?).ok()?;
        let (PlanJson::Whole { subtasks, .. } | PlanJson::Bare(subtasks)) = written;
        let tools: Vec<String> = subtasks.iter().flat_map(|subtask| subtask.tools.clone()).collect();
        Self::new(subtasks, &PlanRules { tools: &tools, checks: true, most: usize::MAX }).ok()
    }

    /// Validates subtasks and builds a plan.
    ///
    /// # Errors
    /// If the plan is invalid; lists all problems.
    pub fn new(subtasks: Vec<Subtask>, rules: &PlanRules<'_>) -> Result<Self, PlanError> {
        match subtasks.len() {
            0 => return Err("the plan has no subtask".to_owned().into()),
            n if n > rules.most => {
                return Err(format!("the plan has {n} subtasks, and {} is the most", rules.most).into());
            }
            _ => {}
        }
        let mut problems = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::with_capacity(subtasks.len());
        for (at, subtask) in subtasks.iter().enumerate() {
            if known.insert(&subtask.id, at).is_some() {
                problems.push(format!("the id {:?} occurs twice", subtask.id));
            }
            problems.extend(missing_fields(subtask, rules));
        }
        let mut needs = vec![Vec::new(); subtasks.len()];
        for (at, subtask) in subtasks.iter().enumerate() {
            for id in &subtask.depends_on {
                match known.get(id.as_str()) {
                    Some(need) => needs[at].push(*need),
                    None => problems.push(format!("{:?} depends on {id:?}, which does not exist", subtask.id)),
                }
            }
            needs[at].sort_unstable();
            needs[at].dedup();
        }
        if !problems.is_empty() {
            return Err(PlanError(problems));
        }
        let levels = levels(&needs).ok_or_else(|| PlanError(cycles(&needs, &subtasks)))?;
        // Subtasks of one level keep the planner's order.
        let mut order: Vec<usize> = (0..subtasks.len()).collect();
        order.sort_by_key(|at| levels[*at]);
        let after = file_order(&subtasks, &needs, &order);
        Ok(Self { subtasks, needs, after, order })
    }

    /// Returns the subtasks in the planner's order.
    #[must_use]
    pub fn subtasks(&self) -> &[Subtask] {
        &self.subtasks
    }

    /// Returns the indices of a subtask's dependencies.
    #[must_use]
    pub fn needs(&self, task: usize) -> &[usize] {
        &self.needs[task]
    }

    /// Returns the indices of the subtasks that must have ended before a subtask, although it does not need their results:
    /// both change the same file.
    #[must_use]
    pub fn after(&self, task: usize) -> &[usize] {
        &self.after[task]
    }

    /// Returns the indices of all subtasks in a topological order.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Returns the files of all subtasks with the subtask's index. Paths are relative to the workspace, without `.` and
    /// `..`.
    pub fn files(&self) -> impl Iterator<Item = (usize, String)> {
        let all = self.subtasks.iter().enumerate();
        all.flat_map(|(at, subtask)| subtask.files.iter().map(move |file| (at, normalize_path(file))))
    }
}

impl fmt::Display for Plan {
    /// Formats the plan for the user's approval.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, subtask) in self.subtasks.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{}. {}", at + 1, literal_line(&subtask.title))?;
            let mut after: Vec<usize> = self.needs[at].iter().chain(&self.after[at]).map(|before| before + 1).collect();
            after.sort_unstable();
            if !after.is_empty() {
                let after: Vec<String> = after.iter().map(usize::to_string).collect();
                write!(f, " (after {})", after.join(", "))?;
            }
            let check = subtask.check.as_deref().unwrap_or("");
            for (what, said) in [
                ("does", &*subtask.details),
                ("done when", &subtask.criteria),
                ("checked by", check),
                ("tools", &subtask.tools.join(", ")),
                ("files", &subtask.files.join(", ")),
            ] {
                if !said.is_empty() {
                    // The bar marks continued lines, so that text cannot imitate a line of the plan.
                    let said = literal(said.trim_end()).replace('\n', "\n   │ ");
                    write!(f, "\n   {what}: {said}")?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the JSON schema of a plan for the planner's prompt.
pub(super) fn schema() -> Value {
    let text = |meaning: &str| json!({ "type": "string", "description": meaning });
    let texts = |meaning: &str| json!({ "type": "array", "items": { "type": "string" }, "description": meaning });
    let subtask = json!({
        "type": "object",
        "properties": {
            "id": text("A short name, unique in the plan."),
            "title": text("What it is, in a few words."),
            "details": text("What is to be done, for a worker who sees only this, the goal and the results it depends on."),
            "depends_on": texts("The ids of the subtasks whose results it needs; none if it can begin at once."),
            "criteria": text("Criteria by which a judge sees that it is done."),
            "check": text("A command whose exit status is 0 if it is done, if there is one."),
            "tools": texts("The tools that it may use, of those that there are."),
            "files": texts("The files that it changes."),
        },
        "required": ["id", "title", "details", "criteria"],
    });
    json!({
        "type": "object",
        "properties": {
            "subtasks": { "type": "array", "items": subtask, "minItems": 1 },
            "shared_files": {
                "type": "boolean",
                "description": "True only if the goal asks that subtasks change one file at the same time. Else they wait for each other.",
            },
        },
        "required": ["subtasks"],
    })
}

/// True if a text is one line without control or invisible characters.
fn is_line(text: &str) -> bool {
    !text.trim().chars().any(|c| c.is_control() || crate::types::is_invisible(c))
}

/// Returns the problems of a subtask.
fn missing_fields(subtask: &Subtask, rules: &PlanRules<'_>) -> Vec<String> {
    let id = &subtask.id;
    let mut problems = Vec::new();
    if id.trim().is_empty() || id.len() > 64 {
        problems.push(format!("{id:?} is no id: a short name"));
    }
    if subtask.title.trim().is_empty() {
        problems.push(format!("{id:?} has no title"));
    } else if !is_line(&subtask.title) {
        problems.push(format!("the title of {id:?} has to be one line without control characters"));
    }
    if subtask.criteria.trim().is_empty() && subtask.check.is_none() {
        problems.push(format!("{id:?} has no criteria: it could not be verified"));
    }
    if subtask.check.as_deref().is_some_and(|check| check.trim().is_empty()) {
        problems.push(format!("the check of {id:?} is empty"));
    } else if subtask.check.as_deref().is_some_and(|check| !is_line(check)) {
        problems
            .push(format!("the check of {id:?} has to be one line without control characters; a script can be a file"));
    } else if subtask.check.is_some() && !rules.checks {
        problems.push(format!("{id:?} has a check, but commands cannot run here: give criteria"));
    }
    for tool in subtask.tools.iter().filter(|tool| !rules.tools.contains(tool)) {
        let known = if rules.tools.is_empty() { "there are none".to_owned() } else { rules.tools.join(", ") };
        problems.push(format!("{id:?} uses the tool {tool:?}, which does not exist ({known})"));
    }
    problems
}

/// Extracts JSON from a text: the whole text, a code fence, or the part between the outermost braces or brackets.
pub(super) fn extract_json(text: &str) -> Option<Value> {
    let fenced = text.split("```").skip(1).step_by(2).map(|fence| fence.trim_start_matches("json"));
    let between = |open: char, close: char| {
        let (from, to) = (text.find(open)?, text.rfind(close)?);
        text.get(from..=to)
    };
    let whole = std::iter::once(text).chain(fenced).chain(between('{', '}')).chain(between('[', ']'));
    let mut found = whole.filter_map(|text| serde_json::from_str::<Value>(text.trim()).ok());
    found.find(|value| value.is_object() || value.is_array())
}

/// Describes why JSON does not have the shape of a plan.
fn shape_error(value: &Value) -> String {
    let Some(subtasks) = value.get("subtasks").unwrap_or(value).as_array() else {
        return "the JSON has no list \"subtasks\"".to_owned();
    };
    let wrong = subtasks.iter().enumerate().find_map(|(at, subtask)| {
        serde_json::from_value::<Subtask>(subtask.clone()).err().map(|error| (at + 1, error))
    });
    match wrong {
        Some((at, error)) => format!("subtask {at} has the wrong form: {error}"),
        None => "the JSON is no plan".to_owned(),
    }
}

/// Normalizes a path relative to the workspace.
fn normalize_path(path: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in Path::new(path.trim()).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            Component::ParentDir => _ = parts.pop(),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests;
