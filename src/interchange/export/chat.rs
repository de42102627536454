//! Conversations as chat messages: OpenAI's form, and ShareGPT's.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::{json_line::write_line, tree_export::TreeExport};
use crate::{
    interchange::InterchangeError,
    recall::unnamed_call,
    types::{AuthorType, EdgeKind, Node},
};

/// Writes each conversation as a line `{"messages": […]}`.
pub(super) fn write_openai(export: &mut TreeExport<'_>, out: &mut dyn Write) -> Result<(), InterchangeError> {
    export.require_dialogue()?;
    export.each_path(&mut |export, path| {
        let messages = messages(export, &path)?;
        if messages.is_empty() {
            export.report.leave_out("empty conversations", 1);
            return Ok(());
        }
        export.report.written += 1;
        write_line(out, &json!({ "messages": messages }))
    })
}

/// Writes each conversation as a line `{"conversations": […]}`.
pub(super) fn write_sharegpt(export: &mut TreeExport<'_>, out: &mut dyn Write) -> Result<(), InterchangeError> {
    export.require_dialogue()?;
    export.each_path(&mut |export, path| {
        let turns: Vec<Value> = messages(export, &path)?
            .into_iter()
            .map(|message| {
                let from = match message["role"].as_str() {
                    Some("user") => "human",
                    Some("assistant") => "gpt",
                    Some("tool") => "tool",
                    _ => "system",
                };
                let calls = message["tool_calls"].as_array().into_iter().flatten();
                let mut value = message["content"].as_str().unwrap_or("").to_owned();
                for call in calls {
                    if !value.is_empty() {
                        value.push('\n');
                    }
                    value.push_str(&format!("<tool_call>\n{}\n</tool_call>", call["function"]));
                }
                json!({ "from": from, "value": value })
            })
            .collect();
        if turns.is_empty() {
            export.report.leave_out("empty conversations", 1);
            return Ok(());
        }
        export.report.written += 1;
        write_line(out, &json!({ "conversations": turns }))
    })
}

/// Returns the messages of a path in OpenAI's form. A call without a result is left out, since trainers and providers
/// refuse it.
pub(super) fn messages(export: &mut TreeExport<'_>, path: &[Node]) -> Result<Vec<Value>, InterchangeError> {
    let mut messages = Vec::new();
    if let Some(system) = export.tree.system_context.as_ref().filter(|system| !system.is_empty()) {
        messages.push(json!({ "role": "system", "content": system }));
    }
    for node in path {
        let is_message = matches!(node.kind, EdgeKind::Continuation | EdgeKind::Version);
        if !export.admits(node) || !is_message {
            continue;
        }
        let results = export.side_nodes(node, EdgeKind::Tool)?;
        let calls = calls_with_results(export, node, &results);
        if node.content.trim().is_empty() && calls.is_empty() {
            continue;
        }
        let mut message = Map::new();
        let role = match node.role() {
            AuthorType::Human => "user",
            AuthorType::Model => "assistant",
            AuthorType::System => "system",
            // A tool's result without a call, as a person's command leaves it.
            AuthorType::Tool => "user",
        };
        message.insert("role".to_owned(), role.into());
        message.insert("content".to_owned(), node.content.as_str().into());
        if export.options.thoughts {
            let thoughts = export.side_nodes(node, EdgeKind::Thought)?;
            let thoughts: Vec<&str> = thoughts.iter().map(|thought| thought.content.as_str()).collect();
            if !thoughts.is_empty() {
                message.insert("reasoning_content".to_owned(), thoughts.join("\n").into());
            }
        } else {
            export.side_nodes(node, EdgeKind::Thought)?;
        }
        let ids: Vec<String> = calls.iter().filter_map(|call| call["id"].as_str()).map(str::to_owned).collect();
        if !calls.is_empty() {
            message.insert("tool_calls".to_owned(), calls.into());
        }
        messages.push(message.into());
        for result in results {
            let Some(call) = call_id(&result).filter(|call| ids.contains(call)) else {
                export.report.leave_out("tool results without a call", 1);
                continue;
            };
            messages.push(json!({ "role": "tool", "tool_call_id": call, "content": result.content }));
        }
    }
    Ok(messages)
}

/// Returns the id of the call that a result answers.
fn call_id(result: &Node) -> Option<String> {
    result.tool.call_id.clone().or_else(|| Some(unnamed_call(result)?["id"].as_str()?.to_owned()))
}

/// Returns the calls of a node that have a result, in OpenAI's form.
fn calls_with_results(export: &mut TreeExport<'_>, node: &Node, results: &[Node]) -> Vec<Value> {
    // Replies of older versions store their commands with the results only.
    let with_line = |mut call: Value| {
        if call["arguments"].as_object().is_some_and(Map::is_empty) {
            call["arguments"] = json!({ "line": call["line"] });
        }
        call
    };
    let unnamed = || results.iter().filter_map(unnamed_call).map(with_line).collect();
    let calls = node.tool.calls.as_ref().and_then(|calls| calls.value().ok()).unwrap_or_else(unnamed);
    let mut kept = Vec::new();
    for call in calls.as_array().into_iter().flatten() {
        let id = ["call_id", "id", "callID", "toolCallId"].iter().find_map(|name| call[*name].as_str());
        let name = [&call["function"]["name"], &call["name"]].into_iter().find_map(Value::as_str);
        let has_result = |id: &str| results.iter().any(|result| call_id(result).as_deref() == Some(id));
        let (Some(id), Some(name)) = (id.filter(|id| has_result(id)), name) else {
            export.report.leave_out("tool calls without a result", 1);
            continue;
        };
        let arguments =
            [&call["function"]["arguments"], &call["arguments"], &call["input"]].into_iter().find(|v| !v.is_null());
        let arguments = match arguments {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => "{}".to_owned(),
        };
        kept.push(json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } }));
    }
    kept
}
