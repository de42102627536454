//! The parser of native tool calls: from a tool and its JSON arguments to a [`Command`]. The fields are those of the tool's
//! schema, and the table has their types.
//!
//! Models are often inexact about form: a number can be a string, an id can be in brackets, and null or empty means
//! absent. Unknown, missing and conflicting arguments are errors, because ignoring them would run another command than
//! intended.

use serde_json::{Map, Value, json};

use super::{ArgRules, ArgSpec, ArgType, Command, ErrorCode, NativeAlias, NodeRef, Tool, ToolError};

/// Arguments of a call, as [`object`] reads them.
pub(crate) type GivenArguments = Result<Map<String, Value>, String>;

/// Converts the arguments of a call of `tool`.
///
/// # Errors
/// If the arguments do not match the tool; the hint lists its arguments.
pub(crate) fn command(tool: Tool, given: GivenArguments) -> Result<Command, ToolError> {
    let known = tool.spec().arguments();
    given.and_then(|given| fields(tool, given)).map_err(|message| {
        let all: Vec<String> = known
            .map(|argument| {
                let required = if argument.required { "required; " } else { "" };
                format!("{} ({required}{})", argument.name, argument.kind.words())
            })
            .collect();
        let failure = ToolError::new(ErrorCode::InvalidSyntax, format!("{}: {message}", tool.name()));
        failure.hint(format!("arguments: {}", all.join(" · ")))
    })
}

/// Converts the arguments of a call of an alias.
///
/// # Errors
/// If the arguments do not match the alias.
pub(crate) fn form(form: &NativeAlias, given: GivenArguments) -> Result<Command, ToolError> {
    let read = given.and_then(|given| form.fields(given)).and_then(|(tool, given)| fields(tool, given));
    read.map_err(|message| {
        let failure = ToolError::new(ErrorCode::InvalidSyntax, format!("{}: {message}", form.name));
        failure.hint(format!("arguments: {}", form.arguments().join(" · ")))
    })
}

fn fields(tool: Tool, given: Map<String, Value>) -> Result<Command, String> {
    let mut fields = convert_fields(tool, given)?;
    fields.insert("op".to_owned(), json!(tool));
    serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
}

/// Parses the arguments to an object. An empty text is an empty object, and null fields are dropped.
pub(crate) fn object(arguments: &str) -> GivenArguments {
    if arguments.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(arguments) {
        Ok(Value::Object(given)) => Ok(without_null(given)),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err("the arguments are no JSON object".to_owned()),
        Err(error) => Err(format!("the arguments are no JSON: {error}")),
    }
}

/// Drops null fields, which mean that an argument is absent.
pub(crate) fn without_null(given: Map<String, Value>) -> Map<String, Value> {
    given.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// Converts arguments to the fields of the command's JSON.
fn convert_fields(tool: Tool, given: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut known = tool.spec().arguments();
    let mut fields = Map::new();
    for (name, value) in given {
        let argument = known.clone().find(|argument| is_same_name(argument.name, &name));
        let argument = argument.ok_or_else(|| format!("there is no argument {name:?}"))?;
        let wrong = || format!("{name} has the wrong form; expected: {}", argument.kind.words());
        let value = convert_value(argument, value).ok_or_else(wrong)?;
        if !is_absent(&value) && fields.insert(argument.name.to_owned(), value).is_some() {
            return Err(format!("{} is given twice", argument.name));
        }
    }
    if let Some(missing) = known.find(|argument| argument.required && !fields.contains_key(argument.name)) {
        return Err(format!("{} is missing", missing.name));
    }
    check_combination(tool, &fields)?;
    Ok(fields)
}

/// Returns whether two names differ only in case and separators: `contentOf`, `content-of`.
fn is_same_name(known: &str, given: &str) -> bool {
    fn letters(name: &str) -> impl Iterator<Item = u8> {
        name.bytes().filter(|byte| !matches!(byte, b'_' | b'-')).map(|byte| byte.to_ascii_lowercase())
    }
    letters(known).eq(letters(given))
}

/// Returns whether a value means the same as its absence.
fn is_absent(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(false) => false,
        other => other.is_null(),
    }
}

/// Converts a value to the type of its argument: null if it is empty, `None` if it has another type.
fn convert_value(argument: &ArgSpec, value: Value) -> Option<Value> {
    if is_absent(&value) {
        return Some(Value::Null);
    }
    match (argument.kind, value) {
        (ArgType::Node, value) => reference(&value),
        (ArgType::Nodes, Value::Array(items)) => items.iter().map(reference).collect(),
        (ArgType::Nodes, Value::String(text)) => parts(&text).map(|part| id(&part.into())).collect(),
        // An id or a document's name identifies a pin.
        (ArgType::Text, Value::String(text)) if argument.name == "pin" => {
            Some(id(&text.as_str().into()).filter(|_| text.trim().starts_with('[')).unwrap_or(Value::String(text)))
        }
        (ArgType::Text, value) if argument.name == "pin" => reference(&value),
        (ArgType::Text, value) => value.is_string().then_some(value),
        (ArgType::Texts, Value::Array(items)) => {
            items.iter().all(Value::is_string).then(|| items.into_iter().filter(|item| !is_absent(item)).collect())
        }
        (ArgType::Texts, value) => value.is_string().then(|| json!([value])),
        (ArgType::Items, Value::Array(items)) => items.into_iter().filter(|item| !is_absent(item)).map(todo).collect(),
        (ArgType::Items, value) => todo(value).map(|item| json!([item])),
        (ArgType::Number(most), value) => number(&value).filter(|n| *n > 0 || most == u32::MAX).map(Value::from),
        (ArgType::Flag, value) => parse_bool(&value).map(|set| if set { Value::Bool(true) } else { Value::Null }),
        (ArgType::Bool, value) => parse_bool(&value).map(Value::Bool),
        (ArgType::Enum(words), Value::String(text)) => {
            words.iter().find(|word| word.eq_ignore_ascii_case(text.trim())).map(|word| (*word).into())
        }
        (ArgType::Range, Value::String(text)) => range(&text),
        (ArgType::Range, value) => number(&value).map(|n| format!("{n}-{n}").into()),
        (ArgType::NodeRange, Value::String(text)) => span(&text),
        (ArgType::LinkTarget, value) => end(value),
        (ArgType::InsertPosition, Value::String(text)) if matches!(text.trim(), "start" | "end") => {
            Some(text.trim().into())
        }
        (ArgType::InsertPosition, value) => number(&value).filter(|line| *line > 0).map(Value::from),
        _ => None,
    }
}

/// A reference to a node: an id, the name of a place, or an object with a place, a bookmark or an agent.
fn reference(value: &Value) -> Option<Value> {
    let place = || value.as_str().and_then(|text| NodeRef::place(text.trim()));
    let object = || serde_json::from_value::<NodeRef>(value.clone()).ok().filter(|_| value.is_object());
    match place().or_else(object) {
        Some(node) => serde_json::to_value(node).ok(),
        None => id(value),
    }
}

/// Strips decoration from an id. An id of digits only can be a number.
fn id(value: &Value) -> Option<Value> {
    let text = value.as_str().map_or_else(|| value.as_u64().map(|n| n.to_string()), |text| Some(text.to_owned()))?;
    let text = text.trim().trim_matches('`');
    let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let plain = (1..=26).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| text.to_ascii_lowercase().into())
}

/// Converts a value to an integer. A value that is too large saturates.
fn number(value: &Value) -> Option<u32> {
    let whole = match value {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    whole.map(|n| u32::try_from(n).unwrap_or(u32::MAX))
}

/// Converts `3.0` to 3.
fn whole(number: f64) -> Option<u64> {
    (number.fract() == 0.0).then(|| format!("{number:.0}").parse().ok()).flatten()
}

/// Converts an item of a plan: a title or an object.
fn todo(value: Value) -> Option<Value> {
    let Value::Object(given) = value else { return value.is_string().then_some(value) };
    let mut fields = Map::new();
    for (name, value) in given.into_iter().filter(|(_, value)| !is_absent(value)) {
        let name = match name.as_str() {
            "completionCriteria" => "completion_criteria".to_owned(),
            "agentType" => "agent_type".to_owned(),
            _ => name,
        };
        let value = match name.as_str() {
            "title" | "context" | "completion_criteria" | "agent_type" if value.is_string() => value,
            "order" => number(&value).filter(|place| *place > 0).map(Value::from)?,
            _ => return None,
        };
        fields.insert(name, value);
    }
    fields.contains_key("title").then_some(Value::Object(fields))
}

fn parse_bool(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| yes(value.as_str()?))
}

/// Yes or no, as models write it.
pub(crate) fn yes(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn range(text: &str) -> Option<Value> {
    let ends = text.split_once("..").or_else(|| text.split_once(['-', '–', '—']));
    let (first, last) = ends.unwrap_or((text, text));
    let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last).then(|| format!("{first}-{last}").into())
}

fn span(text: &str) -> Option<Value> {
    let (first, last) = text.split_once('-')?;
    let (first, last) = (id(&first.into())?, id(&last.into())?);
    Some(format!("{}-{}", first.as_str()?, last.as_str()?).into())
}

/// Converts a link's target: an object or an id.
fn end(value: Value) -> Option<Value> {
    let Value::Object(given) = value else { return id(&value).map(|node| json!({ "node": node })) };
    let given = match reference(&Value::Object(given.clone())) {
        Some(node) => Map::from_iter([("node".to_owned(), node)]),
        None => given,
    };
    let mut fields = Map::new();
    for (name, value) in given.into_iter().filter(|(_, value)| !is_absent(value)) {
        let value = match name.as_str() {
            "node" => reference(&value)?,
            "doc" | "tree" if value.is_string() => value,
            _ => return None,
        };
        fields.insert(name, value);
    }
    let one = fields.contains_key("doc") != (fields.contains_key("tree") || fields.contains_key("node"));
    one.then_some(Value::Object(fields))
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c == ',').filter(|part| !part.is_empty())
}

/// Checks that the arguments can be combined.
fn check_combination(tool: Tool, fields: &Map<String, Value>) -> Result<(), String> {
    let there = |name: &&&str| fields.contains_key(**name);
    let ArgRules { at_most_one, at_least_one, dependent } = &tool.spec().rules;
    let mut given = at_most_one.iter().filter(there);
    if let (Some(first), Some(second)) = (given.next(), given.next()) {
        return Err(format!("{first} and {second} exclude each other"));
    }
    if !at_least_one.is_empty() && !at_least_one.iter().any(|name| there(&name)) {
        return Err(format!("one of these is missing: {}", at_least_one.join(", ")));
    }
    if let Some((name, on)) = dependent.filter(|(name, on)| there(&name) && !on.iter().any(|name| there(&name))) {
        return Err(format!("{name} goes with {}", on.join(" or ")));
    }
    let nodes = fields.get("nodes").and_then(Value::as_array).map_or(2, Vec::len);
    match tool {
        Tool::Diff if nodes != 2 => Err("nodes must be two".to_owned()),
        Tool::Merge if nodes < 2 => Err("nodes must be two or more".to_owned()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
