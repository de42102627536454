//! Metadata of the node with a command's result.

use serde_json::{Value, json};

use super::delegation_report::report_metadata;
use crate::{arrow::Command, context::CommandResult, exec::ExecRequest, id::LocalId};

/// Maximum bytes of an argument that is stored in a result's metadata.
const MAX_METADATA_ARGUMENT_BYTES: usize = 2_000;

/// Returns a result's metadata: the executed command, the nodes that it made or found, and its arguments. Long arguments
/// are omitted; the reply contains them.
pub(super) fn result_metadata(result: &CommandResult, parsed: Option<&ExecRequest>) -> Value {
    let mut metadata = json!({ "command": result.line });
    if let Some(ExecRequest::HostTool { arguments: Value::Object(given), .. }) = parsed {
        let short = given
            .iter()
            .filter(|(_, value)| value.as_str().is_none_or(|text| text.len() <= MAX_METADATA_ARGUMENT_BYTES));
        metadata["arguments"] = short.map(|(name, value)| (name.clone(), value.clone())).collect::<Value>();
    }
    if let Some(ExecRequest::Command(Command::Delegate { .. })) = parsed
        && let Some(report) = report_metadata(&result.answer)
    {
        metadata["files"] = report["files"].clone();
    }
    if result.failed {
        metadata["failed"] = true.into();
    }
    if let Some(nodes) = &result.nodes {
        metadata["nodes"] = nodes.iter().map(LocalId::as_str).collect();
    }
    metadata
}
