//! A stored response: its fields in the metadata of the first output node, and the output nodes.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::item::ItemId;
use crate::{
    id::{NodeId, SessionId},
    serve::{
        caller::Caller,
        error::{ApiError, Result},
        state::AppState,
    },
    types::Node,
};

/// Field of the first output node's metadata with the response.
pub(super) const RESPONSE_FIELD: &str = "response";

/// Fields of a response that the store holds besides its items.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ResponseRecord {
    /// First output node.
    pub(super) id: NodeId,
    /// Seconds since 1970.
    pub(super) created_at: i64,
    /// Seconds since 1970; `None` unless the response is complete.
    #[serde(default)]
    pub(super) completed_at: Option<i64>,
    pub(super) status: String,
    /// Fields of the request that a response repeats.
    pub(super) request: Value,
    /// Id of the previous response, as given.
    pub(super) previous: Option<String>,
    pub(super) conversation: Option<SessionId>,
    /// Last node of the input. Items that were added meanwhile stand between it and the output.
    pub(super) parent: Option<NodeId>,
    /// Output nodes in order.
    pub(super) output: Vec<NodeId>,
    pub(super) usage: Option<Value>,
    pub(super) error: Option<Value>,
    pub(super) incomplete: Option<String>,
    /// Lengths of the text deltas in bytes, so that a replay has the same events.
    pub(super) deltas: Vec<usize>,
    /// Number of the next event.
    #[serde(skip)]
    pub(super) next_event: u64,
}

impl ResponseRecord {
    /// Returns the response object.
    pub(super) fn response(&self, status: &str, output: &[Value]) -> Value {
        let mut response = self.request.clone();
        response["id"] = json!(ItemId::new("resp", self.id).to_string());
        response["object"] = json!("response");
        response["created_at"] = json!(self.created_at);
        response["completed_at"] = json!(self.completed_at);
        response["status"] = json!(status);
        response["output"] = json!(output);
        response["error"] = json!(self.error);
        response["incomplete_details"] = json!(self.incomplete.as_ref().map(|reason| json!({ "reason": reason })));
        response["previous_response_id"] = json!(self.previous);
        let conversation = self.conversation.map(|id| json!({ "id": ItemId::new("conv", id).to_string() }));
        response["conversation"] = json!(conversation);
        response["usage"] = json!(self.usage);
        response
    }
}

/// Returns a stored response with its output nodes.
pub(super) fn stored(state: &AppState, caller: &Caller, id: NodeId) -> Result<(ResponseRecord, Vec<Node>)> {
    let missing = || ApiError::not_found("response", ItemId::new("resp", id));
    let node = state.node(caller, id).map_err(|_| missing())?;
    let metadata = node.metadata.as_ref().and_then(|metadata| metadata.value().ok()).unwrap_or_default();
    let record: ResponseRecord = serde_json::from_value(metadata[RESPONSE_FIELD].clone()).map_err(|_| missing())?;
    if node.state.hidden_by.is_some() {
        return Err(missing());
    }
    let snapshot = state.loom().snapshot()?;
    let mut nodes = Vec::with_capacity(record.output.len());
    for id in &record.output {
        nodes.extend(snapshot.node(*id)?);
    }
    Ok((record, nodes))
}
