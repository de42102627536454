//! Searchable text of tool calls: names and arguments without the quotes and escapes of JSON.

use serde_json::Value;

/// Arguments of the commands whose calls add no text, by the name of the command. They repeat the words of a question,
/// show what is stored already, become a node of their own, or are private to their author. A tool of another program may
/// have the same name, so a call without an arrow line is a command only if it has no other arguments.
const UNINDEXED_COMMANDS: [(&str, &[&str]); 12] = [
    ("annotate", &["node", "content"]),
    ("conversation_recall", &["action", "query", "limit", "start_turn", "end_turn", "tool_name"]),
    ("diff", &["nodes"]),
    ("edit", &["node", "content"]),
    ("help", &["tool"]),
    ("list", &["node", "what"]),
    ("memory", &["view"]),
    ("recall", RECALL_ARGUMENTS),
    ("respond", &["node", "content", "as"]),
    ("think", &["content"]),
    ("tree", &["from", "depth", "summary"]),
    ("view", &["node", "branch", "from", "full", "annotations", "as"]),
];

const RECALL_ARGUMENTS: &[&str] = &[
    "label", "search", "turns", "tool", "summary", "limit", "by", "scope", "path", "below", "from", "to", "kind",
    "exact", "failed", "count", "around", "sort", "words",
];

/// Commands whose results show stored content. Such a result would match the query that produced it.
const LOOKUP_COMMANDS: [&str; 8] = ["recall", "conversation_recall", "view", "list", "tree", "memory", "help", "diff"];

/// Returns the text of calls in any provider's JSON, one argument per line. An arrow line is returned as written. A line
/// that could not be parsed has no name and adds no text.
#[must_use]
pub(crate) fn call_text(calls: &str) -> String {
    let mut text = String::new();
    let Ok(calls) = serde_json::from_str::<Value>(calls) else { return text };
    for call in calls.as_array().into_iter().flatten() {
        let name = call["function"]["name"].as_str().or(call["name"].as_str());
        let line = call["line"].as_str();
        let given = [&call["function"]["arguments"], &call["arguments"], &call["input"]];
        let given = given.into_iter().find(|given| !given.is_null()).unwrap_or(&Value::Null);
        let parsed = given.as_str().map(serde_json::from_str::<Value>);
        match (name, line) {
            (None, Some(_)) => {}
            (Some(name), _)
                if is_unindexed(name, line, parsed.as_ref().and_then(|p| p.as_ref().ok()).unwrap_or(given)) => {}
            (Some(_), Some(line)) => push_line(&mut text, line),
            (name, None) => {
                push_line(&mut text, name.unwrap_or_default());
                match (parsed, given) {
                    (Some(Ok(parsed)), _) => push_values(&mut text, &parsed),
                    (Some(Err(_)), Value::String(written)) => push_line(&mut text, written),
                    _ => push_values(&mut text, given),
                }
            }
        }
    }
    text
}

/// True for a call of a command that adds no text.
fn is_unindexed(name: &str, line: Option<&str>, arguments: &Value) -> bool {
    UNINDEXED_COMMANDS.iter().any(|(command, known)| {
        let has_only = || arguments.as_object().is_none_or(|given| given.keys().all(|name| known.contains(&&**name)));
        *command == name && (line.is_some() || has_only())
    })
}

/// True for the result of a command that shows stored content. The metadata of a command's result names the command; a
/// tool of another program has no such metadata.
#[must_use]
pub(crate) fn is_lookup_result(tool: &str, metadata: &str) -> bool {
    LOOKUP_COMMANDS.contains(&tool) && command(metadata).is_some()
}

/// True if one of a node's calls searches the archive.
#[must_use]
pub(crate) fn has_recall_call(calls: &str) -> bool {
    let is_recall = |call: &Value| {
        let name = call["function"]["name"].as_str().or(call["name"].as_str());
        name.is_some_and(|name| name == "conversation_recall" || name == "recall" && call["line"].is_string())
    };
    let calls = serde_json::from_str::<Value>(calls).unwrap_or_default();
    calls.as_array().is_some_and(|calls| calls.iter().any(is_recall))
}

/// Returns the text of the command in a result's metadata, for a result whose call has no id. Programs before version 20
/// of the schema stored arrow commands there only.
#[must_use]
pub(crate) fn command_text(tool: &str, metadata: &str) -> Option<String> {
    if UNINDEXED_COMMANDS.iter().any(|(command, _)| *command == tool) { None } else { command(metadata) }
}

fn command(metadata: &str) -> Option<String> {
    let metadata: Value = serde_json::from_str(metadata).ok()?;
    metadata["command"].as_str().map(str::to_owned)
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// Appends the values of a JSON value, without the names of fields.
fn push_values(text: &mut String, value: &Value) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => push_line(text, &number.to_string()),
        Value::String(words) => push_line(text, words),
        Value::Array(items) => items.iter().for_each(|item| push_values(text, item)),
        Value::Object(fields) => fields.values().for_each(|field| push_values(text, field)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_lose_the_escapes_of_json() {
        let openai =
            r#"[{"id":"c1","function":{"name":"bash","arguments":"{\"command\":\"make\\nimport\",\"n\":3}"}}]"#;
        assert_eq!(call_text(openai), "bash\nmake\nimport\n3");
        let anthropic = r#"[{"id":"c1","name":"edit_file","input":{"path":"a.rs","edits":[{"new":"fn b()"}]}}]"#;
        assert_eq!(call_text(anthropic), "edit_file\nfn b()\na.rs");
        assert_eq!(call_text(r#"[{"name":"odd","arguments":"{no JSON"}]"#), "odd\n{no JSON");
        assert_eq!(call_text("no JSON"), "");
    }

    #[test]
    fn a_tool_of_another_program_with_the_name_of_a_command_adds_its_text() {
        let edit = r#"[{"id":"c1","name":"edit","arguments":{"path":"a.ts","newText":"contextPercentStr"}},
            {"id":"c2","function":{"name":"view","arguments":"{\"path\":\"b.ts\",\"view_range\":[1,2]}"}}]"#;
        assert_eq!(call_text(edit), "edit\ncontextPercentStr\na.ts\nview\nb.ts\n1\n2");
        let own = r#"[{"id":"c1","name":"edit","arguments":"{\"node\":\"a7x2\",\"content\":\"heron\"}"},
            {"id":"c2","name":"list","arguments":"{}","line":"→ list bookmarks"}]"#;
        assert_eq!(call_text(own), "");
        assert!(is_lookup_result("view", r#"{"command":"→ view a7x2"}"#) && !is_lookup_result("view", "{}"));
        assert!(!is_lookup_result("bash", r#"{"command":"→ bash \"ls\""}"#));
    }

    #[test]
    fn questions_and_refused_lines_add_no_text() {
        let calls = r#"[{"name":"recall","arguments":"{\"search\":\"heron\"}","line":"→ recall \"heron\""},
            {"arguments":"{}","line":"→ raed heron"},
            {"name":"write_file","arguments":"{}","line":"→ write_file path:\"a\" <<<\nheron\n>>>"}]"#;
        assert_eq!(call_text(calls), "→ write_file path:\"a\" <<<\nheron\n>>>");
        assert_eq!(command_text("think", r#"{"command":"→ think \"heron\""}"#), None);
        assert_eq!(command_text("bash", r#"{"command":"→ bash \"ls\""}"#).as_deref(), Some("→ bash \"ls\""));
    }
}
