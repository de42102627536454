//! Lines that ask for a tool of the program around the engine: read by the tool's own schema.
//!
//! Nothing is guessed here. The first word is the tool's exact name, and what follows is `key:value`, `key=value`,
//! `--key value`, a flag, or a string for what is required and not named. A line that is one call in JSON is read, too. What has no place, or is not of its type, is
//! refused: the program behind the tool shall see only arguments that fit.

use std::fmt;

use serde_json::{Map, Value};

use super::{
    args::unescape,
    json_call::{self, JsonCall},
    lex::{self, LexKind, Token},
    render::Quoted,
};
use crate::tools::{HostTool, Tool, parse_tool_call::yes};

/// Bytes of a text that is long.
const LONG: usize = 60;

/// The tool whose name is the line's first word, and the arguments that the line gives it. `None` if the line asks for
/// something else.
pub(crate) fn read<'e>(line: &str, extras: &'e [HostTool]) -> Option<(&'e HostTool, Result<Value, String>)> {
    if extras.is_empty() {
        return None;
    }
    if let Some(JsonCall { name, arguments }) = json_call::read(line) {
        let extra = extras.iter().find(|extra| extra.name == name)?;
        return Some((extra, checked(extra, arguments)));
    }
    let lexed = lex::line(line).ok()?;
    match lexed.tokens.as_slice() {
        [Token { kind: LexKind::Ticked, text, .. }] => read(text.of(line), extras),
        tokens => {
            let mut reader = ArgumentReader { line, tokens };
            let name = reader.run();
            let extra = extras.iter().find(|extra| extra.name == name)?;
            let given = reader.arguments(extra).and_then(|given| checked(extra, given));
            Some((extra, given))
        }
    }
}

/// The tool that a line asks to be explained: `help weather`.
pub(crate) fn explained<'e>(line: &str, extras: &'e [HostTool]) -> Option<&'e HostTool> {
    let lexed = lex::line(line).ok()?;
    let mut reader = ArgumentReader { line, tokens: &lexed.tokens };
    let help = Tool::Help.spec();
    let (verb, name) = (reader.run().to_ascii_lowercase(), reader.run());
    let asked = (help.name == verb || help.synonyms.contains(&verb.as_str())) && reader.tokens.is_empty();
    extras.iter().find(|extra| asked && extra.name == name)
}

/// Arguments as a tool's schema has them: each known and of its type, all there that are required. What is null is
/// absent.
pub(crate) fn checked(extra: &HostTool, given: Map<String, Value>) -> Result<Value, String> {
    let mut arguments = Map::new();
    let open = !matches!(extra.parameters["additionalProperties"], Value::Null | Value::Bool(false));
    for (name, value) in given.into_iter().filter(|(_, value)| !value.is_null()) {
        let Some((own, schema)) = extra.property(&name) else {
            if open {
                arguments.insert(name, value);
                continue;
            }
            return Err(format!("there is no argument {name:?}"));
        };
        let typed =
            typed(schema, value).ok_or_else(|| format!("{own} has the wrong form; expected: {}", extra.kind(own)))?;
        if arguments.insert(own.to_owned(), typed).is_some() {
            return Err(format!("{own} is given twice"));
        }
    }
    match extra.required().find(|name| !arguments.contains_key(*name)) {
        Some(missing) => Err(format!("{missing} is missing")),
        None => Ok(Value::Object(arguments)),
    }
}

/// A value as its schema wants it; a string is read as what it says, since lines have nothing else and models often
/// write numbers so.
fn typed(schema: &Value, value: Value) -> Option<Value> {
    let typed = match (HostTool::type_of(schema), value) {
        ("string", value) => value.is_string().then_some(value)?,
        ("integer", Value::String(text)) => text.trim().parse::<i64>().ok()?.into(),
        ("integer", value) => value.is_i64().then_some(value)?,
        ("number", Value::String(text)) => serde_json::Number::from_f64(text.trim().parse().ok()?)?.into(),
        ("number", value) => value.is_number().then_some(value)?,
        ("boolean", Value::String(text)) => yes(&text)?.into(),
        ("boolean", value) => value.is_boolean().then_some(value)?,
        ("array", Value::Array(items)) => {
            items.into_iter().map(|item| typed(&schema["items"], item)).collect::<Option<Vec<_>>>()?.into()
        }
        ("array", value @ Value::String(_)) => vec![typed(&schema["items"], value)?].into(),
        ("array", _) => return None,
        ("object", Value::String(text)) => serde_json::from_str(&text).ok().filter(Value::is_object)?,
        ("object", value) => value.is_object().then_some(value)?,
        (_, value) => value,
    };
    let Some(known) = schema["enum"].as_array() else { return Some(typed) };
    let like = |other: &Value| match (other.as_str(), typed.as_str()) {
        (Some(other), Some(own)) => other.eq_ignore_ascii_case(own),
        _ => *other == typed,
    };
    known.iter().find(|other| **other == typed).or_else(|| known.iter().find(|other| like(other))).cloned()
}

/// A canonical line: what [`read`] reads back to the same arguments. The path comes first and long texts last, so that a
/// truncated line still shows the short arguments; a replacement follows what it replaces.
pub(crate) fn write(f: &mut fmt::Formatter<'_>, name: &str, arguments: &Value) -> fmt::Result {
    f.write_str(name)?;
    let mut arguments: Vec<_> = arguments.as_object().into_iter().flatten().collect();
    arguments.sort_by_key(|(key, value)| (value.as_str().map_or(0, str::len) > LONG, *key != "path", *key == "new"));
    for (key, value) in arguments {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in values {
            match value {
                Value::String(text) => write!(f, " {key}:{}", Quoted(text))?,
                Value::Object(_) | Value::Array(_) => write!(f, " {key}:{}", Quoted(&value.to_string()))?,
                plain => write!(f, " {key}:{plain}")?,
            }
        }
    }
    Ok(())
}

/// A line's tokens, from the first that is not read yet.
struct ArgumentReader<'l, 't> {
    line: &'l str,
    tokens: &'t [Token],
}

impl<'l> ArgumentReader<'l, '_> {
    /// Text up to the next space, without trailing punctuation.
    fn run(&mut self) -> &'l str {
        let Some((first, rest)) = self.tokens.split_first() else { return "" };
        let length = rest.iter().take_while(|token| !token.gap && token.kind != LexKind::Block).count();
        let end = rest[..length].last().unwrap_or(first).whole.end;
        self.tokens = &rest[length..];
        let text = &self.line[first.whole.start..end];
        let kept = text.trim_end_matches(['.', ',', ';', '!', '?']);
        if kept.is_empty() { text } else { kept }
    }

    fn skip(&mut self, tokens: usize) {
        self.tokens = self.tokens.get(tokens..).unwrap_or(&[]);
    }

    /// Arguments of a tool in the rest of the line.
    fn arguments(mut self, extra: &HostTool) -> Result<Map<String, Value>, String> {
        let mut given = Map::new();
        while let Some(token) = self.tokens.first() {
            let written = token.text.of(self.line);
            let colon =
                self.tokens.get(1).is_some_and(|next| matches!(next.kind, LexKind::Mark(':' | '=')) && !next.gap);
            let address = self.tokens.get(2).is_some_and(|next| next.kind == LexKind::Mark('/') && !next.gap);
            let known = extra.property(written);
            match token.kind {
                LexKind::Mark(',' | ';') => self.skip(1),
                LexKind::OptionName(_) => {
                    self.skip(1);
                    self.option(extra, written, &mut given)?;
                }
                LexKind::Word | LexKind::Flag if colon && (known.is_some() || !address) => {
                    self.skip(2);
                    self.option(extra, written, &mut given)?;
                }
                LexKind::Flag | LexKind::Word
                    if known.is_some_and(|(_, schema)| HostTool::type_of(schema) == "boolean") =>
                {
                    self.skip(1);
                    put(extra, written, Value::Bool(true), &mut given)?;
                }
                LexKind::Flag => {
                    self.skip(1);
                    self.option(extra, written, &mut given)?;
                }
                block => {
                    let value = self.value(&Value::Null);
                    let name = free(extra, &given, block == LexKind::Block);
                    let name = name.ok_or_else(|| format!("there is no place for {}", shortened(&value)))?;
                    put(extra, name, value, &mut given)?;
                }
            }
        }
        Ok(given)
    }

    /// The value that follows an argument's name.
    fn option(&mut self, extra: &HostTool, name: &str, given: &mut Map<String, Value>) -> Result<(), String> {
        let Some((own, schema)) = extra.property(name) else { return Err(format!("there is no argument {name:?}")) };
        if self.tokens.is_empty() {
            return Err(format!("{own} has no value"));
        }
        let value = self.value(schema);
        put(extra, own, value, given)
    }

    fn value(&mut self, schema: &Value) -> Value {
        let Some(token) = self.tokens.first().copied() else { return Value::Null };
        let text = token.text.of(self.line);
        let alone =
            self.tokens.get(1).is_none_or(|next| next.gap || matches!(next.kind, LexKind::Mark(',' | ';' | '.')));
        match token.kind {
            LexKind::Quoted { escapes: true } => {
                self.skip(1);
                Value::String(unescape(text))
            }
            LexKind::Quoted { .. } | LexKind::Ticked | LexKind::Block => {
                self.skip(1);
                Value::String(text.to_owned())
            }
            LexKind::Bracketed if alone => {
                self.skip(1);
                Value::String(text.to_owned())
            }
            LexKind::Mark('[' | '{') => self.json().unwrap_or_else(|| Value::String(self.run().to_owned())),
            _ => {
                let run = self.run();
                if HostTool::type_of(schema) == "array" {
                    return run.split(',').map(|item| Value::String(item.trim().to_owned())).collect();
                }
                Value::String(run.to_owned())
            }
        }
    }

    /// A list or an object that is written as JSON.
    fn json(&mut self) -> Option<Value> {
        let start = self.tokens.first()?.whole.start;
        let mut values = serde_json::Deserializer::from_str(&self.line[start..]).into_iter::<Value>();
        let value = values.next()?.ok()?;
        let end = start + values.byte_offset();
        let inside = self.tokens.iter().take_while(|token| token.whole.start < end).count();
        self.skip(inside);
        Some(value)
    }
}

/// The argument that a value without a name is for: the first that is required and has none yet, a text before others;
/// where nothing is required, the only one there is.
fn free<'e>(extra: &'e HostTool, given: &Map<String, Value>, text: bool) -> Option<&'e str> {
    let open = |name: &&str| !given.contains_key(*name);
    let is_text = |name: &&str| extra.property(name).is_some_and(|(_, schema)| HostTool::type_of(schema) == "string");
    let mut names = extra.properties().map(|(name, _)| name);
    let only = names.next().filter(|_| names.next().is_none());
    let texts = extra.required().filter(is_text).find(open);
    let other = extra.required().find(open).filter(|_| !text);
    texts.or(other).or_else(|| only.filter(open).filter(|name| !text || is_text(name)))
}

/// Gives an argument its value; of a list, one more.
fn put(extra: &HostTool, name: &str, value: Value, given: &mut Map<String, Value>) -> Result<(), String> {
    let Some((own, schema)) = extra.property(name) else { return Err(format!("there is no argument {name:?}")) };
    match (given.get_mut(own), value) {
        (None, value @ Value::String(_)) if HostTool::type_of(schema) == "array" => {
            given.insert(own.to_owned(), Value::Array(vec![value]));
        }
        (None, value) => {
            given.insert(own.to_owned(), value);
        }
        (Some(Value::Array(there)), Value::Array(more)) => there.extend(more),
        (Some(Value::Array(there)), one) => there.push(one),
        (Some(_), _) => return Err(format!("{own} is given twice")),
    }
    Ok(())
}

fn shortened(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!("{:?}", crate::types::first_words(&text, 60))
}

#[cfg(test)]
mod tests;
