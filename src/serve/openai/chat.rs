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
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream, SelectAll},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    item::{message_text, text_of_part},
    model,
};
use crate::{
    provider::{
        Finish, FinishReason, Generation, Message, MessagePart, Prompt, ProviderError, Request, Role, Sampling,
        StreamEvent, ToolCall, ToolDefinition,
    },
    serve::{
        access::{Caller, StreamGuard},
        api::{KEEP_ALIVE, ServerSentEvent, any_json},
        call_recorder::{RecordedCall, record},
        error::{ApiError, Result},
        extract::Body,
        state::AppState,
    },
    session::GenerationMetadata,
};

/// Most replies to one request.
const MAX_CHOICES: usize = 10;

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
    /// Number of replies [default: 1; at most 10].
    n: Option<usize>,
    /// True to stream chunks.
    #[serde(default)]
    stream: bool,
    /// `{"include_usage": true}` adds a last chunk with the tokens.
    #[serde(default)]
    #[schema(schema_with = any_json)]
    stream_options: Value,
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
    /// `auto` or `none`; other choices are refused.
    #[serde(default)]
    #[schema(schema_with = any_json)]
    tool_choice: Value,
    /// `{"type": "text"}`; other formats are refused.
    #[serde(default)]
    #[schema(schema_with = any_json)]
    response_format: Value,
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
        let offers_tools = model::check_supported(&self.tool_choice, &self.response_format)?;
        let functions = self.tools.iter().filter(|tool| offers_tools && tool["type"] == "function");
        let tools = functions.map(definition).collect();
        Ok(Request { tools, sampling, ..Request::new(Prompt::Chat(messages)) })
    }
}

/// Returns the text of a message for a model.
///
/// # Errors
/// If a part is no text, such as an image: no model would be sent it.
fn text_for_model(content: &Value) -> Result<String> {
    match content {
        Value::Null | Value::String(_) => {}
        Value::Array(parts) => {
            if let Some(other) = parts.iter().find(|part| text_of_part(part).is_none()) {
                let kind = other["type"].as_str().unwrap_or("unknown");
                return Err(ApiError::invalid(format!("content of the type {kind:?} is not supported, only text")));
            }
        }
        _ => return Err(ApiError::invalid("content must be a text or a list of parts")),
    }
    Ok(message_text(content))
}

fn message(message: &Value) -> Result<Message> {
    let text = text_for_model(&message["content"])?;
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
#[utoipa::path(post, path = "/chat/completions", tag = "openai", request_body = CompletionBody, responses((status = OK, description = "The completion, or a stream of chunks", content((Value = "application/json"), (ServerSentEvent = "text/event-stream")))))]
async fn complete(State(state): State<AppState>, caller: Caller, Body(body): Body<CompletionBody>) -> Result<Response> {
    let request = body.request()?;
    let count = body.n.unwrap_or(1);
    if !(1..=MAX_CHOICES).contains(&count) {
        return Err(ApiError::invalid("n is not between 1 and 10"));
    }
    let (model, author) = model::open(&state, &caller, body.model.as_deref(), body.store.unwrap_or(true)).await?;
    let completion = Completion {
        id: format!("chatcmpl-{}", state.loom().node_id()),
        created: state.loom().now().as_millis() / 1_000,
        model: body.model.clone().unwrap_or_else(|| model.reference().to_owned()),
        with_usage: body.stream_options["include_usage"] == true,
        state: state.clone(),
    };
    let slot = body.stream.then(|| state.rates.open_stream(&caller)).transpose()?;
    let choices = Choices::new(model.stream_n(request, count));
    let reference = model.reference().to_owned();
    let stored = body.store.unwrap_or(true).then(|| StoredChat { state, caller, author: author.id(), reference, body });
    if let Some(slot) = slot {
        return Ok(completion.stream(choices, stored, slot));
    }
    // In a task, a completion that outlasts the request is stored.
    tokio::spawn(completion.whole(choices, stored)).await.map_err(ApiError::internal)?
}

/// Replies to one request while they are received side by side.
struct Choices {
    generations: SelectAll<BoxStream<'static, (usize, std::result::Result<StreamEvent, ProviderError>)>>,
    replies: Vec<Choice>,
}

/// A reply, as far as it has been received.
#[derive(Default)]
struct Choice {
    text: String,
    finish: Option<Finish>,
}

impl Choices {
    fn new(generations: Vec<Generation>) -> Self {
        let replies = generations.iter().map(|_| Choice::default()).collect();
        let numbered = |(index, generation): (usize, Generation)| generation.map(move |event| (index, event)).boxed();
        Self { generations: generations.into_iter().enumerate().map(numbered).collect(), replies }
    }

    /// Returns the next text and the index of its reply; `None` after the last.
    async fn next(&mut self) -> std::result::Result<Option<(usize, String)>, ProviderError> {
        while let Some((index, event)) = self.generations.next().await {
            match event? {
                StreamEvent::Text(text) => {
                    self.replies[index].text.push_str(&text);
                    return Ok(Some((index, text)));
                }
                StreamEvent::Done(finish) => self.replies[index].finish = Some(finish),
            }
        }
        Ok(None)
    }

    /// Returns text and end of each reply. A stream that ended without an end was interrupted.
    fn ended(self) -> Vec<(String, Finish)> {
        let end =
            |choice: Choice| (choice.text, choice.finish.unwrap_or_else(|| Finish::new(FinishReason::Interrupted)));
        self.replies.into_iter().map(end).collect()
    }
}

/// Returns the tokens of all replies together; null if the provider reported none.
fn usage(replies: &[(String, Finish)]) -> Value {
    let reported: Vec<_> = replies.iter().filter_map(|(_, finish)| finish.usage.as_ref()).collect();
    if reported.is_empty() {
        return Value::Null;
    }
    let prompt: u64 = reported.iter().map(|usage| usage.prompt).sum();
    let output: u64 = reported.iter().map(|usage| usage.output).sum();
    json!({ "prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output })
}

/// Fields that a completion and its chunks share.
struct Completion {
    id: String,
    created: i64,
    model: String,
    /// True if the stream ends with a chunk that has the tokens.
    with_usage: bool,
    state: AppState,
}

/// Request and writer of a completion that is stored when it ends.
struct StoredChat {
    state: AppState,
    caller: Caller,
    author: crate::id::AgentId,
    /// Reference of the model.
    reference: String,
    body: CompletionBody,
}

impl StoredChat {
    /// Stores messages and replies, which are siblings, without replies of which nothing came. A failure is logged: the
    /// client has its replies.
    async fn store(self, replies: &[(String, Finish)]) {
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
    /// Returns text and end of each reply, and counts their tokens.
    fn ended(&self, choices: Choices) -> Vec<(String, Finish)> {
        let replies = choices.ended();
        for usage in replies.iter().filter_map(|(_, finish)| finish.usage.as_ref()) {
            self.state.metrics.used(usage.prompt, usage.output);
        }
        replies
    }

    async fn whole(self, mut choices: Choices, stored: Option<StoredChat>) -> Result<Response> {
        let mut failure = None;
        while failure.is_none() {
            match choices.next().await {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => failure = Some(error),
            }
        }
        let replies = self.ended(choices);
        if let Some(error) = failure {
            if let Some(stored) = stored {
                stored.store(&replies).await;
            }
            return Err(error.into());
        }
        let choice = |(index, (text, finish)): (usize, &(String, Finish))| {
            let mut message = json!({ "role": "assistant", "content": text, "refusal": null });
            if !finish.calls.is_empty() {
                message["tool_calls"] = calls_json(&finish.calls);
            }
            json!({ "index": index, "message": message, "finish_reason": finish_word(finish), "logprobs": null })
        };
        let mut answer = json!({
            "id": self.id, "object": "chat.completion", "created": self.created, "model": self.model,
            "choices": replies.iter().enumerate().map(choice).collect::<Value>(),
        });
        let usage = usage(&replies);
        if !usage.is_null() {
            answer["usage"] = usage;
        }
        if let Some(stored) = stored {
            stored.store(&replies).await;
        }
        Ok(Json(answer).into_response())
    }

    /// Builds a chunk with a part of a reply, or of none.
    fn chunk(&self, choices: &Value, usage: &Value) -> Event {
        let mut chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model,
            "choices": choices,
        });
        if self.with_usage {
            chunk["usage"] = usage.clone();
        }
        Event::default().json_data(chunk).unwrap_or_default()
    }

    fn delta(&self, index: usize, delta: &Value, finish: Option<&str>) -> Event {
        let choice = json!({ "index": index, "delta": delta, "finish_reason": finish, "logprobs": null });
        self.chunk(&json!([choice]), &Value::Null)
    }

    /// Streams chunks. The task continues when the client disconnects, so the replies are stored.
    fn stream(self, mut choices: Choices, stored: Option<StoredChat>, slot: StreamGuard) -> Response {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            let send = |event| drop(sender.send(event));
            for index in 0..choices.replies.len() {
                send(self.delta(index, &json!({ "role": "assistant", "content": "" }), None));
            }
            loop {
                match choices.next().await {
                    Ok(Some((index, text))) => send(self.delta(index, &json!({ "content": text }), None)),
                    Ok(None) => break,
                    Err(error) => {
                        let error = json!({ "error": { "message": error.to_string(), "type": "server_error" } });
                        send(Event::default().json_data(error).unwrap_or_default());
                        if let Some(stored) = stored {
                            stored.store(&self.ended(choices)).await;
                        }
                        return;
                    }
                }
            }
            let replies = self.ended(choices);
            for (index, (_, finish)) in replies.iter().enumerate() {
                if !finish.calls.is_empty() {
                    let mut calls = calls_json(&finish.calls);
                    for (number, call) in calls.as_array_mut().into_iter().flatten().enumerate() {
                        call["index"] = json!(number);
                    }
                    send(self.delta(index, &json!({ "tool_calls": calls }), None));
                }
                send(self.delta(index, &json!({}), Some(finish_word(finish))));
            }
            if self.with_usage {
                send(self.chunk(&json!([]), &usage(&replies)));
            }
            // Stored first: the client's next call continues it.
            if let Some(stored) = stored {
                stored.store(&replies).await;
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
