//! JSON schemas of the tools' arguments for providers' tool calls and MCP, derived from the table.

use serde_json::{Map, Value, json};

use super::{ArgType, Tool};

/// Returns the schema of a tool's arguments: an object with the fields of the command's JSON, without `op`.
#[must_use]
pub fn schema(tool: Tool) -> Value {
    let arguments = tool.spec().arguments();
    let properties: Map<String, Value> = arguments
        .clone()
        .map(|argument| {
            let mut field = field_schema(argument.kind);
            field.insert("description".to_owned(), argument.meaning.into());
            (argument.name.to_owned(), field.into())
        })
        .collect();
    let required: Vec<&str> = arguments.filter(|argument| argument.required).map(|a| a.name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn field_schema(kind: ArgType) -> Map<String, Value> {
    let text = json!({ "type": "string" });
    let value = match kind {
        ArgType::Node | ArgType::Text => text,
        ArgType::Nodes => json!({ "type": "array", "items": text, "minItems": 2 }),
        ArgType::Texts => json!({ "type": "array", "items": text }),
        ArgType::Items => json!({ "type": "array", "items": { "type": ["string", "object"] } }),
        ArgType::Number(u32::MAX) => json!({ "type": "integer", "minimum": 0 }),
        ArgType::Number(most) => json!({ "type": "integer", "minimum": 1, "maximum": most }),
        ArgType::Flag | ArgType::Bool => json!({ "type": "boolean" }),
        ArgType::Enum(words) => json!({ "type": "string", "enum": words }),
        ArgType::Range => json!({ "type": "string", "pattern": "^[0-9]+(-[0-9]+)?$" }),
        ArgType::NodeRange => json!({ "type": "string", "pattern": "^[0-9A-Za-z]+-[0-9A-Za-z]+$" }),
        ArgType::LinkTarget => json!({
            "type": "object", "properties": { "node": text, "doc": text, "tree": text }, "additionalProperties": false,
            "minProperties": 1,
        }),
        ArgType::InsertPosition => json!({ "anyOf": [
            { "type": "string", "enum": ["start", "end"] }, { "type": "integer", "minimum": 1 },
        ] }),
    };
    match value {
        Value::Object(map) => map,
        other => Map::from_iter([("const".to_owned(), other)]),
    }
}
