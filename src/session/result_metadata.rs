//! Metadata of the node with a command's result.

use serde_json::{Value, json};

use super::{delegation_report::report_metadata, generate_request::HostTools, seen_files::DIGEST};
use crate::{arrow::Command, context::CommandResult, exec::ExecRequest, id::LocalId};

/// Maximum bytes of an argument that is stored in a result's metadata.
const MAX_METADATA_ARGUMENT_BYTES: usize = 2_000;

/// Returns a result's metadata: the executed command, the nodes that it made or found, its arguments, and the digest of the
/// file that it read or wrote. Long arguments are omitted; the reply contains them.
pub(super) fn result_metadata(result: &CommandResult, parsed: Option<&ExecRequest>, tools: &HostTools) -> Value {
    let mut metadata = json!({ "command": result.line });
    if let Some(ExecRequest::HostTool { arguments: arguments @ Value::Object(given), .. }) = parsed {
        let digest = tools.seen_files.as_ref().filter(|_| !result.failed).and_then(|files| files.digest(arguments));
        if let Some(digest) = digest {
            metadata[DIGEST] = digest.into();
        }
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
