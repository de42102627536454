//! What tools did: files that were written, commands that failed and then worked, commits.

use serde_json::Value;

use super::{ExtractionRules, RecordKind, SessionState, TurnRecord};
use crate::types::{first_words, one_line};

/// Characters of the line that tells of an error.
const ERROR: usize = 100;

impl SessionState {
    /// Takes in what a tool answered.
    pub(super) fn answered(
        &mut self,
        rules: &ExtractionRules,
        heard: &TurnRecord<'_>,
        calls: impl FnOnce() -> Option<String>,
    ) {
        let Some(tool) = heard.tool else { return };
        let metadata = heard.metadata.and_then(|text| serde_json::from_str::<Value>(text).ok()).unwrap_or_default();
        for file in metadata["files"].as_array().into_iter().flatten() {
            let path = file["path"].as_str().or(file.as_str()).unwrap_or("");
            self.touch(path, file["action"].as_str().unwrap_or("changed"), heard.turn);
        }
        if !rules.knows(tool) {
            return;
        }
        let arguments = match &metadata["arguments"] {
            Value::Null => calls().and_then(|calls| called_with(&calls, tool, heard.call)).unwrap_or_default(),
            given => given.clone(),
        };
        let failed = metadata["failed"].as_bool().unwrap_or(false);
        if let (Some(action), Some(path)) = (rules.writes(tool), named(&arguments, &rules.paths))
            && !failed
        {
            self.touch(&path, action, heard.turn);
        }
        if rules.runs(tool)
            && let Some(command) = named(&arguments, &rules.commands)
        {
            let code = exit(rules, tool, heard.content).unwrap_or(i64::from(failed));
            self.ran(rules, tool, &command, code, heard);
        }
    }

    fn ran(&mut self, rules: &ExtractionRules, tool: &str, command: &str, code: i64, heard: &TurnRecord<'_>) {
        if code != 0 {
            return self.failed(command, telling(rules, heard.content), heard.turn);
        }
        self.succeeded(command, heard.turn);
        // `git_command(args: "commit …")` says half of it by its name.
        let whole = if tool.starts_with("git") { format!("git {command}") } else { command.to_owned() };
        let spaced = one_line(&whole);
        if let Some(commit) = rules.commits.iter().find(|commit| spaced.contains(commit.as_str())) {
            let rest = spaced.split_once(commit.as_str()).map_or("", |(_, rest)| rest);
            let subject = subject(rest).or_else(|| committed(heard.content));
            let subject = subject.unwrap_or_else(|| first_words(rest.trim(), ERROR));
            self.note(RecordKind::Decision, format!("committed: {subject}").trim_end_matches(": "), heard.turn);
        }
    }
}

/// The arguments of the call that a tool answered, among the calls of the node above, whoever's form they have.
fn called_with(calls: &str, tool: &str, id: Option<&str>) -> Option<Value> {
    let calls: Value = serde_json::from_str(calls).ok()?;
    let calls = calls.as_array()?;
    let name = |call: &Value| call["function"]["name"].as_str().or(call["name"].as_str()) == Some(tool);
    let call = match id {
        Some(id) => calls.iter().find(|call| call["id"].as_str() == Some(id)),
        None => calls.iter().find(|call| name(call)),
    }?;
    let given =
        [&call["function"]["arguments"], &call["arguments"], &call["input"]].into_iter().find(|v| !v.is_null())?;
    Some(match given {
        Value::String(text) => serde_json::from_str(text).ok()?,
        other => other.clone(),
    })
}

/// The text of the first of these arguments that is there; a list of words is one text.
fn named(arguments: &Value, names: &[String]) -> Option<String> {
    names.iter().find_map(|name| match &arguments[name.as_str()] {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(words) if !words.is_empty() => {
            Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    })
}

/// The number that a command ended with, where its first or last line says so, or a field of its JSON. What stands
/// between is output, and may say anything. The line by which the engine says that a tool was run is none of it.
fn exit(rules: &ExtractionRules, tool: &str, content: &str) -> Option<i64> {
    let ran = |line: &str| line.strip_prefix("✓ ").is_some_and(|name| name == tool);
    let mut lines = content.lines().filter(|line| !line.trim().is_empty() && !ran(line));
    let first = lines.next()?;
    let json = first.trim_start().starts_with('{').then_some(content);
    json.into_iter().chain([first]).chain(lines.next_back()).find_map(|text| number(rules, text))
}

fn number(rules: &ExtractionRules, text: &str) -> Option<i64> {
    let lower = text.to_lowercase();
    rules.exits.iter().find_map(|mark| {
        lower.match_indices(mark.as_str()).find_map(|(at, _)| {
            let begins = !lower[..at].ends_with(char::is_alphanumeric);
            let rest = lower[at + mark.len()..].trim_start_matches([' ', ':', '=', '"', '\'', '(']);
            let rest = rest.strip_prefix("code").or(rest.strip_prefix("status")).unwrap_or(rest).trim_start();
            let digits = rest.strip_prefix('-').unwrap_or(rest);
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let whole = end > 0 && !digits[end..].starts_with(|c: char| c.is_alphanumeric() || c == '.');
            (begins && whole).then(|| &rest[..rest.len() - digits.len() + end])?.parse().ok()
        })
    })
}

/// The line of an output that says most of what went wrong: the last that names an error, else the last one.
fn telling(rules: &ExtractionRules, content: &str) -> String {
    let lines = || content.lines().map(str::trim).filter(|line| !line.is_empty() && number(rules, line).is_none());
    let error = |line: &&str| {
        let lower = line.to_lowercase();
        ["error", "failed", "panicked", "exception", "not found", "denied"].iter().any(|word| lower.contains(word))
    };
    let line = lines().rfind(error).or_else(|| lines().next_back());
    first_words(line.unwrap_or("it failed"), ERROR)
}

/// What `-m` says.
fn subject(arguments: &str) -> Option<String> {
    let at = [" -m", " -am", " --message"].iter().find_map(|flag| arguments.find(flag).map(|at| at + flag.len()))?;
    let rest = arguments[at..].trim_start_matches([' ', '=']);
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
    let said = match quote {
        Some(quote) => rest[1..].split(quote).next().unwrap_or(""),
        None => rest.split(' ').next().unwrap_or(""),
    };
    (!said.is_empty()).then(|| first_words(said, ERROR))
}

/// What git answers: `[main 1a2b3c4] Add refresh tokens`.
fn committed(content: &str) -> Option<String> {
    let line = content.lines().map(str::trim).find(|line| line.starts_with('[') && line.contains("] "))?;
    line.split_once("] ").map(|(_, subject)| first_words(subject, ERROR))
}
