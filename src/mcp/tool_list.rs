//! The tools that clients see: names, descriptions, schemas and annotations.
//!
//! Arguments come from the declarations of the engine, so a client's call is parsed like a provider's. Schemas are plain,
//! because clients drop tools otherwise: one type per field, no references, an object at the root. All tools together
//! stay below 6 kB, since they fill the context window of every conversation.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool as McpTool, ToolAnnotations};
use serde_json::{Value, json};

use crate::{
    tools::{NativeToolSpec, RecallScope, native},
    types::Permissions,
};

/// Tools of the engine that the server offers, in the order of the list.
const NATIVE_TOOLS: &[&str] = &["conversation_recall", "delegate_task", "create_todo", "list_todo", "complete_todo"];

/// Tools that change nothing.
const READING_TOOLS: &[&str] = &["conversation_recall", "list_todo"];

/// Name of the tool that runs arrow lines.
pub(super) const LINES_TOOL: &str = "loom";

/// Names of the tools that some clients require of a source of knowledge, with exactly these arguments and results.
pub(super) const SEARCH_TOOL: &str = "search";
pub(super) const FETCH_TOOL: &str = "fetch";

/// Fields of results beside session and text: found nodes, items of the plan, the id of a delegation.
pub(super) const NODES_FIELD: &str = "nodes";
pub(super) const ITEMS_FIELD: &str = "items";
pub(super) const DELEGATION_FIELD: &str = "delegation";

const LINES_HELP: &str = "\
Runs arrow lines in the tree of conversations, one after the other. Read: `→ view`, `→ tree depth:3`, `→ list changes`, \
`→ view branch:ID as:prose`, `→ diff ID ID`, `→ recall search \"words\" by:human scope:all from:2026-01-31`, \
`→ read doc:\"NAME\"`. Move: `→ switch to ID`, `→ switch to tree:\"TITLE\"`. Write: `→ respond ID \"text\"` (a branch if ID \
has a continuation), `→ edit ID \"text\"`, `→ annotate ID \"text\"`, `→ bookmark ID \"name\"`, `→ prune ID`, `→ link ID to ID`, \
`→ write doc:\"NAME\" append \"text\"`, `→ decide \"text\"`, `→ continue n:3` (a model writes), `→ undo`. `→ help` lists all \
commands, `→ help VERB` explains one. IDs are in brackets in answers, such as [a7x2kq].";

const SESSION_HELP: &str = "Session id of an earlier answer, or a tree's title or id; your own session if left out.";

/// Help for the same argument of the other tools.
const SHORT_SESSION_HELP: &str = "As for loom.";

/// Returns the tools; without those that change something if `read_only` is true.
pub(super) fn tools(read_only: bool, search_fetch: bool) -> Vec<McpTool> {
    let declared = native(Permissions::all(), &[]);
    let native = NATIVE_TOOLS.iter().filter_map(|name| declared.iter().find(|spec| spec.name == **name));
    let native = native.filter(|spec| !read_only || READING_TOOLS.contains(&spec.name.as_str())).map(native_tool);
    let connector = search_fetch.then(connector_tools).into_iter().flatten();
    std::iter::once(lines_tool(read_only)).chain(native).chain(connector).collect()
}

fn connector_tools() -> [McpTool; 2] {
    let tool = |name: &'static str, help: &'static str, argument: &str, meaning: &str| {
        let input = json!({ "type": "object", "properties": { argument: text(meaning) }, "required": [argument] });
        let annotations = ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false);
        McpTool::new(name, help, object(input)).with_annotations(annotations)
    };
    [
        tool(SEARCH_TOOL, "Searches all conversations. Returns ids for fetch.", "query", "A question or words."),
        tool(FETCH_TOOL, "Returns a found message in full.", "id", "An id that search returned."),
    ]
}

fn lines_tool(read_only: bool) -> McpTool {
    let lines = json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 32 });
    let task = text("Id of a call that was still running, instead of lines.");
    let input = json!({
        "type": "object",
        "properties": { "lines": lines, "task": task, "session": text(SESSION_HELP) },
    });
    // What a line does can be undone.
    let annotations = ToolAnnotations::new().read_only(read_only).destructive(false).open_world(false);
    McpTool::new(LINES_TOOL, LINES_HELP, object(input)).with_annotations(annotations)
}

fn native_tool(spec: &NativeToolSpec) -> McpTool {
    let mut input = object(spec.parameters.clone());
    // The parser of arguments refuses unknown ones by name.
    input.remove("additionalProperties");
    if let Some(properties) = input.get_mut("properties").and_then(Value::as_object_mut) {
        match spec.name.as_str() {
            "conversation_recall" => {
                let help = "Part of the archive; the current tree if left out.";
                let scope = json!({ "type": "string", "enum": RecallScope::WORDS, "description": help });
                properties.insert("scope".to_owned(), scope);
            }
            // The report comes later, since clients end long calls.
            "delegate_task" => drop(properties.remove("wait")),
            "list_todo" => drop(properties.remove("resume")),
            _ => {}
        }
        properties.insert("session".to_owned(), text(SHORT_SESSION_HELP));
    }
    let reads = READING_TOOLS.contains(&spec.name.as_str());
    let annotations = ToolAnnotations::new().read_only(reads).open_world(spec.name == "delegate_task");
    // The other hints have a meaning for tools that change something.
    let annotations = match reads {
        true => annotations,
        false if spec.name == "complete_todo" => annotations.destructive(false).idempotent(true),
        false => annotations.destructive(false),
    };
    let mut tool = McpTool::new(spec.name.clone(), spec.description.clone(), input).with_annotations(annotations);
    tool.output_schema = Some(Arc::new(output(&spec.name)));
    tool
}

/// Returns the schema of a tool's result: session and text, and what a program reads of it.
fn output(tool: &str) -> JsonObject {
    let string = || json!({ "type": "string" });
    let list = |properties: Value| json!({ "type": "array", "items": { "type": "object", "properties": properties } });
    let (name, field) = match tool {
        "conversation_recall" => (NODES_FIELD, list(json!({ "id": string(), "uri": string() }))),
        "delegate_task" => (DELEGATION_FIELD, string()),
        "list_todo" => {
            let number = json!({ "type": "integer" });
            (ITEMS_FIELD, list(json!({ "number": number, "title": string(), "status": string() })))
        }
        // As for `list_todo`.
        _ => (ITEMS_FIELD, json!({})),
    };
    object(json!({
        "type": "object",
        "properties": { "session": string(), "text": string(), name: field },
        "required": ["text"],
    }))
}

fn text(meaning: &str) -> Value {
    json!({ "type": "string", "description": meaning })
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(map) => map,
        _ => JsonObject::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Returns the first part of a schema that a client is known to reject.
    fn unportable(schema: &Value) -> Option<String> {
        match schema {
            Value::Object(map) => map.iter().find_map(|(key, value)| {
                let refused = matches!(key.as_str(), "$ref" | "$defs" | "$schema" | "nullable" | "anyOf" | "oneOf");
                let union = key == "type" && value.is_array();
                if refused || union { Some(format!("{key}: {value}")) } else { unportable(value) }
            }),
            Value::Array(items) => items.iter().find_map(unportable),
            _ => None,
        }
    }

    #[test]
    fn schemas_are_plain_objects() {
        for tool in tools(false, true) {
            let roots = [Some(&tool.input_schema), tool.output_schema.as_ref()];
            for schema in roots.into_iter().flatten() {
                assert_eq!(schema["type"], "object", "{}", tool.name);
                assert_eq!(unportable(&Value::Object((**schema).clone())), None, "{}", tool.name);
            }
        }
    }

    #[test]
    fn all_tools_fit_into_six_kilobytes() {
        let names: Vec<String> = tools(false, false).iter().map(|tool| tool.name.to_string()).collect();
        assert_eq!(names[0], "loom");
        assert_eq!(names[1..], *NATIVE_TOOLS);
        let bytes = serde_json::to_string(&tools(false, false)).unwrap().len();
        assert!(bytes <= 6_000, "{bytes} bytes");
        assert!(crate::mcp::server::INSTRUCTIONS.chars().count() <= 600);
    }

    #[test]
    fn a_read_only_server_offers_no_changes() {
        let offered = tools(true, false);
        assert!(offered.iter().all(|tool| tool.annotations.as_ref().unwrap().read_only_hint == Some(true)));
        assert_eq!(offered.len(), 3);
    }
}
