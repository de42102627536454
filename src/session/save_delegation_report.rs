//! The report of a delegation, saved as a result below the node that delegated.

use serde_json::{Value, json};

use super::{DelegationReport, delegation_report::report_metadata};
use crate::{
    id::NodeId,
    ops::{Actor, Loom, NodeDraft, OpsError},
    store::{ChildFilter, Mutation},
    tools::{Tool, ToolError},
    types::{AuthorType, EdgeKind, Json, Node, Op, Parent, ToolCallFields},
};

/// Key of a saved report's metadata with the delegation, its number of events then, and the report's data.
const REPORT_KEY: &str = "delegation";

/// Adds the data of a report to the metadata of its text.
fn stored_metadata(
    text_metadata: Option<Value>,
    (delegation, events): (NodeId, usize),
    result: &Result<DelegationReport, ToolError>,
) -> Json {
    let mut metadata = text_metadata.unwrap_or_else(|| json!({}));
    metadata[REPORT_KEY] = json!({ "id": delegation, "events": events, "report": result.as_ref().ok() });
    metadata.into()
}

/// Returns the report of a delegation's last run as JSON, if it ended with one: the report that [`save_report`] saved after
/// the newest event. The node of the report may have been purged.
///
/// # Errors
/// If the store cannot be read.
pub fn saved_report(loom: &Loom, head: &Node) -> Result<Option<Value>, OpsError> {
    let snapshot = loom.snapshot()?;
    let events = snapshot.delegation(head.id)?.len();
    let filter = ChildFilter::default().kind(EdgeKind::Tool).pruned(true);
    let reports = snapshot.children(head.parent.unwrap_or(head.id), &filter)?;
    let newest_first = reports.iter().rev().filter(|node| node.tool.name.as_deref() == Some(Tool::Delegate.name()));
    Ok(newest_first
        .filter_map(|node| serde_json::from_str::<Value>(node.metadata.as_ref()?.as_str()).ok())
        .map(|mut metadata| metadata[REPORT_KEY].take())
        .find(|saved| saved["id"] == json!(head.id) && saved["events"] == json!(events))
        .map(|mut saved| saved["report"].take())
        .filter(|report| !report.is_null()))
}

/// Saves a report as a result of tool `delegate` below the node that delegated. `→ recall tool:delegate` then finds it.
/// Agents that wait get the report as a command result; this is for background, user-started and resumed delegations.
///
/// # Errors
/// If the store fails.
pub async fn save_report(
    actor: &Actor,
    delegation: NodeId,
    result: &Result<DelegationReport, ToolError>,
) -> Result<(), OpsError> {
    let head = actor.loom().node(delegation)?;
    let text = match result {
        Ok(report) => report.to_string(),
        Err(failure) => format!("✗ {failure}"),
    };
    let events = actor.loom().snapshot()?.delegation(delegation)?.len();
    let draft = NodeDraft {
        kind: Some(EdgeKind::Tool),
        author_type: Some(AuthorType::Tool),
        tool: ToolCallFields { name: Some(Tool::Delegate.name().to_owned()), ..ToolCallFields::default() },
        metadata: Some(stored_metadata(report_metadata(&text), (delegation, events), result)),
        ..NodeDraft::text(text)
    };
    let report = actor.draft(Parent::Node(head.parent.unwrap_or(head.id)), draft);
    actor.submit(Op::Turn, vec![Mutation::Append(Box::new(report))]).await?;
    Ok(())
}
