//! The event sequence of a response. A stored response replays the same sequence as the live one.

use serde_json::{Value, json};

use super::{item::ItemId, response_record::ResponseRecord};
use crate::{id::NodeId, provider::ToolCall};

/// Builds the events of a response in order.
pub(super) struct EventSequence {
    events: Vec<Value>,
    record: ResponseRecord,
    /// Node of the message item, once text has arrived.
    message: Option<NodeId>,
    text: String,
    /// Items that are complete.
    output: Vec<Value>,
}

impl EventSequence {
    /// Starts with the events `created` and `in_progress`.
    pub(super) fn start(record: ResponseRecord) -> Self {
        let mut sequence = Self { events: Vec::new(), record, message: None, text: String::new(), output: Vec::new() };
        let response = sequence.record.response("in_progress", &[]);
        sequence.push("response.created", json!({ "response": response }));
        sequence.push("response.in_progress", json!({ "response": response }));
        sequence
    }

    /// Returns the events so far and forgets them.
    pub(super) fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.events)
    }

    fn push(&mut self, kind: &str, mut fields: Value) {
        fields["type"] = json!(kind);
        fields["sequence_number"] = json!(self.record.next_event);
        self.record.next_event += 1;
        self.events.push(fields);
    }

    /// Adds text to the message item, which is node `id`.
    pub(super) fn text(&mut self, id: NodeId, delta: &str) {
        if self.message.is_none() {
            self.message = Some(id);
            let item = message_item(id, "in_progress", None);
            self.push("response.output_item.added", json!({ "output_index": 0, "item": item }));
            let fields = json!({ "item_id": item_id(id), "output_index": 0, "content_index": 0, "part": part("") });
            self.push("response.content_part.added", fields);
        }
        self.text.push_str(delta);
        let fields = json!({
            "item_id": item_id(id), "output_index": 0, "content_index": 0, "delta": delta, "logprobs": [],
        });
        self.push("response.output_text.delta", fields);
    }

    /// Ends the message item.
    pub(super) fn end_text(&mut self, status: &str) {
        let Some(id) = self.message else { return };
        let place = || json!({ "item_id": item_id(id), "output_index": 0, "content_index": 0 });
        let mut fields = place();
        fields["text"] = json!(self.text);
        fields["logprobs"] = json!([]);
        self.push("response.output_text.done", fields);
        let mut fields = place();
        fields["part"] = part(&self.text);
        self.push("response.content_part.done", fields);
        let item = message_item(id, status, Some(&self.text));
        self.output.push(item.clone());
        self.push("response.output_item.done", json!({ "output_index": 0, "item": item }));
    }

    /// Adds a call of a function as an item, which is node `id`.
    pub(super) fn call(&mut self, id: NodeId, call: &ToolCall) {
        let index = self.output.len();
        let id = ItemId::new("fc", id).to_string();
        let item = |arguments: &str, status: &str| {
            json!({
                "id": id, "type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments,
                "status": status,
            })
        };
        self.push("response.output_item.added", json!({ "output_index": index, "item": item("", "in_progress") }));
        let fields = json!({ "item_id": id, "output_index": index, "delta": call.arguments });
        self.push("response.function_call_arguments.delta", fields);
        let fields = json!({ "item_id": id, "output_index": index, "name": call.name, "arguments": call.arguments });
        self.push("response.function_call_arguments.done", fields);
        let done = item(&call.arguments, "completed");
        self.output.push(done.clone());
        self.push("response.output_item.done", json!({ "output_index": index, "item": done }));
    }

    /// Returns the items that are complete.
    pub(super) fn output(&self) -> &[Value] {
        &self.output
    }

    /// Ends the response with the status of its record.
    pub(super) fn end(&mut self, record: ResponseRecord) {
        let next_event = self.record.next_event;
        self.record = ResponseRecord { next_event, ..record };
        let status = self.record.status.clone();
        let kind = match status.as_str() {
            "completed" | "failed" | "incomplete" => format!("response.{status}"),
            _ => "response.incomplete".to_owned(),
        };
        let response = self.record.response(&status, &self.output);
        self.push(&kind, json!({ "response": response }));
    }
}

fn item_id(id: NodeId) -> String {
    ItemId::new("msg", id).to_string()
}

fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

/// Returns a message of the model, without content while `text` is `None`.
fn message_item(id: NodeId, status: &str, text: Option<&str>) -> Value {
    let content: Vec<Value> = text.map(part).into_iter().collect();
    json!({ "id": item_id(id), "type": "message", "role": "assistant", "status": status, "content": content })
}
