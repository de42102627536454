//! `/v1/chat/completions`: the client sends the whole conversation; the engine stores it as a path and branches where it
//! differs from what is stored.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response, sse::Event},
};
use futures_util::{
    StreamExt as _,
    stream::{BoxStream, SelectAll},
};
use serde_json::{Value, json};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    chat_request::CompletionBody,
    open_model,
    stored_chat::{StoredChat, calls_json},
};
use crate::{
    provider::{Finish, FinishReason, Generation, ProviderError, StreamEvent},
    serve::{
        api::ServerSentEvent,
        caller::Caller,
        error::{ApiError, Result},
        event_stream,
        extractors::Body,
        rate_limit::StreamGuard,
        state::AppState,
    },
};

/// Most replies to one request.
const MAX_CHOICES: usize = 10;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(complete))
}

/// Completes a conversation.
#[utoipa::path(post, path = "/chat/completions", tag = "openai", request_body = CompletionBody, responses((status = OK, description = "The completion, or a stream of chunks", content((Value = "application/json"), (ServerSentEvent = "text/event-stream")))))]
async fn complete(State(state): State<AppState>, caller: Caller, Body(body): Body<CompletionBody>) -> Result<Response> {
    let request = body.request()?;
    let count = body.n.unwrap_or(1);
    if !(1..=MAX_CHOICES).contains(&count) {
        return Err(ApiError::invalid("n is not between 1 and 10"));
    }
    let (model, author) = open_model::open(&state, &caller, body.model.as_deref(), body.store.unwrap_or(true)).await?;
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
        let (sender, answer) = event_stream::from_task();
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
        answer.into_response()
    }
}
