//! Tool calls of a reply as the node stores them: calls through the provider's API and arrow lines alike.

use serde::Serialize;

use crate::{
    arrow::Command,
    exec::{ExecRequest, read_line},
    id::NodeId,
    tools::HostTool,
    turn::ToolRequest,
    types::Json,
};

/// Characters of a ULID that encode its time. Ids of calls are made of the others, which are random.
const TIME_CHARS: usize = 10;

/// A call in the JSON of a node's `tool_calls`.
#[derive(Serialize)]
struct StoredCall<'a> {
    id: String,
    /// Name of the tool; `None` for a line that could not be parsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Arguments as JSON: as the model wrote them, or as its line was parsed.
    arguments: String,
    /// Arrow line as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<&'a str>,
}

/// Returns the id of the request at this index among those of the reply `node`. A provider's call has its own.
pub(super) fn call_id(node: NodeId, at: usize, request: Option<&ToolRequest>) -> String {
    match request {
        Some(ToolRequest::Call(call)) => call.id.clone(),
        _ => format!("call_{}_{}", &node.to_string()[TIME_CHARS..], at + 1),
    }
}

/// Returns the calls of a reply in the order of its requests; `None` if there are none. Thoughts are not calls, and the
/// words of a `think` line are left out, because only its author may read them.
pub(super) fn stored_calls(node: NodeId, requests: &[ToolRequest], tools: &[HostTool]) -> Option<Json> {
    let calls: Vec<StoredCall<'_>> = requests
        .iter()
        .enumerate()
        .filter_map(|(at, request)| {
            let id = call_id(node, at, Some(request));
            match request {
                ToolRequest::Thought(_) => None,
                ToolRequest::Call(call) => {
                    let (name, arguments) = (Some(call.name.clone()), call.arguments.clone());
                    Some(StoredCall { id, name, arguments, line: None })
                }
                ToolRequest::Line { text, .. } => Some(stored_line(id, text, &read_line(text, tools))),
            }
        })
        .collect();
    if calls.is_empty() {
        return None;
    }
    serde_json::to_string(&calls).and_then(Json::parse).ok()
}

fn stored_line<'a>(id: String, line: &'a str, parsed: &ExecRequest) -> StoredCall<'a> {
    let name = parsed.name().map(str::to_owned);
    let (arguments, line) = match parsed {
        ExecRequest::Command(Command::Think { .. }) => ("{}".to_owned(), "→ think"),
        ExecRequest::Command(command) => (command_arguments(command), line),
        ExecRequest::HostTool { arguments, .. } => (arguments.to_string(), line),
        ExecRequest::Refused(_) => ("{}".to_owned(), line),
    };
    StoredCall { id, name, arguments, line: Some(line) }
}

/// Returns the arguments of a command as a JSON object.
fn command_arguments(command: &Command) -> String {
    let mut value = serde_json::to_value(command).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("op");
    }
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::ToolCall;

    #[test]
    fn lines_and_calls_are_stored_alike_and_thoughts_are_not() {
        let line = |text: &str, closed| ToolRequest::Line { text: text.to_owned(), closed };
        let call = ToolCall { id: "c1".into(), name: "view".into(), arguments: "{\"node\": \"a7x2kq\"}".into() };
        let requests = [
            ToolRequest::Thought("heron".to_owned()),
            line("→ recall search \"the old pump\"", true),
            ToolRequest::Call(call),
            line("→ think \"heron\"", true),
            line("→ blorb everything", true),
        ];
        let node = NodeId::from_bytes([7; 16]);
        let stored = stored_calls(node, &requests, &[]).unwrap();
        let calls: Vec<serde_json::Value> = serde_json::from_str(stored.as_str()).unwrap();
        let names: Vec<Option<&str>> = calls.iter().map(|call| call["name"].as_str()).collect();
        assert_eq!(names, [Some("recall"), Some("view"), Some("think"), None]);
        assert_eq!(calls[0]["line"], "→ recall search \"the old pump\"");
        let arguments: serde_json::Value = serde_json::from_str(calls[0]["arguments"].as_str().unwrap()).unwrap();
        assert_eq!(arguments, serde_json::json!({ "search": "the old pump" }));
        assert_eq!((calls[1]["id"].as_str(), calls[1]["line"].as_str()), (Some("c1"), None));
        assert!(!stored.as_str().contains("heron"), "{}", stored.as_str());
        assert_eq!(calls[0]["id"].as_str(), Some(call_id(node, 1, Some(&requests[1])).as_str()));
        assert_eq!(stored_calls(node, &requests[..1], &[]), None);
    }
}
