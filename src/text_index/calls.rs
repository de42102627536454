//! Searchable text of tool calls: names and arguments without the quotes and escapes of JSON.

use serde_json::Value;

/// Tools whose calls add no text. They repeat the words of a question, their text becomes a node of its own, or it is
/// private to its author.
const UNINDEXED_TOOLS: [&str; 7] = ["recall", "conversation_recall", "view", "respond", "annotate", "edit", "think"];

/// Returns the text of calls in any provider's JSON, one argument per line. An arrow line is returned as written. A line
/// that could not be parsed has no name and adds no text.
#[must_use]
pub(crate) fn call_text(calls: &str) -> String {
    let mut text = String::new();
    let Ok(calls) = serde_json::from_str::<Value>(calls) else { return text };
    for call in calls.as_array().into_iter().flatten() {
        let name = call["function"]["name"].as_str().or(call["name"].as_str());
        match (name, call["line"].as_str()) {
            (Some(name), _) if UNINDEXED_TOOLS.contains(&name) => {}
            (Some(_), Some(line)) => push_line(&mut text, line),
            (None, Some(_)) => {}
            (name, None) => {
                push_line(&mut text, name.unwrap_or_default());
                let given = [&call["function"]["arguments"], &call["arguments"], &call["input"]];
                match given.into_iter().find(|given| !given.is_null()) {
                    Some(Value::String(written)) => match serde_json::from_str(written) {
                        Ok(parsed) => push_values(&mut text, &parsed),
                        Err(_) => push_line(&mut text, written),
                    },
                    given => push_values(&mut text, given.unwrap_or(&Value::Null)),
                }
            }
        }
    }
    text
}

/// Returns the text of the command in a result's metadata, for a result whose call has no id. Programs before version 20
/// of the schema stored arrow commands there only.
#[must_use]
pub(crate) fn command_text(tool: &str, metadata: &str) -> Option<String> {
    if UNINDEXED_TOOLS.contains(&tool) {
        return None;
    }
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
    fn questions_and_refused_lines_add_no_text() {
        let calls = r#"[{"name":"recall","arguments":"{\"search\":\"heron\"}","line":"→ recall \"heron\""},
            {"arguments":"{}","line":"→ raed heron"},
            {"name":"write_file","arguments":"{}","line":"→ write_file path:\"a\" <<<\nheron\n>>>"}]"#;
        assert_eq!(call_text(calls), "→ write_file path:\"a\" <<<\nheron\n>>>");
        assert_eq!(command_text("think", r#"{"command":"→ think \"heron\""}"#), None);
        assert_eq!(command_text("bash", r#"{"command":"→ bash \"ls\""}"#).as_deref(), Some("→ bash \"ls\""));
    }
}
