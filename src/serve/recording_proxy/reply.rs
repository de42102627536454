//! Reading of recorded calls: messages of a request, and the reply from a whole answer or from its stream.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{provider::sse::SseParser, serve::call_recorder::RecordedCall};

/// API of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// OpenAI's Chat Completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
}

/// Largest event of a stream, in bytes.
const MAX_EVENT_BYTES: usize = 8 << 20;

/// A reply: its messages or items.
type Reply = Vec<Value>;

/// Returns the call once for each of its replies, which are alternatives. An answer that cannot be read has none.
pub(super) fn read_calls(dialect: Dialect, request: &Value, answer: &[u8]) -> Vec<RecordedCall> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (messages, system) = match dialect {
        Dialect::Chat => (list(&request["messages"]), Value::Null),
        Dialect::Messages => (list(&request["messages"]), request["system"].clone()),
        Dialect::Responses => {
            let input = match &request["input"] {
                Value::String(text) => vec![json!({ "role": "user", "content": text })],
                input => list(input),
            };
            (input, request["instructions"].clone())
        }
    };
    let whole: Option<Value> = serde_json::from_slice(answer).ok();
    let (replies, usage, ended) = match (dialect, whole) {
        (Dialect::Chat, Some(answer)) => {
            let replies = list(&answer["choices"]).iter().map(|choice| vec![choice["message"].clone()]).collect();
            (replies, answer["usage"].clone(), true)
        }
        (Dialect::Messages, Some(answer)) => {
            let reply = json!({ "role": "assistant", "content": answer["content"] });
            (vec![vec![reply]], answer["usage"].clone(), true)
        }
        (Dialect::Responses, Some(answer)) => (vec![list(&answer["output"])], answer["usage"].clone(), true),
        (dialect, None) => streamed(dialect, answer),
    };
    let is_readable = |reply: &Reply| !reply.is_empty() && reply.iter().all(Value::is_object);
    let call = |replies: Reply| RecordedCall {
        messages: messages.clone(),
        replies,
        tools: request["tools"].clone(),
        model: request["model"].as_str().unwrap_or_default().to_owned(),
        system: system.clone(),
        usage: usage.clone(),
        interrupted: !ended,
        ..RecordedCall::default()
    };
    replies.into_iter().filter(is_readable).map(call).collect()
}

/// Reads a stream of events: replies, usage, and whether it has ended.
fn streamed(dialect: Dialect, answer: &[u8]) -> (Vec<Reply>, Value, bool) {
    let mut events = Vec::new();
    // The events before an oversized one are kept.
    let _ = SseParser::new(MAX_EVENT_BYTES).push(answer, &mut events);
    let events: Vec<Value> = events.iter().filter_map(|event| serde_json::from_str(&event.data).ok()).collect();
    match dialect {
        Dialect::Chat => chat_chunks(&events),
        Dialect::Messages => message_events(&events),
        Dialect::Responses => response_events(&events),
    }
}

/// Reads the events of a response. The last one has the whole output; without it, the items that ended and the text of
/// the one that did not are the output.
fn response_events(events: &[Value]) -> (Vec<Reply>, Value, bool) {
    let (mut items, mut text, mut end) = (Vec::new(), Value::Null, None);
    for event in events {
        match event["type"].as_str() {
            Some("response.output_text.delta") => append(&mut text, &event["delta"]),
            Some("response.output_item.done") => {
                items.push(event["item"].clone());
                text = Value::Null;
            }
            Some("response.completed" | "response.incomplete" | "response.failed") => end = Some(&event["response"]),
            _ => {}
        }
    }
    if text.is_string() {
        let part = json!({ "type": "output_text", "text": text, "annotations": [] });
        items.push(json!({ "type": "message", "role": "assistant", "content": [part] }));
    }
    let usage = end.map(|response| response["usage"].clone()).unwrap_or_default();
    let output = end.and_then(|response| response["output"].as_array()).filter(|output| !output.is_empty());
    (vec![output.cloned().unwrap_or(items)], usage, end.is_some())
}

fn append(text: &mut Value, addition: &Value) {
    match (text, addition.as_str()) {
        (Value::String(text), Some(addition)) => text.push_str(addition),
        (text, Some(addition)) => *text = Value::String(addition.to_owned()),
        (_, None) => {}
    }
}

fn chat_chunks(events: &[Value]) -> (Vec<Reply>, Value, bool) {
    let (mut messages, mut usage, mut ended) = (BTreeMap::<u64, Value>::new(), Value::Null, 0);
    for event in events {
        if event["usage"].is_object() {
            usage = event["usage"].clone();
        }
        for choice in event["choices"].as_array().into_iter().flatten() {
            ended += usize::from(choice["finish_reason"].is_string());
            let message = messages.entry(choice["index"].as_u64().unwrap_or(0));
            add_delta(message.or_insert_with(|| json!({ "role": "assistant", "content": "" })), &choice["delta"]);
        }
    }
    let has_ended = ended > 0 && ended >= messages.len();
    (messages.into_values().map(|message| vec![message]).collect(), usage, has_ended)
}

/// Adds a chunk's part of a message.
fn add_delta(message: &mut Value, delta: &Value) {
    append(&mut message["content"], &delta["content"]);
    for part in delta["tool_calls"].as_array().into_iter().flatten() {
        if message["tool_calls"].is_null() {
            message["tool_calls"] = json!([]);
        }
        let Some(calls) = message["tool_calls"].as_array_mut() else { return };
        let index = part["index"].as_u64().and_then(|index| usize::try_from(index).ok()).unwrap_or(calls.len());
        if index > calls.len() {
            continue;
        }
        if index == calls.len() {
            calls.push(json!({ "id": "", "type": "function", "function": { "name": "", "arguments": "" } }));
        }
        append(&mut calls[index]["id"], &part["id"]);
        append(&mut calls[index]["function"]["name"], &part["function"]["name"]);
        append(&mut calls[index]["function"]["arguments"], &part["function"]["arguments"]);
    }
}

fn message_events(events: &[Value]) -> (Vec<Reply>, Value, bool) {
    let (mut blocks, mut usage, mut ended) = (Vec::<Value>::new(), Value::Null, false);
    for event in events {
        match event["type"].as_str() {
            Some("message_start") => usage = event["message"]["usage"].clone(),
            Some("content_block_start") => blocks.push(event["content_block"].clone()),
            Some("content_block_delta") => {
                let Some(block) = blocks.last_mut() else { continue };
                let delta = &event["delta"];
                match delta["type"].as_str() {
                    Some("text_delta") => append(&mut block["text"], &delta["text"]),
                    Some("thinking_delta") => append(&mut block["thinking"], &delta["thinking"]),
                    Some("signature_delta") => append(&mut block["signature"], &delta["signature"]),
                    Some("input_json_delta") => append(&mut block["partial_json"], &delta["partial_json"]),
                    _ => {}
                }
            }
            Some("content_block_stop") => {
                let Some(block) = blocks.last_mut().and_then(Value::as_object_mut) else { continue };
                if let Some(json) = block.remove("partial_json")
                    && let Ok(input) = serde_json::from_str(json.as_str().unwrap_or_default())
                {
                    block.insert("input".to_owned(), input);
                }
            }
            Some("message_delta") => {
                if let (Some(usage), Some(more)) = (usage.as_object_mut(), event["usage"].as_object()) {
                    usage.extend(more.clone());
                }
            }
            Some("message_stop") => ended = true,
            _ => {}
        }
    }
    (vec![vec![json!({ "role": "assistant", "content": blocks })]], usage, ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_first(dialect: Dialect, request: &Value, answer: &[u8]) -> RecordedCall {
        read_calls(dialect, request, answer).remove(0)
    }

    #[test]
    fn a_streamed_reply_reads_as_the_whole_one() {
        let request = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] });
        let whole = json!({ "choices": [{ "message": { "role": "assistant", "content": "Hello" } }], "usage": {} });
        let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n\
            data: {\"choices\":[{\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        let whole = read_first(Dialect::Chat, &request, whole.to_string().as_bytes());
        let streamed = read_first(Dialect::Chat, &request, stream.as_bytes());
        assert_eq!(streamed.replies, whole.replies);
        assert!(!streamed.interrupted);
        let cut = read_first(Dialect::Chat, &request, &stream.as_bytes()[..50]);
        assert!(cut.interrupted);
    }

    #[test]
    fn blocks_of_anthropic_are_put_together() {
        let request = json!({ "model": "m", "system": "s", "messages": [{ "role": "user", "content": "hi" }] });
        let stream = concat!(
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}\n\n",
            "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
            "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Yes\"}}\n\n",
            "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
            "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}}\n\n",
            "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":1}\"}}\n\n",
            "data: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
            "data: {\"type\":\"message_stop\"}\n\n",
        );
        let call = read_first(Dialect::Messages, &request, stream.as_bytes());
        assert_eq!(call.replies[0]["content"][0]["text"], "Yes");
        assert_eq!(call.replies[0]["content"][1]["input"], json!({ "a": 1 }));
        assert!(!call.interrupted);
    }

    #[test]
    fn choices_are_alternatives() {
        let request = json!({ "messages": [{ "role": "user", "content": "hi" }] });
        let choice = |text: &str| json!({ "message": { "role": "assistant", "content": text } });
        let whole = json!({ "choices": [choice("a"), choice("b")] }).to_string();
        let stream = concat!(
            "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n",
        );
        for answer in [whole.as_str(), stream] {
            let calls = read_calls(Dialect::Chat, &request, answer.as_bytes());
            let replies: Vec<_> = calls.iter().map(|call| call.replies[0]["content"].clone()).collect();
            assert_eq!(replies, ["a", "b"]);
            assert!(calls.iter().all(|call| !call.interrupted));
        }
    }

    #[test]
    fn a_response_is_read_from_its_end_or_from_its_parts() {
        let request = json!({ "input": "hi" });
        let delta = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"Yes\"}\n\n";
        let item = "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"Yes\",\"annotations\":[]}]}";
        let end = format!("data: {{\"type\":\"response.completed\",\"response\":{{\"output\":[{item}]}}}}\n\n");
        let cut = read_first(Dialect::Responses, &request, delta.as_bytes());
        let whole = read_first(Dialect::Responses, &request, format!("{delta}{end}").as_bytes());
        assert_eq!((cut.interrupted, whole.interrupted), (true, false));
        assert_eq!(cut.replies, whole.replies);
        assert_eq!(read_calls(Dialect::Responses, &request, b"data: x\n\n").len(), 0);
    }
}
