//! Lines that are one tool call in JSON: `view {"node":"a7x2"}`, `view({"node":"a7x2"})`,
//! `{"name":"view","arguments":{"node":"a7x2"}}`, `{"op":"view","node":"a7x2"}`.
//!
//! A model that was trained on tool calls writes them. The arguments are those of the tool's JSON schema, so nothing is guessed.

use serde_json::{Map, Value};

use super::lex;
use crate::tools::Tool;

/// Names of the field that names the tool.
const TOOL_FIELDS: &[&str] = &["op", "name", "tool", "function", "command"];
/// Names of the field that holds the arguments.
const ARGUMENT_FIELDS: &[&str] = &["arguments", "args", "parameters", "params", "input"];

/// Words around a name: `call view with {"node":"a7x2"}`.
const FILLERS: &[&str] = &[
    "call",
    "tool_call",
    "run",
    "use",
    "invoke",
    "please",
    "with",
    "arguments",
    "args",
    "the",
    "name",
    "op",
    "tool",
    "function",
    "command",
];

/// Words behind a call that ask for nothing.
const COURTESY: &[&str] = &["please", "pls", "plz", "thanks", "thank", "you", "thx", "now"];

/// A tool call: the tool's name as it was written, and its arguments.
pub(super) struct JsonCall {
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
}

/// Takes `<tool_call>` and `</tool_call>` off, between which some models write their calls.
fn without_tags(line: &str) -> &str {
    let inner = lex::arrow(line).map_or(line, |(rest, _)| rest.trim_start());
    let inner = inner.strip_prefix("<tool_call>").and_then(|inner| inner.strip_suffix("</tool_call>"));
    inner.map_or(line, str::trim)
}

/// Takes courtesy behind a call off: `view {"node":"a7x2"} please`.
fn without_courtesy(line: &str) -> &str {
    let Some(end) = line.rfind('}').map(|at| at + 1) else { return line };
    let is_between = |c: char| c.is_whitespace() || matches!(c, ',' | '.' | '!');
    let is_courtesy = |word: &str| COURTESY.iter().any(|courtesy| courtesy.eq_ignore_ascii_case(word));
    let behind = line[end..].split(is_between).filter(|word| !word.is_empty());
    if behind.clone().all(is_courtesy) { &line[..end] } else { line }
}

/// Reads a line that is a call and nothing else, with or without its arrow.
pub(super) fn read(line: &str) -> Option<JsonCall> {
    let line = line.trim();
    let line = line.strip_suffix(';').unwrap_or(line).trim_end().trim_matches('`');
    let line = without_tags(line);
    let line = without_courtesy(line);
    let line = line.strip_suffix(')').unwrap_or(line).trim_end();
    // Most lines end here.
    let begins = line.find('{').filter(|_| line.ends_with('}'))?;
    let (head, object) = line.split_at(begins);
    let Ok(Value::Object(mut arguments)) = serde_json::from_str(object) else { return None };
    let head = lex::marker(head).map_or(head, |(rest, _)| rest);
    let head = lex::arrow(head).map_or(head, |(rest, _)| rest);
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '`' | ':' | '(' | ',' | '*');
    let mut words = head.split(is_mark).filter(|word| !word.is_empty() && !FILLERS.contains(word));
    if let Some(name) = words.next() {
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
        return (is_name && words.next().is_none()).then(|| JsonCall { name: name.to_owned(), arguments });
    }
    // `{"view":{"node":"a7x2"}}`
    if arguments.len() == 1
        && let Some((name, Value::Object(inner))) = arguments.iter().next()
        && Tool::named(name).is_some()
    {
        return Some(JsonCall { name: name.clone(), arguments: inner.clone() });
    }
    let Some(Value::String(name)) = TOOL_FIELDS.iter().find_map(|field| arguments.remove(*field)) else { return None };
    let nested = ARGUMENT_FIELDS.iter().find(|field| arguments.get(**field).is_some_and(Value::is_object));
    match nested.filter(|_| arguments.len() == 1).and_then(|field| arguments.remove(*field)) {
        Some(Value::Object(arguments)) => Some(JsonCall { name, arguments }),
        _ => Some(JsonCall { name, arguments }),
    }
}
