//! Tools that the embedding program declares and runs. Arrow lines and tool calls use them like the engine's own.
//!
//! A JSON schema describes the arguments. The engine reads only its properties, their types and the required names; the
//! rest is passed on to providers and checked by the program.

use serde_json::Value;

use super::TABLE;
use crate::types::Permission;

/// The longest name that every provider accepts.
const MAX_NAME_CHARS: usize = 64;

/// The definition of a tool of the embedding program.
#[derive(Debug, Clone, PartialEq)]
pub struct HostTool {
    /// The name: the first word of its lines, and the name in tool calls.
    pub name: String,
    /// A description. Lists show its first sentence.
    pub description: String,
    /// The JSON schema of the arguments, an object.
    pub parameters: Value,
    /// The permission that an agent needs.
    pub permission: Permission,
    /// True if the answer of a success only confirms what was written, so that an agent need not read it: `→ done` in the same
    /// reply then ends the turn.
    pub only_confirms: bool,
}

impl HostTool {
    /// Checks that names are valid and unique, and that lines can express the parameters.
    ///
    /// # Errors
    /// If a tool is invalid; the message names the tool and the reason.
    pub fn check(extras: &[Self]) -> Result<(), String> {
        for (at, extra) in extras.iter().enumerate() {
            let name = &extra.name;
            if !is_name(name) || name.len() > MAX_NAME_CHARS {
                return Err(format!(
                    "{name:?} is no tool's name: up to {MAX_NAME_CHARS} letters, digits, _ and -, a letter first"
                ));
            }
            let same = |other: &str| other.eq_ignore_ascii_case(name);
            let mut taken = TABLE.iter().filter(|spec| same(spec.name) || spec.synonyms.iter().any(|word| same(word)));
            if let Some(spec) = taken.next() {
                return Err(format!("{name:?} means the tool {} already", spec.name));
            }
            if extras[..at].iter().any(|other| same(&other.name)) {
                return Err(format!("two tools are named {name:?}"));
            }
            extra.check_parameters().map_err(|wrong| format!("the parameters of {name:?}: {wrong}"))?;
        }
        Ok(())
    }

    fn check_parameters(&self) -> Result<(), String> {
        if self.parameters["type"] != "object" {
            return Err("they must be the schema of an object".to_owned());
        }
        if let Some((name, _)) = self.properties().find(|(name, property)| !is_name(name) || !property.is_object()) {
            return Err(format!("the property {name:?} needs a plain name and a schema"));
        }
        match self.required().find(|name| self.property(name).is_none()) {
            Some(name) => Err(format!("{name:?} is required and not there")),
            None => Ok(()),
        }
    }

    /// Returns the arguments, each with its schema.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.parameters["properties"].as_object().into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
    }

    /// Finds an argument by name, with its schema. An exact match wins; else case is ignored and `-` equals `_`.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<(&str, &Value)> {
        let same = |a: u8, b: u8| a.eq_ignore_ascii_case(&b) || matches!((a, b), (b'-', b'_') | (b'_', b'-'));
        let like = |other: &str| other.len() == name.len() && other.bytes().zip(name.bytes()).all(|(a, b)| same(a, b));
        self.properties().find(|(own, _)| *own == name).or_else(|| self.properties().find(|(own, _)| like(own)))
    }

    /// Returns the names of the required arguments, in the order of the schema.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.parameters["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    /// Returns the type that a schema names, ignoring `null`; empty if it names none.
    #[must_use]
    pub fn type_of(schema: &Value) -> &str {
        let several = schema["type"].as_array().into_iter().flatten().filter_map(Value::as_str);
        schema["type"].as_str().or_else(|| several.into_iter().find(|kind| *kind != "null")).unwrap_or("")
    }

    /// Describes an argument's type, with `required` if it is.
    #[must_use]
    pub fn kind(&self, name: &str) -> String {
        let schema = self.property(name).map_or(&Value::Null, |(_, schema)| schema);
        let words = match (schema["enum"].as_array(), Self::type_of(schema)) {
            (Some(values), _) => values.iter().map(enum_text).collect::<Vec<_>>().join(", "),
            (None, "string") => "text".to_owned(),
            (None, "integer") => "whole number".to_owned(),
            (None, "boolean") => "yes or no".to_owned(),
            (None, "array") => "list".to_owned(),
            (None, "" | "object") => "JSON".to_owned(),
            (None, other) => other.to_owned(),
        };
        if self.required().any(|required| required == name) { format!("required; {words}") } else { words }
    }

    /// Describes all arguments in one line.
    #[must_use]
    pub fn arguments(&self) -> String {
        let all: Vec<String> = self.properties().map(|(name, _)| format!("{name} ({})", self.kind(name))).collect();
        if all.is_empty() { "it takes no arguments".to_owned() } else { format!("arguments: {}", all.join(", ")) }
    }

    /// Returns an example line with the required arguments: `weather city:"…"`.
    pub(super) fn form(&self) -> String {
        let mut form = self.name.clone();
        for name in self.required() {
            form.extend([" ", &self.argument_form(name)]);
        }
        form
    }

    /// Returns an example line with all arguments, the optional ones in brackets.
    pub(super) fn form_with_options(&self) -> String {
        let mut form = self.form();
        for (name, _) in self.properties().filter(|(name, _)| !self.required().any(|required| required == *name)) {
            form.extend([" [", &self.argument_form(name), "]"]);
        }
        form
    }

    fn argument_form(&self, name: &str) -> String {
        let text = self.property(name).is_some_and(|(_, schema)| Self::type_of(schema) == "string");
        format!("{name}:{}", if text { "\"…\"" } else { "…" })
    }
}

/// Returns whether lines and providers both accept the name.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(plain)
}

/// Returns a value of an enumeration as text.
fn enum_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
