//! The tools as a provider's native tool calling takes them.
//!
//! Most are offered as they stand in the table. Some do several things by a line's first words, which the arguments of a
//! call say badly; these have forms of their own here, each under the name that models know from elsewhere. A call in
//! such a form is read by [`Form::command`] to the same command as the line.

use serde_json::{Map, Value, json};

use super::{Extra, TABLE, Tool, lacking, schema, without};
use crate::model::Permissions;

/// Arguments by name; or which of them cannot be meant.
type Fields = Result<Map<String, Value>, String>;

/// A tool as a provider is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Native {
    /// Its name, of letters, digits, `_` and `-`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON schema of its arguments, an object.
    pub parameters: Value,
}

/// A tool's form for calls, under a name of its own.
pub struct Form {
    /// The name.
    pub name: &'static str,
    /// Whose form it is.
    pub tool: Tool,
    help: &'static str,
    parameters: fn() -> Value,
    /// The fields of the command's JSON, of arguments that fit the schema's names.
    fields: fn(Map<String, Value>) -> Fields,
}

/// The forms, those of a tool in the order in which they are offered.
const FORMS: &[Form] = &[
    Form {
        name: "create_todo",
        tool: Tool::Todo,
        help: "Plans the items of this turn's work, several at once.",
        parameters: || {
            let text = |meaning: &str| json!({ "type": "string", "description": meaning });
            let item = json!({
                "type": "object",
                "properties": {
                    "title": text("What is to be done, in a few words."),
                    "context": text("What whoever does it has to know."),
                    "completion_criteria": text("By what it is seen to be done."),
                    "agent_type": text("What kind of agent it is for."),
                    "order": { "type": "integer", "minimum": 1, "description": "Its place in the plan; the end if not said." },
                },
                "required": ["title"],
                "additionalProperties": false,
            });
            object(json!({ "items": { "type": "array", "items": item, "minItems": 1 } }), &["items"])
        },
        fields: |given| only(given, &[("items", "add")]),
    },
    Form {
        name: "list_todo",
        tool: Tool::Todo,
        help: "Shows this turn's plan: what is open, or the items in a state.",
        parameters: || {
            let states = ["pending", "in_progress", "completed", "cancelled", "all"];
            let status = json!({ "type": "string", "enum": states, "description": "What is open if not said." });
            let resume = json!({ "type": "boolean", "description": "Takes up what an earlier turn left open." });
            object(json!({ "status": status, "resume": resume }), &[])
        },
        fields: |given| only(given, &[("status", "status"), ("resume", "resume")]),
    },
    Form {
        name: "complete_todo",
        tool: Tool::Todo,
        help: "Says what became of an item of this turn's plan.",
        parameters: || {
            let properties = json!({
                "todo": { "type": "integer", "minimum": 1, "description": "The item's number." },
                "outcome": { "type": "string", "description": "What came of it, or why it was given up." },
                "status": { "type": "string", "enum": ["completed", "cancelled"], "description": "completed if not said." },
            });
            object(properties, &["todo", "outcome"])
        },
        fields: |mut given| {
            let cancelled = match given.remove("status").as_ref().map(|status| status.as_str().unwrap_or("")) {
                None | Some("completed") => false,
                Some("cancelled") => true,
                Some(_) => return Err("status is completed or cancelled".to_owned()),
            };
            let number = if cancelled { "cancel" } else { "done" };
            only(given, &[("todo", number), ("outcome", "outcome")])
        },
    },
];

impl Form {
    /// The form of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMS.iter().find(|form| form.name == name)
    }

    /// The arguments of the tool itself that a call in this form means.
    ///
    /// # Errors
    /// If there is an argument that the form does not have, or one says what it cannot.
    pub fn fields(&self, given: Map<String, Value>) -> Result<Map<String, Value>, String> {
        (self.fields)(given)
    }

    /// The names of its arguments.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        (self.parameters)()["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// What is given, each by its name in the command's JSON.
fn only(given: Map<String, Value>, names: &[(&str, &str)]) -> Fields {
    let named = |(name, value): (String, Value)| match names.iter().find(|(own, _)| *own == name) {
        Some((_, field)) => Ok(((*field).to_owned(), value)),
        None => Err(format!("there is no argument {name:?}")),
    };
    given.into_iter().map(named).collect()
}

/// Every tool that an agent with these permissions may use: the table's in its order, then the program's own.
#[must_use]
pub fn native(held: Permissions, extras: &[Extra]) -> Vec<Native> {
    let own = TABLE.iter().filter(|spec| lacking(spec.tool, held).is_none()).flat_map(|spec| {
        let forms = FORMS.iter().filter(|form| form.tool == spec.tool).map(|form| Native {
            name: form.name.to_owned(),
            description: form.help.to_owned(),
            parameters: (form.parameters)(),
        });
        let mut offered: Vec<Native> = forms.collect();
        if offered.is_empty() {
            let (name, description) = (spec.name.to_owned(), spec.help.to_owned());
            offered.push(Native { name, description, parameters: schema(spec.tool) });
        }
        offered
    });
    let extras = extras.iter().filter(|extra| without(extra.permission, held).is_none()).map(|extra| Native {
        name: extra.name.clone(),
        description: extra.description.clone(),
        parameters: extra.parameters.clone(),
    });
    own.chain(extras).collect()
}
