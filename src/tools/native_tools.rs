//! Tool definitions for a provider's native tool calling.
//!
//! Most tools are offered with the schema of their table row. Some lines select among several actions by their first
//! words, which one schema expresses badly. These tools get aliases here, under names that models know.
//! [`NativeAlias::fields`] maps a call of an alias to the same command as the line.

use serde_json::{Map, Value, json};

use super::{HostTool, TABLE, Tool, missing_permission, schema};
use crate::types::Permissions;

/// A tool with its arguments by name, or the message for an invalid argument.
type Fields = Result<(Tool, Map<String, Value>), String>;

/// A tool definition for a provider.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NativeToolSpec {
    /// The name: letters, digits, `_` and `-`.
    pub name: String,
    /// A description for the model.
    pub description: String,
    /// The JSON schema of the arguments, an object.
    pub parameters: Value,
}

/// A tool definition under another name, with a schema of its own.
#[non_exhaustive]
pub struct NativeAlias {
    /// The name in tool calls.
    pub name: &'static str,
    /// The tool that offers it.
    pub tool: Tool,
    help: &'static str,
    /// True if the aliases cover the whole tool, so that the table's definition is not offered as well.
    replaces_tool: bool,
    parameters: fn() -> Value,
    /// Maps the call's arguments to a tool and the fields of its command's JSON.
    fields: fn(Map<String, Value>) -> Fields,
}

/// Every alias. Those of one tool are in the order of the offer.
const ALIASES: &[NativeAlias] = &[
    NativeAlias {
        name: "create_todo",
        tool: Tool::Todo,
        replaces_tool: true,
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
            object_schema(json!({ "items": { "type": "array", "items": item, "minItems": 1 } }), &["items"])
        },
        fields: |given| {
            let (tool, mut fields) = rename_fields(Tool::Todo, given, &[("items", "add")])?;
            if fields.get("add").and_then(Value::as_array).is_none_or(Vec::is_empty) {
                return Err("create_todo needs items, a list with at least one".to_owned());
            }
            // The answer names the ids, which `complete_todo` takes.
            fields.insert("status".to_owned(), "all".into());
            Ok((tool, fields))
        },
    },
    NativeAlias {
        name: "list_todo",
        tool: Tool::Todo,
        replaces_tool: true,
        help: "Shows this turn's plan: what is open, or the items in a state.",
        parameters: || {
            let states = ["pending", "in_progress", "completed", "cancelled", "all", "history"];
            let status = json!({ "type": "string", "enum": states, "description": "What is open if not said." });
            let resume = json!({ "type": "boolean", "description": "Takes up what an earlier turn left open." });
            object_schema(json!({ "status": status, "resume": resume }), &[])
        },
        fields: |given| rename_fields(Tool::Todo, given, &[("status", "status"), ("resume", "resume")]),
    },
    NativeAlias {
        name: "complete_todo",
        tool: Tool::Todo,
        replaces_tool: true,
        help: "Says what became of an item of this turn's plan.",
        parameters: || {
            let properties = json!({
                "todo": { "type": "integer", "minimum": 1, "description": "The item's number." },
                "outcome": { "type": "string", "description": "What came of it, or why it was given up." },
                "status": { "type": "string", "enum": ["completed", "cancelled"], "description": "completed if not said." },
            });
            object_schema(properties, &["todo", "outcome"])
        },
        fields: |mut given| {
            let cancelled = match given.remove("status").as_ref().map(|status| status.as_str().unwrap_or("")) {
                None | Some("completed") => false,
                Some("cancelled") => true,
                Some(_) => return Err("status is completed or cancelled".to_owned()),
            };
            let number = if cancelled { "cancel" } else { "done" };
            rename_fields(Tool::Todo, given, &[("todo", number), ("todoId", number), ("outcome", "outcome")])
        },
    },
    NativeAlias {
        name: "conversation_recall",
        tool: Tool::Recall,
        replaces_tool: false,
        help: "Search the conversation archive for past messages. Use 'search' to find messages by keyword, 'range' to \
               get a specific range of turns, or 'tool_calls' to find past tool executions by name.",
        parameters: || {
            let actions = ["search", "range", "tool_calls", "summary"];
            let meaning = "search: full-text search across all messages. range: get turns by number range. tool_calls: \
                           find past calls to a specific tool. summary: get a structured summary of the full session.";
            let text = |meaning: &str| json!({ "type": "string", "description": meaning });
            let number = |meaning: &str| json!({ "type": "integer", "description": meaning });
            let properties = json!({
                "action": { "type": "string", "enum": actions, "description": meaning },
                "query": text("Search query (for 'search' action)."),
                "tool_name": text("Tool name to filter by (for 'tool_calls' action)."),
                "start_turn": number("Start of turn range (for 'range' action)."),
                "end_turn": number("End of turn range, inclusive (for 'range' action)."),
                "limit": number("Max results to return. Default 5."),
            });
            object_schema(properties, &["action"])
        },
        fields: recall_fields,
    },
    NativeAlias {
        name: "session_state",
        tool: Tool::Decide,
        replaces_tool: false,
        help: "The session's state, which is always in context: 'read' shows it, 'record' adds a decision or a constraint \
               that holds from now on, 'retract' takes what was noted out of it.",
        parameters: || {
            let actions = ["read", "record", "retract"];
            let text = "The words to record, or words of what is taken out (for 'record' and 'retract').";
            let properties = json!({
                "action": { "type": "string", "enum": actions },
                "kind": { "type": "string", "enum": ["decision", "constraint"], "description": "decision if not said." },
                "text": { "type": "string", "description": text },
            });
            object_schema(properties, &["action"])
        },
        fields: |mut given| {
            let action = given.remove("action");
            match action.as_ref().map_or("", |action| action.as_str().unwrap_or("")) {
                // Many models fill in all arguments.
                "read" => Ok((Tool::Recall, Map::from_iter([("summary".to_owned(), true.into())]))),
                action @ ("record" | "retract") => {
                    if given.get("text").and_then(Value::as_str).is_none_or(|text| text.trim().is_empty()) {
                        return Err("text is missing".to_owned());
                    }
                    if action == "retract" {
                        given.insert("kind".to_owned(), action.into());
                    }
                    rename_fields(Tool::Decide, given, &[("text", "content"), ("kind", "kind")])
                }
                _ => Err("action is read, record or retract".to_owned()),
            }
        },
    },
    NativeAlias {
        name: "delegate_task",
        tool: Tool::Delegate,
        replaces_tool: true,
        help: "Hands work of several steps to an orchestrator, which plans it, has its parts done beside each other, and \
               has each verified. What one or two calls do is done directly.",
        parameters: || {
            let properties = json!({
                "goal": { "type": "string", "description": "What is to be accomplished, with paths and criteria." },
                "context": {
                    "type": "object",
                    "description": "What was said in the conversation and matters for it: constraints, decisions, files.",
                },
                "resume": { "type": "string", "description": "The id of a delegation that did not complete, instead of a goal." },
                "wait": { "type": "boolean", "description": "Whether the report is waited for; yes if not said." },
            });
            object_schema(properties, &[])
        },
        fields: |mut given| {
            if let Some(context @ (Value::Object(_) | Value::Array(_))) = given.get_mut("context") {
                let text = serde_yaml::to_string(context).map_err(|error| error.to_string())?;
                *context = Value::String(text.trim_end().to_owned());
            }
            let names = [("goal", "goal"), ("context", "context"), ("resume", "resume"), ("wait", "wait")];
            rename_fields(Tool::Delegate, given, &names)
        },
    },
];

/// Maps the arguments of `conversation_recall`. Arguments of other actions are ignored, because many models fill in
/// all.
fn recall_fields(mut given: Map<String, Value>) -> Fields {
    let action = given.remove("action");
    let known = ["query", "tool_name", "start_turn", "end_turn", "limit"];
    if let Some(name) = given.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(format!("there is no argument {name:?}"));
    }
    let turn = |name: &str| match given.get(name) {
        None | Some(Value::Null) => Ok(None),
        // A turn before the first is the first, and one past the last is looked for like any other.
        Some(value) => match value.as_i64().or_else(|| value.as_str()?.trim().parse().ok()) {
            Some(turn) => Ok(Some(turn.clamp(1, i64::from(u32::MAX)))),
            None => Err(format!("{name} has the wrong form; expected: a number")),
        },
    };
    let (from, to) = (turn("start_turn")?, turn("end_turn")?);
    let mut needed = |name: &str| given.remove(name).ok_or_else(|| format!("{name} is missing"));
    let mut fields = Map::new();
    match action.as_ref().map_or("", |action| action.as_str().unwrap_or("")) {
        "search" => fields.insert("search".to_owned(), needed("query")?),
        "range" => {
            let (from, to) = (from.or(to), to.or(from));
            let (from, to) = from.zip(to).ok_or("start_turn or end_turn is missing")?;
            fields.insert("turns".to_owned(), format!("{}-{}", from.min(to), from.max(to)).into())
        }
        "tool_calls" => fields.insert("tool".to_owned(), needed("tool_name")?),
        "summary" => fields.insert("summary".to_owned(), true.into()),
        _ => return Err("action is search, range, tool_calls or summary".to_owned()),
    };
    fields.extend(given.remove("limit").map(|limit| ("limit".to_owned(), limit)));
    Ok((Tool::Recall, fields))
}

impl NativeAlias {
    /// Returns the alias of this name; `None` if there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        ALIASES.iter().find(|form| form.name == name)
    }

    /// Maps a call's arguments to a tool and the fields of its command.
    ///
    /// # Errors
    /// If an argument is unknown, missing or invalid.
    pub fn fields(&self, given: Map<String, Value>) -> Result<(Tool, Map<String, Value>), String> {
        (self.fields)(given)
    }

    /// Returns the names of the alias's arguments.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        (self.parameters)()["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }
}

fn object_schema(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Renames arguments to the fields of the command's JSON. An argument without a field is an error.
fn rename_fields(tool: Tool, given: Map<String, Value>, names: &[(&str, &str)]) -> Fields {
    let named = |(name, value): (String, Value)| match names.iter().find(|(own, _)| *own == name) {
        Some((_, field)) => Ok(((*field).to_owned(), value)),
        None => Err(format!("there is no argument {name:?}")),
    };
    Ok((tool, given.into_iter().map(named).collect::<Result<_, String>>()?))
}

/// Returns the definitions of all tools that an agent with these permissions may use: the table's, then the host's.
#[must_use]
pub fn native(held: Permissions, extras: &[HostTool]) -> Vec<NativeToolSpec> {
    let own = TABLE.iter().filter(|spec| spec.tool.missing_permission(held).is_none()).flat_map(|spec| {
        let forms = ALIASES.iter().filter(|form| form.tool == spec.tool).map(|form| NativeToolSpec {
            name: form.name.to_owned(),
            description: form.help.to_owned(),
            parameters: (form.parameters)(),
        });
        let mut offered: Vec<NativeToolSpec> = forms.collect();
        if !ALIASES.iter().any(|form| form.tool == spec.tool && form.replaces_tool) {
            let (name, description) = (spec.name.to_owned(), spec.help.to_owned());
            offered.push(NativeToolSpec { name, description, parameters: schema(spec.tool) });
        }
        offered
    });
    let extras = extras.iter().filter(|extra| missing_permission(extra.permission, held).is_none()).map(|extra| {
        NativeToolSpec {
            name: extra.name.clone(),
            description: extra.description.clone(),
            parameters: extra.parameters.clone(),
        }
    });
    own.chain(extras).collect()
}
