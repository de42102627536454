//! Short forms of results: the relevant part of a long text, and tool calls on one line.

use serde_json::{Value, json};

use super::Result;
use crate::{
    store::Snapshot,
    text_index::{WordTokenizer, call_text},
    types::{AuthorType, Node, first_words, one_line},
};

/// Maximum length in characters of a call's arguments.
const ARGUMENTS: usize = 160;

/// Returns the arguments of the call that a tool node answers, on one line: `path="src/auth.py"`. `None` if the call is
/// unknown.
///
/// # Errors
/// If the store cannot be read.
pub(crate) fn tool_call_summary(snapshot: &dyn Snapshot, node: &Node) -> Result<Option<String>> {
    let Some(id) = &node.tool.call_id else {
        // The line without its arrow and the operation.
        let rest = |line: &str| line.trim_start_matches(['→', ' ']).split_once(' ').map(|(_, rest)| one_line(rest));
        let summary = |call: &Value| match arguments(call) {
            none if none.is_empty() => call["line"].as_str().and_then(rest).map(|rest| first_words(&rest, ARGUMENTS)),
            given => Some(given),
        };
        return Ok(unnamed_call(node).as_ref().and_then(summary));
    };
    let Some(parent) = node.parent else { return Ok(None) };
    let Some(caller) = snapshot.node(parent)? else { return Ok(None) };
    let Some(all) = caller.tool.calls.as_ref().and_then(|all| serde_json::from_str::<Value>(all.as_str()).ok()) else {
        return Ok(None);
    };
    let call = all.as_array().into_iter().flatten().find(|call| call["id"].as_str() == Some(id));
    Ok(call.map(arguments))
}

/// Returns the call of a result that does not name it, from the command in its metadata; `None` for other nodes. Results of
/// arrow lines had no ids of calls before version 20 of the schema.
#[must_use]
pub(crate) fn unnamed_call(result: &Node) -> Option<Value> {
    if result.tool.call_id.is_some() || result.author_type != AuthorType::Tool {
        return None;
    }
    let metadata: Value = serde_json::from_str(result.metadata.as_ref()?.as_str()).ok()?;
    let line = metadata["command"].as_str()?;
    let (id, arguments) = (format!("call_{}", result.local), metadata["arguments"].as_object().cloned());
    Some(json!({
        "id": id,
        "name": result.tool.name,
        "arguments": arguments.unwrap_or_default(),
        "line": line,
    }))
}

/// Returns the calls of a node, each on one line: `read_file(path="src/auth.py")`. A line that could not be parsed is
/// returned as written.
#[must_use]
pub fn calls(node: &Node) -> Vec<String> {
    let all = node.tool.calls.as_ref().and_then(|all| serde_json::from_str::<Value>(all.as_str()).ok());
    let one = |call: &Value| match (call["function"]["name"].as_str().or(call["name"].as_str()), call["line"].as_str())
    {
        (None, Some(line)) => first_words(&one_line(line), ARGUMENTS),
        (name, _) => format!("{}({})", one_line(name.unwrap_or("a tool")), arguments(call)),
    };
    all.as_ref().and_then(Value::as_array).into_iter().flatten().map(one).collect()
}

/// Returns the part of a node's calls that holds words of a search; `None` if `shown` holds all of them, or the calls
/// hold none.
pub(crate) fn call_excerpt(node: &Node, shown: &str, words: &[String], most: usize) -> Option<String> {
    let text = call_text(node.tool.calls.as_ref()?.as_str());
    let mut reader = WordTokenizer::default();
    let mut found = |text: &str| reader.query(text).iter().filter(|word| words.contains(word)).count();
    (found(&text) > found(shown)).then(|| excerpt(&text, words, most))
}

/// True if a result with its call contains all words of a text, or the text itself if `exact`. Without words that can be
/// searched, the text itself is looked for.
#[must_use]
pub(crate) fn result_mentions(result: &Node, caller: Option<&Node>, text: &str, exact: bool) -> bool {
    let call = match (&result.tool.call_id, caller.and_then(|caller| caller.tool.calls.as_ref())) {
        (Some(id), Some(calls)) => {
            let calls = serde_json::from_str(calls.as_str()).unwrap_or(Value::Null);
            calls.as_array().into_iter().flatten().find(|call| call["id"].as_str() == Some(id)).cloned()
        }
        _ => unnamed_call(result),
    };
    let call = call.map(|call| call_text(&Value::from(vec![call]).to_string())).unwrap_or_default();
    let said = format!("{call}\n{}", result.content);
    let mut reader = WordTokenizer::default();
    let mut wanted = reader.query(text);
    if exact || wanted.is_empty() {
        return said.to_lowercase().contains(&text.to_lowercase());
    }
    reader.each(&said, &mut |stem| wanted.retain(|word| word != stem));
    wanted.is_empty()
}

/// True if a node is the result of a failed call, by its metadata, a refusal, or the exit code at its end.
#[must_use]
pub(crate) fn is_failure(node: &Node) -> bool {
    if node.author_type != AuthorType::Tool {
        return false;
    }
    let kept = node.metadata.as_ref().and_then(|json| serde_json::from_str::<Value>(json.as_str()).ok());
    let marked = kept.is_some_and(|kept| kept["failed"] == true || kept["pi"]["message"]["isError"] == true);
    marked || node.content.starts_with('✗') || exit_code(&node.content).is_some_and(|code| code != 0)
}

/// Parses the number after `exit code` and similar words on the last line of a text.
pub(crate) fn exit_code(text: &str) -> Option<i64> {
    let last = text.trim_end().lines().next_back()?.to_lowercase();
    let (_, after) = ["exit code", "exited with code", "exit status"].iter().find_map(|word| last.split_once(word))?;
    let number = after.trim_start_matches([':', ' ', '=']);
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(number.len());
    number[..end].parse().ok()
}

/// Returns the arguments of a call on one line, from any provider's format.
fn arguments(call: &Value) -> String {
    let given = [&call["function"]["arguments"], &call["arguments"], &call["input"]].into_iter().find(|v| !v.is_null());
    let parsed = match given {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())),
        Some(other) => other.clone(),
        None => Value::Null,
    };
    let text = match parsed {
        Value::Object(fields) => {
            let all = |most| {
                let one =
                    |(name, value): (&String, &Value)| format!("{name}={}", first_words(&value.to_string(), most));
                fields.iter().map(one).collect::<Vec<_>>().join(", ")
            };
            let whole = all(ARGUMENTS);
            // A long argument must not push out the others: the file's name is more useful than its content.
            if whole.chars().count() > ARGUMENTS { all((ARGUMENTS / fields.len().max(1)).max(20)) } else { whole }
        }
        Value::Null => String::new(),
        other => other.to_string(),
    };
    first_words(&one_line(&text), ARGUMENTS)
}

/// Returns the part of a text with most of the query's words, about `most` bytes from the start of its line. A shorter
/// text is returned whole. `words` are those of [`super::SearchResults::words`].
#[must_use]
pub fn excerpt(text: &str, words: &[String], most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut reader = WordTokenizer::default();
    let piece = most.max(40);
    let (mut best, mut most, mut start) = (0, 0, 0);
    while start < text.len() {
        let end = start + cut_at(&text[start..], piece).len().max(1);
        let mut found = reader.query(&text[start..end.min(text.len())]);
        found.retain(|word| words.contains(word));
        if found.len() > most {
            (best, most) = (start, found.len());
        }
        start = end;
    }
    // Start at the line's start if it is near.
    let before = &text[..best];
    let from = before.rfind('\n').map_or(0, |at| at + 1);
    let from = if best - from <= piece / 2 { from } else { best };
    let kept = cut_at(&text[from..], best - from + piece);
    let (lead, end) = (if from > 0 { "… " } else { "" }, if from + kept.len() < text.len() { " …" } else { "" });
    format!("{lead}{}{end}", kept.trim_end())
}

/// Truncates a text to at most `most` bytes, between words if possible.
#[must_use]
pub(crate) fn cut_at(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let space = text[..end].rfind(char::is_whitespace).filter(|at| *at * 2 > end);
    &text[..space.unwrap_or(end)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_holds_what_was_asked_for() {
        let words = ["gasket".to_owned()];
        let text =
            format!("{}\nthe GASKETS of pump two leak\n{}", "ä long line of nothing ".repeat(40), "日本".repeat(900));
        for most in [1, 40, 100, 400] {
            let found = excerpt(&text, &words, most);
            assert!(found.contains("GASKETS") && found.len() <= 2 * most.max(40) + 8, "{most}: {found}");
        }
        assert_eq!(excerpt("short", &words, 5), "short");
        assert!(excerpt(&text, &[], 50).starts_with('ä'));
        assert!(excerpt(&"日本".repeat(50), &words, 40).ends_with(" …"));
    }

    #[test]
    fn a_long_argument_leaves_room_for_the_others() {
        let call = json!({ "input": { "content": "x ".repeat(900), "path": "src/auth.py" } });
        assert!(arguments(&call).contains("path=\"src/auth.py\""), "{}", arguments(&call));
        assert_eq!(arguments(&json!({ "function": { "arguments": "{\"a\":1}" } })), "a=1");
        assert_eq!(arguments(&json!({ "arguments": "no JSON" })), "\"no JSON\"");
        assert_eq!(arguments(&json!({})), "");
    }
}
