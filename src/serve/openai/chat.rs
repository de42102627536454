//! `/v1/chat/completions`: the client sends the whole conversation; the engine stores it as a path and branches where it
//! differs from what is stored.

use std::convert::Infallible;

use axum::{
    Json,
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{item::message_text, model};
use crate::{
    provider::{
        Finish, FinishReason, Generation, Message, MessagePart, Prompt, Request, Role, Sampling, StreamEvent, ToolCall,
        ToolDefinition,
    },
    serve::{
        access::{Caller, StreamGuard},
        api::{KEEP_ALIVE, any_json},
        error::{ApiError, Result},
        extract::Body,
        record::{RecordedCall, record},
        state::AppState,
    },
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(complete))
}

/// A request for a completion. Other fields are ignored.
#[derive(Deserialize, ToSchema)]
struct CompletionBody {
    /// Name of an agent, or reference of a model.
    model: Option<String>,
    /// The whole conversation.
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Value>,
    /// True to stream chunks.
    #[serde(default)]
    stream: bool,
    /// False to store nothing [default: true].
    store: Option<bool>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    temperature: Option<f32>,
    seed: Option<u64>,
    /// Functions that the model may call.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    tools: Vec<Value>,
    #[serde(default)]
    #[schema(schema_with = any_json)]
    stop: Value,
}

impl CompletionBody {
    fn request(&self) -> Result<Request> {
        let messages = self.messages.iter().map(message).collect::<Result<Vec<_>>>()?;
        if messages.is_empty() {
            return Err(ApiError::invalid("messages is empty"));
        }
        let stop = match &self.stop {
            Value::String(stop) => vec![stop.clone()],
            Value::Array(stops) => stops.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        let sampling = Sampling {
            temperature: self.temperature,
            max_tokens: self.max_completion_tokens.or(self.max_tokens),
            seed: self.seed,
            stop,
            ..Sampling::default()
        };
        let definition = |tool: &Value| ToolDefinition {
            name: tool["function"]["name"].as_str().unwrap_or_default().to_owned(),
            description: tool["function"]["description"].as_str().unwrap_or_default().to_owned(),
            parameters: tool["function"]["parameters"].clone(),
        };
        let tools = self.tools.iter().filter(|tool| tool["type"] == "function").map(definition).collect();
        Ok(Request { tools, sampling, ..Request::new(Prompt::Chat(messages)) })
    }
}

fn message(message: &Value) -> Result<Message> {
    let text = message_text(&message["content"]);
    let role = match message["role"].as_str() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => {
            let call = message["tool_call_id"].as_str().unwrap_or_default().to_owned();
            return Ok(Message {
                role: Role::User,
                parts: vec![MessagePart::Result { call, text, failed: false }],
                cache: false,
            });
        }
        _ => return Err(ApiError::invalid("a message's role is none of: system, developer, user, assistant, tool")),
    };
    let mut message_parts = vec![MessagePart::Text(text)];
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, function) = (text(&call["id"]), &call["function"]);
        let call = ToolCall { id, name: text(&function["name"]), arguments: text(&function["arguments"]) };
        message_parts.push(MessagePart::Call(call));
    }
    Ok(Message { role, parts: message_parts, cache: false })
}

/// Completes a conversation.
#[utoipa::path(post, path = "/chat/completions", tag = "openai", request_body = CompletionBody, responses((status = OK, description = "The completion, or a stream of chunks", content((Value = "application/json"), (String = "text/event-stream")))))]
async fn complete(State(state): State<AppState>, caller: Caller, Body(body): Body<CompletionBody>) -> Result<Response> {
    let request = body.request()?;
    let (model, author) = model::open(&state, &caller, body.model.as_deref()).await?;
    let completion = Completion {
        id: format!("chatcmpl-{}", state.loom().node_id()),
        created: state.loom().now().as_millis() / 1_000,
        model: body.model.clone().unwrap_or_else(|| model.reference().to_owned()),
        text: String::new(),
    };
    let generation = model.stream(request);
    let slot = body.stream.then(|| state.rates.open_stream(&caller)).transpose()?;
    let stored = body.store.unwrap_or(true).then(|| StoredChat { state, caller, author: author.id(), body });
    if let Some(slot) = slot {
        return Ok(completion.stream(generation, stored, slot));
    }
    completion.whole(generation, stored).await
}

/// A completion in progress.
struct Completion {
    id: String,
    created: i64,
    model: String,
    text: String,
}

/// Request and writer of a completion that is stored when it ends.
struct StoredChat {
    state: AppState,
    caller: Caller,
    author: crate::id::AgentId,
    body: CompletionBody,
}

impl StoredChat {
    /// Stores messages and reply. A failure is logged: the client has its reply.
    async fn store(self, text: &str, finish: &Finish) {
        let mut reply = json!({ "role": "assistant", "content": text });
        if !finish.calls.is_empty() {
            reply["tool_calls"] = calls_json(&finish.calls);
        }
        if let Some(usage) = &finish.usage {
            self.state.metrics.used(usage.prompt, usage.output);
        }
        let call = RecordedCall {
            messages: self.body.messages,
            replies: vec![reply],
            tools: Value::Array(self.body.tools),
            model: self.body.model.unwrap_or_default(),
            author: Some(self.author),
            ..RecordedCall::default()
        };
        let caller = self.caller;
        if let Err(error) = self.state.run(move |state| record(state, &caller, call)).await {
            tracing::error!(error = error.message(), "a completion was not stored");
        }
    }
}

fn calls_json(calls: &[ToolCall]) -> Value {
    calls
        .iter()
        .map(|call| {
            let function = json!({ "name": call.name, "arguments": call.arguments });
            json!({ "id": call.id, "type": "function", "function": function })
        })
        .collect()
}

fn finish_word(finish: &Finish) -> &'static str {
    match finish.reason {
        _ if !finish.calls.is_empty() => "tool_calls",
        FinishReason::Length => "length",
        FinishReason::Refused => "content_filter",
        _ => "stop",
    }
}

impl Completion {
    async fn whole(mut self, mut generation: Generation, stored: Option<StoredChat>) -> Result<Response> {
        let finish = loop {
            match generation.next().await {
                Some(Ok(StreamEvent::Text(text))) => self.text.push_str(&text),
                Some(Ok(StreamEvent::Done(finish))) => break finish,
                Some(Err(error)) => return Err(error.into()),
                None => break Finish::new(FinishReason::Interrupted),
            }
        };
        let mut message = json!({ "role": "assistant", "content": self.text, "refusal": null });
        if !finish.calls.is_empty() {
            message["tool_calls"] = calls_json(&finish.calls);
        }
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish_word(&finish), "logprobs": null });
        let mut answer = json!({
            "id": self.id, "object": "chat.completion", "created": self.created, "model": self.model,
            "choices": [choice],
        });
        if let Some(usage) = &finish.usage {
            answer["usage"] = json!({
                "prompt_tokens": usage.prompt, "completion_tokens": usage.output,
                "total_tokens": usage.prompt + usage.output,
            });
        }
        if let Some(stored) = stored {
            stored.store(&self.text, &finish).await;
        }
        Ok(Json(answer).into_response())
    }

    fn chunk(&self, delta: &Value, finish: Option<&str>) -> Event {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish, "logprobs": null });
        let chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model,
            "choices": [choice],
        });
        Event::default().json_data(chunk).unwrap_or_default()
    }

    /// Streams chunks. The task continues when the client disconnects, so the reply is stored.
    fn stream(mut self, mut generation: Generation, stored: Option<StoredChat>, slot: StreamGuard) -> Response {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            let send = |event| drop(sender.send(event));
            send(self.chunk(&json!({ "role": "assistant", "content": "" }), None));
            let finish = loop {
                match generation.next().await {
                    Some(Ok(StreamEvent::Text(text))) => {
                        send(self.chunk(&json!({ "content": text }), None));
                        self.text.push_str(&text);
                    }
                    Some(Ok(StreamEvent::Done(finish))) => break finish,
                    Some(Err(error)) => {
                        let error = json!({ "error": { "message": error.to_string(), "type": "server_error" } });
                        send(Event::default().json_data(error).unwrap_or_default());
                        return;
                    }
                    None => break Finish::new(FinishReason::Interrupted),
                }
            };
            if !finish.calls.is_empty() {
                let mut calls = calls_json(&finish.calls);
                for (index, call) in calls.as_array_mut().into_iter().flatten().enumerate() {
                    call["index"] = json!(index);
                }
                send(self.chunk(&json!({ "tool_calls": calls }), None));
            }
            send(self.chunk(&json!({}), Some(finish_word(&finish))));
            // Stored first: the client's next call continues it.
            if let Some(stored) = stored {
                stored.store(&self.text, &finish).await;
            }
            send(Event::default().data("[DONE]"));
            drop(slot);
        });
        let events = stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|event| (Ok::<_, Infallible>(event), receiver))
        });
        Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
    }
}
