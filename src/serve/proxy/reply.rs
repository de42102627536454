//! Reading of recorded calls: messages of a request, and the reply from a whole answer or from its stream.

use serde_json::{Value, json};

use crate::{provider::sse::SseParser, serve::record::RecordedCall};

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

/// Returns the call; `None` if the answer cannot be read.
pub(super) fn read_call(dialect: Dialect, request: &Value, answer: &[u8]) -> Option<RecordedCall> {
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
        (Dialect::Chat, Some(answer)) => (vec![answer["choices"][0]["message"].clone()], answer["usage"].clone(), true),
        (Dialect::Messages, Some(answer)) => {
            (vec![json!({ "role": "assistant", "content": answer["content"] })], answer["usage"].clone(), true)
        }
        (Dialect::Responses, Some(answer)) => (list(&answer["output"]), answer["usage"].clone(), true),
        (dialect, None) => streamed(dialect, answer)?,
    };
    let replies: Vec<Value> = replies.into_iter().filter(Value::is_object).collect();
    (!replies.is_empty()).then(|| RecordedCall {
        messages,
        replies,
        tools: request["tools"].clone(),
        model: request["model"].as_str().unwrap_or_default().to_owned(),
        system,
        usage,
        interrupted: !ended,
        ..RecordedCall::default()
    })
}

/// Reads a stream of events: replies, usage, and whether it has ended.
fn streamed(dialect: Dialect, answer: &[u8]) -> Option<(Vec<Value>, Value, bool)> {
    let mut events = Vec::new();
    SseParser::new(MAX_EVENT_BYTES).push(answer, &mut events).ok()?;
    let events: Vec<Value> = events.iter().filter_map(|event| serde_json::from_str(&event.data).ok()).collect();
    match dialect {
        Dialect::Chat => Some(chat_chunks(&events)),
        Dialect::Messages => Some(message_events(&events)),
        Dialect::Responses => {
            let end = events.iter().rev().find(|event| {
                matches!(event["type"].as_str(), Some("response.completed" | "response.incomplete" | "response.failed"))
            });
            let done = |event: &&Value| event["type"] == "response.output_item.done";
            let output = events.iter().filter(done).map(|event| event["item"].clone()).collect();
            Some((output, end.map(|end| end["response"]["usage"].clone()).unwrap_or_default(), end.is_some()))
        }
    }
}

fn append(text: &mut Value, addition: &Value) {
    if let Some(addition) = addition.as_str() {
        let joined = format!("{}{addition}", text.as_str().unwrap_or_default());
        *text = Value::String(joined);
    }
}

fn chat_chunks(events: &[Value]) -> (Vec<Value>, Value, bool) {
    let mut message = json!({ "role": "assistant", "content": "" });
    let (mut calls, mut usage, mut ended) = (Vec::<Value>::new(), Value::Null, false);
    for event in events {
        if event["usage"].is_object() {
            usage = event["usage"].clone();
        }
        let choice = &event["choices"][0];
        ended |= choice["finish_reason"].is_string();
        append(&mut message["content"], &choice["delta"]["content"]);
        for delta in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let index = delta["index"].as_u64().and_then(|index| usize::try_from(index).ok()).unwrap_or(calls.len());
            if index > calls.len() {
                continue;
            }
            if index == calls.len() {
                calls.push(json!({ "id": "", "type": "function", "function": { "name": "", "arguments": "" } }));
            }
            append(&mut calls[index]["id"], &delta["id"]);
            append(&mut calls[index]["function"]["name"], &delta["function"]["name"]);
            append(&mut calls[index]["function"]["arguments"], &delta["function"]["arguments"]);
        }
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    (vec![message], usage, ended)
}

fn message_events(events: &[Value]) -> (Vec<Value>, Value, bool) {
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
    (vec![json!({ "role": "assistant", "content": blocks })], usage, ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_streamed_reply_reads_as_the_whole_one() {
        let request = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] });
        let whole = json!({ "choices": [{ "message": { "role": "assistant", "content": "Hello" } }], "usage": {} });
        let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n\
            data: {\"choices\":[{\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        let whole = read_call(Dialect::Chat, &request, whole.to_string().as_bytes()).unwrap();
        let streamed = read_call(Dialect::Chat, &request, stream.as_bytes()).unwrap();
        assert_eq!(streamed.replies, whole.replies);
        assert!(!streamed.interrupted);
        let cut = read_call(Dialect::Chat, &request, &stream.as_bytes()[..50]).unwrap();
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
        let call = read_call(Dialect::Messages, &request, stream.as_bytes()).unwrap();
        assert_eq!(call.replies[0]["content"][0]["text"], "Yes");
        assert_eq!(call.replies[0]["content"][1]["input"], json!({ "a": 1 }));
        assert!(!call.interrupted);
    }
}
