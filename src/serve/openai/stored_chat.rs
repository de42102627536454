//! Storage of a chat completion: its messages and replies become nodes.

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::chat_request::CompletionBody;
use crate::{
    id::AgentId,
    provider::{Finish, FinishReason, ToolCall},
    serve::{
        call_recorder::{RecordedCall, record},
        caller::Caller,
        state::AppState,
    },
    session::GenerationMetadata,
};

/// Request and writer of a completion that is stored when it ends.
pub(super) struct StoredChat {
    pub(super) state: AppState,
    pub(super) caller: Caller,
    pub(super) author: AgentId,
    /// Reference of the model.
    pub(super) reference: String,
    pub(super) body: CompletionBody,
}

impl StoredChat {
    /// Stores messages and replies, which are siblings, without replies of which nothing came. A failure is logged: the
    /// client has its replies.
    pub(super) async fn store(self, replies: &[(String, Finish)]) {
        for (text, finish) in
            replies.iter().filter(|(text, finish)| !text.is_empty() || finish.reason != FinishReason::Interrupted)
        {
            let mut reply = json!({ "role": "assistant", "content": text });
            if !finish.calls.is_empty() {
                reply["tool_calls"] = calls_json(&finish.calls);
            }
            let call = RecordedCall {
                messages: self.body.messages.clone(),
                replies: vec![reply],
                tools: Value::Array(self.body.tools.clone()),
                model: self.reference.clone(),
                author: Some(self.author),
                usage: json!(finish.usage),
                cost: GenerationMetadata::of(&self.reference, finish, &self.state.settings.prices).cost,
                interrupted: finish.reason == FinishReason::Interrupted,
                ..RecordedCall::default()
            };
            let caller = self.caller.clone();
            let (sender, receiver) = oneshot::channel();
            self.state.calls.push(move |state| drop(sender.send(record(state, &caller, call))));
            match receiver.await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::error!(error = error.message(), "a completion was not stored"),
                Err(_) => tracing::error!("a completion was not stored: too many wait"),
            }
        }
    }
}

/// Returns the JSON of tool calls.
pub(super) fn calls_json(calls: &[ToolCall]) -> Value {
    calls
        .iter()
        .map(|call| {
            let function = json!({ "name": call.name, "arguments": call.arguments });
            json!({ "id": call.id, "type": "function", "function": function })
        })
        .collect()
}
