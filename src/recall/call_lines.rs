//! Tool calls on one line, and the call that a result answers.

use serde_json::{Map, Value, json};

use super::{Result, excerpt::excerpt};
use crate::{
    store::Snapshot,
    text_index::{WordTokenizer, call_text},
    types::{AuthorType, Node, first_words, one_line},
};

/// Default length in characters of a call's arguments on one line.
const MAX_ARGUMENTS_CHARS: usize = 160;

/// Returns the arguments of the call that a tool node answers, on one line: `path="src/auth.py"`. `None` if the call is
/// unknown.
///
/// # Errors
/// If the store cannot be read.
pub(crate) fn tool_call_summary(snapshot: &dyn Snapshot, node: &Node) -> Result<Option<String>> {
    let Some(id) = &node.tool.call_id else {
        // The line without its arrow and the operation.
        let rest = |line: &str| line.trim_start_matches(['→', ' ']).split_once(' ').map(|(_, rest)| one_line(rest));
        let summary = |call: &Value| match arguments(call, MAX_ARGUMENTS_CHARS) {
            none if none.is_empty() => {
                call["line"].as_str().and_then(rest).map(|rest| first_words(&rest, MAX_ARGUMENTS_CHARS))
            }
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
    Ok(call.map(|call| arguments(call, MAX_ARGUMENTS_CHARS)))
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

/// Returns the calls of a node, each on one line: `read_file(path="src/auth.py")`. An arrow line is returned as written,
/// without its arrow.
#[must_use]
pub fn calls(node: &Node) -> Vec<String> {
    calls_within(node, MAX_ARGUMENTS_CHARS)
}

/// Returns the [`calls`] of a node with at most `most` characters of arguments each.
#[must_use]
pub(crate) fn calls_within(node: &Node, most: usize) -> Vec<String> {
    each_call(node, |call| short_call(call, most))
}

/// Returns the calls of a node as [`calls_within`] does, each with its id.
#[must_use]
pub(crate) fn calls_with_ids(node: &Node, most: usize) -> Vec<(Option<String>, String)> {
    each_call(node, |call| (call["id"].as_str().map(str::to_owned), short_call(call, most)))
}

fn short_call(call: &Value, most: usize) -> String {
    match call["line"].as_str() {
        Some(line) => first_words(one_line(line).trim_start_matches(['→', ' ']), most),
        None => format!("{}({})", call_name(call), arguments(call, most)),
    }
}

/// Returns the calls of a node with their whole arguments, each argument after its name; arrow lines as written.
#[must_use]
pub(crate) fn whole_calls(node: &Node) -> Vec<String> {
    each_call(node, |call| match (call["line"].as_str(), given(call)) {
        (Some(line), _) => line.trim_start_matches(['→', ' ']).to_owned(),
        (None, Value::Object(mut fields)) if !fields.is_empty() => {
            let edit = take_edit(&mut fields);
            let argument = |(name, value): (&String, &Value)| match value.as_str() {
                Some(text) if text.contains('\n') => format!("\n  {name}:\n{text}"),
                Some(text) => format!("\n  {name}: {text}"),
                None => format!("\n  {name}: {value}"),
            };
            let change = edit.map(|edit| {
                edit.lines().into_iter().map(|(mark, line)| format!("\n  {mark} {line}")).collect::<String>()
            });
            let arguments: String = fields.iter().map(argument).collect();
            format!("{}:{arguments}{}", call_name(call), change.unwrap_or_default())
        }
        (None, _) => format!("{}({})", call_name(call), arguments(call, MAX_ARGUMENTS_CHARS)),
    })
}

fn each_call<T>(node: &Node, one: impl Fn(&Value) -> T) -> Vec<T> {
    let all = node.tool.calls.as_ref().and_then(|all| serde_json::from_str::<Value>(all.as_str()).ok());
    all.as_ref().and_then(Value::as_array).into_iter().flatten().map(one).collect()
}

fn call_name(call: &Value) -> String {
    one_line(call["function"]["name"].as_str().or(call["name"].as_str()).unwrap_or("a tool"))
}

/// Replacement of a text by another one, as a call of an editing tool has it.
struct TextEdit {
    old: String,
    new: String,
}

/// Takes an old and a new text out of the arguments of a call: `oldText` and `newText`, `old_string` and `new_string`.
fn take_edit(fields: &mut Map<String, Value>) -> Option<TextEdit> {
    let is_text = |name: &&String| fields[*name].is_string();
    let old = fields.keys().filter(is_text).find(|name| name.starts_with("old"))?.clone();
    let new = format!("new{}", &old["old".len()..]);
    fields.get(&new)?.as_str()?;
    let mut take =
        |name: &str| fields.remove(name).and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default();
    Some(TextEdit { old: take(&old), new: take(&new) })
}

impl TextEdit {
    /// Returns the lines of both texts: removed ones with `-`, added ones with `+`, those around with a space.
    fn lines(&self) -> Vec<(char, &str)> {
        let (old, new): (Vec<&str>, Vec<&str>) = (self.old.lines().collect(), self.new.lines().collect());
        let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
        let end = ends.take_while(|(old, new)| old == new).count();
        let (removed, added) = (&old[start..old.len() - end], &new[start..new.len() - end]);
        let runs = [(' ', &old[..start]), ('-', removed), ('+', added), (' ', &old[old.len() - end..])];
        runs.into_iter().flat_map(|(mark, lines)| lines.iter().map(move |line| (mark, *line))).collect()
    }

    /// Returns the first words of what is removed and of what is added, at most about `most` characters.
    fn summary(&self, most: usize) -> String {
        let part = |mark: char| {
            let lines = self.lines().into_iter().filter(|(of, _)| *of == mark).map(|(_, line)| line.trim());
            let text = lines.collect::<Vec<_>>().join(" ");
            if text.is_empty() { text } else { format!("{mark} {}", first_words(&one_line(&text), most / 2)) }
        };
        format!("{} {}", part('-'), part('+')).trim().to_owned()
    }
}

/// Returns the part of a node's calls that holds words of a search; `None` if `shown` holds all of them, or the calls
/// hold none.
pub(crate) fn call_excerpt(node: &Node, shown: &str, words: &[String], most: usize) -> Option<String> {
    let text = call_text(node.tool.calls.as_ref()?.as_str());
    let mut reader = WordTokenizer::default();
    let mut found = |text: &str| reader.query(text).iter().filter(|word| words.contains(word)).count();
    (found(&text) > found(shown)).then(|| excerpt(&whole_calls(node).join("\n"), words, most))
}

/// Returns the arguments of a call from any provider's format; text that is no JSON as a string.
pub(super) fn given(call: &Value) -> Value {
    let given = [&call["function"]["arguments"], &call["arguments"], &call["input"]].into_iter().find(|v| !v.is_null());
    match given {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())),
        Some(other) => other.clone(),
        None => Value::Null,
    }
}

/// Returns the arguments of a call on one line of at most `most` characters.
fn arguments(call: &Value, most: usize) -> String {
    let text = match given(call) {
        Value::Object(mut fields) => {
            let edit = take_edit(&mut fields);
            let all = |most: usize| {
                let one =
                    |(name, value): (&String, &Value)| format!("{name}={}", first_words(&value.to_string(), most));
                let change = edit.iter().map(|edit| edit.summary(most));
                fields.iter().map(one).chain(change).collect::<Vec<_>>().join(", ")
            };
            let whole = all(most);
            let parts = fields.len() + usize::from(edit.is_some());
            // A long argument must not push out the others: the file's name is more useful than its content.
            if whole.chars().count() > most { all((most / parts.max(1)).max(20)) } else { whole }
        }
        Value::Null => String::new(),
        other => other.to_string(),
    };
    first_words(&one_line(&text), most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_argument_leaves_room_for_the_others() {
        let call = json!({ "input": { "content": "x ".repeat(900), "path": "src/auth.py" } });
        assert!(
            arguments(&call, MAX_ARGUMENTS_CHARS).contains("path=\"src/auth.py\""),
            "{}",
            arguments(&call, MAX_ARGUMENTS_CHARS)
        );
        let edit = json!({ "input": { "path": "a.json", "oldText": "{\n  \"dim\": 1,\n}", "newText": "{\n  \"dim\": 2,\n}" } });
        assert_eq!(arguments(&edit, MAX_ARGUMENTS_CHARS), "path=\"a.json\", - \"dim\": 1, + \"dim\": 2,");
        assert_eq!(arguments(&json!({ "input": { "old_string": "a", "new_string": "" } }), MAX_ARGUMENTS_CHARS), "- a");
        assert_eq!(arguments(&json!({ "input": { "old": "a", "new": 1 } }), MAX_ARGUMENTS_CHARS), "new=1, old=\"a\"");
        assert_eq!(arguments(&json!({ "function": { "arguments": "{\"a\":1}" } }), MAX_ARGUMENTS_CHARS), "a=1");
        assert_eq!(arguments(&json!({ "arguments": "no JSON" }), MAX_ARGUMENTS_CHARS), "\"no JSON\"");
        assert_eq!(arguments(&json!({}), MAX_ARGUMENTS_CHARS), "");
    }
}
