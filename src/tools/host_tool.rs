//! Tools of the program around the engine: declared by it, asked for as the table's own are.
//!
//! What such a tool takes is said by a JSON schema, for that is what programs have. Of it, only what a line can say is
//! looked at here: the properties, their types and which are required; the rest is for providers and the program.

use serde_json::Value;

use super::TABLE;
use crate::types::Permission;

/// The longest name that every provider takes.
const LONGEST_NAME: usize = 64;

/// A tool of the program around the engine.
#[derive(Debug, Clone, PartialEq)]
pub struct HostTool {
    /// Its name: the first word of a line that asks for it, and its name in a provider's tool call.
    pub name: String,
    /// What it does; the first sentence stands in lists.
    pub description: String,
    /// What it takes: the JSON schema of an object.
    pub parameters: Value,
    /// What an agent needs to use it.
    pub permission: Permission,
}

impl HostTool {
    /// Whether these tools can be told from the table's and from each other, and lines can say what they take.
    ///
    /// # Errors
    /// If not: which tool is wrong, and in what.
    pub fn check(extras: &[Self]) -> Result<(), String> {
        for (at, extra) in extras.iter().enumerate() {
            let name = &extra.name;
            if !is_name(name) || name.len() > LONGEST_NAME {
                return Err(format!(
                    "{name:?} is no tool's name: up to {LONGEST_NAME} letters, digits, _ and -, a letter first"
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

    /// Its arguments, each with its schema.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.parameters["properties"].as_object().into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
    }

    /// The argument that a line or a call means by `name`, with its schema: letters' case, `-` and `_` are one.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<(&str, &Value)> {
        let same = |a: u8, b: u8| a.eq_ignore_ascii_case(&b) || matches!((a, b), (b'-', b'_') | (b'_', b'-'));
        let like = |other: &str| other.len() == name.len() && other.bytes().zip(name.bytes()).all(|(a, b)| same(a, b));
        self.properties().find(|(own, _)| *own == name).or_else(|| self.properties().find(|(own, _)| like(own)))
    }

    /// The arguments that it needs, in the order in which the schema names them.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        self.parameters["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    /// The type that a schema names, without `null`; empty if it names none.
    #[must_use]
    pub fn type_of(schema: &Value) -> &str {
        let several = schema["type"].as_array().into_iter().flatten().filter_map(Value::as_str);
        schema["type"].as_str().or_else(|| several.into_iter().find(|kind| *kind != "null")).unwrap_or("")
    }

    /// What an argument is, in words, and whether it is required.
    #[must_use]
    pub fn kind(&self, name: &str) -> String {
        let schema = self.property(name).map_or(&Value::Null, |(_, schema)| schema);
        let words = match (schema["enum"].as_array(), Self::type_of(schema)) {
            (Some(values), _) => values.iter().map(said).collect::<Vec<_>>().join(", "),
            (None, "string") => "text".to_owned(),
            (None, "integer") => "whole number".to_owned(),
            (None, "boolean") => "yes or no".to_owned(),
            (None, "array") => "list".to_owned(),
            (None, "" | "object") => "JSON".to_owned(),
            (None, other) => other.to_owned(),
        };
        if self.required().any(|required| required == name) { format!("required; {words}") } else { words }
    }

    /// The arguments that there are, in words.
    #[must_use]
    pub fn arguments(&self) -> String {
        let all: Vec<String> = self.properties().map(|(name, _)| format!("{name} ({})", self.kind(name))).collect();
        if all.is_empty() { "it takes no arguments".to_owned() } else { format!("arguments: {}", all.join(", ")) }
    }

    /// The line with what it needs: `weather city:"…"`.
    pub(super) fn form(&self) -> String {
        let mut form = self.name.clone();
        for name in self.required() {
            let text = self.property(name).is_some_and(|(_, schema)| Self::type_of(schema) == "string");
            form.extend([" ", name, if text { ":\"…\"" } else { ":…" }]);
        }
        form
    }
}

/// Whether lines and providers can both say it.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(plain)
}

/// A value of an enumeration as a line has it.
fn said(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
