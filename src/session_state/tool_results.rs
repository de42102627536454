//! Session state from tool results: written files, commands that failed and later succeeded, commits.

use serde_json::Value;

use super::{ExtractionRules, RecordKind, SessionState, TurnRecord};
use crate::types::{first_words, one_line};

/// Action of the tools that create or overwrite a file.
const WRITTEN: &str = "written";
/// Codes of errors of calls that did not run.
const REFUSALS: [&str; 2] = ["CANCELLED", "PERMISSION_DENIED"];
/// Maximum length in characters of a line that names a failure, or of a commit subject.
const MAX_LINE_CHARS: usize = 100;
/// Maximum length in characters of an error: a line that names a failure, its message, and the names of other failures.
const MAX_ERROR_CHARS: usize = 160;
const MAX_MESSAGE_CHARS: usize = 60;
const MAX_NAME_CHARS: usize = 40;
/// Maximum number of other failures that an error names.
const MAX_OTHER_FAILURES: usize = 4;

impl SessionState {
    /// Updates the state from the result of a tool.
    pub(super) fn ingest_tool_result(
        &mut self,
        rules: &ExtractionRules,
        turn: &TurnRecord<'_>,
        calls: impl FnOnce() -> Option<String>,
    ) {
        let Some(tool) = turn.tool else { return };
        let metadata = turn.metadata.and_then(|text| serde_json::from_str::<Value>(text).ok()).unwrap_or_default();
        for file in metadata["files"].as_array().into_iter().flatten() {
            let path = file["path"].as_str().or(file.as_str()).unwrap_or("");
            self.add_file_change(path, file["action"].as_str().unwrap_or("changed"), turn.turn);
        }
        if !rules.is_relevant_tool(tool) {
            return;
        }
        let arguments = match &metadata["arguments"] {
            Value::Null => calls().and_then(|calls| call_arguments(&calls, tool, turn.call)).unwrap_or_default(),
            given => given.clone(),
        };
        let failed = metadata["failed"].as_bool().unwrap_or(false);
        if let (Some(action), Some(path)) = (rules.write_action(tool), text_argument(&arguments, &rules.paths))
            && !failed
        {
            let is_new = action == WRITTEN && reports_new_file(tool, turn.content);
            self.add_file_change(&path, if is_new { "created" } else { action }, turn.turn);
        }
        if failed && was_refused(turn.content) {
            return;
        }
        if rules.runs_commands(tool)
            && let Some(command) = text_argument(&arguments, &rules.commands)
        {
            let code = exit_code(rules, tool, turn.content).unwrap_or(i64::from(failed));
            self.ingest_command(rules, tool, &command, code, turn);
        }
    }

    fn ingest_command(&mut self, rules: &ExtractionRules, tool: &str, command: &str, code: i64, turn: &TurnRecord<'_>) {
        if code != 0 {
            return self.command_failed(command, error_text(rules, tool, turn.content), turn.turn);
        }
        self.command_succeeded(command, turn.turn);
        // A tool named `git…` takes the subcommand only: `git_command(args: "commit …")`.
        let whole = if tool.starts_with("git") { format!("git {command}") } else { command.to_owned() };
        let spaced = one_line(&whole);
        if let Some(commit) = rules.commits.iter().find(|commit| spaced.contains(commit.as_str())) {
            let rest = spaced.split_once(commit.as_str()).map_or("", |(_, rest)| rest);
            let subject = message_option(rest).or_else(|| commit_subject(turn.content));
            let subject = subject.unwrap_or_else(|| first_words(rest.trim(), MAX_LINE_CHARS));
            self.add_entry(RecordKind::Decision, format!("committed: {subject}").trim_end_matches(": "), turn.turn);
        }
    }
}

/// Returns the lines of a result without the empty ones and the line that the engine adds (`✓ tool`, `✗ tool`).
fn output_lines<'a>(tool: &str, content: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
    let marks = [format!("✓ {tool}"), format!("✗ {tool}")];
    content.lines().filter(move |line| !line.trim().is_empty() && !marks.iter().any(|mark| mark == line))
}

/// True if the result of a writing tool says that the file is new.
fn reports_new_file(tool: &str, content: &str) -> bool {
    output_lines(tool, content).next().is_some_and(|line| line.trim_start().to_lowercase().starts_with("created "))
}

/// True if a failed call did not run, because a person or a permission refused it.
fn was_refused(content: &str) -> bool {
    let code = content.strip_prefix("✗ ").and_then(|rest| rest.split(':').next()).unwrap_or_default();
    REFUSALS.contains(&code)
}

/// Returns the arguments of the call that a tool answered. `calls` is the JSON of the parent node, in any provider's
/// format.
fn call_arguments(calls: &str, tool: &str, id: Option<&str>) -> Option<Value> {
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

/// Returns the first of these arguments that is present, as text. A list of words is joined.
fn text_argument(arguments: &Value, names: &[String]) -> Option<String> {
    names.iter().find_map(|name| match &arguments[name.as_str()] {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(words) if !words.is_empty() => {
            Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    })
}

/// Returns a command's exit code, from the first or last line of its output, or from a JSON object.
///
/// The lines between are output and may contain any number. The line that the engine adds is ignored.
fn exit_code(rules: &ExtractionRules, tool: &str, content: &str) -> Option<i64> {
    let mut lines = output_lines(tool, content);
    let first = lines.next()?;
    let json = first.trim_start().starts_with('{').then_some(content);
    json.into_iter().chain([first]).chain(lines.next_back()).find_map(|text| find_exit_code(rules, text))
}

fn find_exit_code(rules: &ExtractionRules, text: &str) -> Option<i64> {
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

/// Marks of lines that name a failed test, in lower case.
const RUST_TEST_MARK: &str = "... failed";
const GO_TEST_MARK: &str = "--- fail: ";
const PYTEST_MARK: &str = ".py::";
/// Marks of lines that name what failed, in lower case: a test, a place, a type error.
const NAMING_MARKS: &[&str] = &[RUST_TEST_MARK, "panicked at", "error[e", GO_TEST_MARK, ": error ts", "● "];
/// Beginnings of lines that only say that something failed, in lower case.
const TRAILERS: &[&str] = &[
    "error: test failed",
    "error: could not compile",
    "error: aborting",
    "error: process didn't",
    "for more information about this error",
    "test result:",
    "failures:",
    "npm err!",
    "npm error",
    "error command failed",
    "make: ***",
    "fail\t",
    "failed (",
    "=",
];

/// Returns the failures in an output: the first line that names what failed, its message, and the names of the others. Else
/// the last line with an error word, else the last line.
fn error_text(rules: &ExtractionRules, tool: &str, content: &str) -> String {
    let lines = || output_lines(tool, content).map(str::trim).filter(|line| find_exit_code(rules, line).is_none());
    let mut named = lines().filter_map(|line| naming_mark(line).map(|mark| (mark, line)));
    let Some((mark, first)) = named.next() else {
        let error = |line: &&str| {
            let lower = line.to_lowercase();
            ["error", "failed", "panicked", "exception", "not found", "denied"].iter().any(|word| lower.contains(word))
        };
        let line = lines().rfind(|line| error(line) && !is_trailer(line));
        let line = line.or_else(|| lines().rfind(error)).or_else(|| lines().next_back());
        return first_words(line.unwrap_or("it failed"), MAX_LINE_CHARS);
    };
    let mut names = vec![failure_name(first)];
    for name in named.filter(|(other, _)| *other == mark).map(|(_, line)| failure_name(line)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut text = first_words(first, MAX_LINE_CHARS);
    if let Some(message) = failure_message(mark, first, lines()) {
        text.push_str(&format!(" ({})", first_words(message, MAX_MESSAGE_CHARS)));
    }
    for (at, name) in names.iter().enumerate().skip(1).take(MAX_OTHER_FAILURES) {
        let gap = if at == 1 { ", also " } else { ", " };
        text.push_str(&format!("{gap}{}", first_words(name, MAX_NAME_CHARS)));
    }
    let text = first_words(&text, MAX_ERROR_CHARS);
    match names.len().saturating_sub(1 + MAX_OTHER_FAILURES) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// True if a line only says that something failed.
fn is_trailer(line: &str) -> bool {
    let lower = line.to_lowercase();
    TRAILERS.iter().any(|start| lower.starts_with(start))
}

/// Returns the mark of a line that names what failed.
fn naming_mark(line: &str) -> Option<&'static str> {
    let lower = line.to_lowercase();
    let is_pytest = lower.contains(PYTEST_MARK) && lower.contains("failed");
    let mark = is_pytest.then_some(PYTEST_MARK);
    mark.or_else(|| NAMING_MARKS.iter().copied().find(|mark| lower.contains(mark))).filter(|_| !is_trailer(line))
}

/// Returns the name of the test in a line that names what failed, else the line.
fn failure_name(line: &str) -> &str {
    if let Some(test) = line.split_whitespace().find(|word| word.contains(PYTEST_MARK)) {
        return test;
    }
    let prefix = ["test ", "--- FAIL: ", "● "].into_iter().find_map(|prefix| line.strip_prefix(prefix));
    prefix.map_or(line, |name| name.split(" ... ").next().and_then(|name| name.split(" (").next()).unwrap_or(name))
}

/// Returns the message of the failure that the line `first` names.
fn failure_message<'a>(mark: &str, first: &str, mut lines: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    match mark {
        RUST_TEST_MARK => {
            let thread = format!("'{}'", failure_name(first));
            let mut after = lines.skip_while(|line| !line.contains("panicked at") || !line.contains(&thread));
            after.nth(1).filter(|line| !is_trailer(line) && !line.starts_with("note: "))
        }
        GO_TEST_MARK => lines.skip_while(|line| *line != first).nth(1).filter(|line| line.contains(".go:")),
        // A line of the summary has the message.
        PYTEST_MARK if !first.contains(" - ") => lines.find_map(|line| line.strip_prefix("E ")).map(str::trim),
        _ => None,
    }
}

/// Returns the text of the `-m` option of `git commit`.
fn message_option(arguments: &str) -> Option<String> {
    let at = [" -m", " -am", " --message"].iter().find_map(|flag| arguments.find(flag).map(|at| at + flag.len()))?;
    let rest = arguments[at..].trim_start_matches([' ', '=']);
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
    let said = match quote {
        Some(quote) => rest[1..].split(quote).next().unwrap_or(""),
        None => rest.split(' ').next().unwrap_or(""),
    };
    (!said.is_empty()).then(|| first_words(said, MAX_LINE_CHARS))
}

/// Returns the subject from the output of git: `[main 1a2b3c4] Add refresh tokens`.
fn commit_subject(content: &str) -> Option<String> {
    let line = content.lines().map(str::trim).find(|line| line.starts_with('[') && line.contains("] "))?;
    line.split_once("] ").map(|(_, subject)| first_words(subject, MAX_LINE_CHARS))
}
