//! `/v1/responses`: create, stream, read, resume a stream, cancel, delete, list the input.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response, sse::Event},
};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    conversations::{self, ItemPage, ItemParams},
    item::{ItemId, item_of},
    open_model,
    response_plan::{ResponsePlan, prepare},
    response_record::{ResponseRecord, stored},
    response_request::CreateResponse,
    response_run::{self, ResponseRun},
};
use crate::{
    id::NodeId,
    provider::ToolCall,
    serve::{
        api::ServerSentEvent,
        caller::Caller,
        error::{ApiError, Result},
        event_stream,
        extractors::{Body, Params, Route},
        rate_limit::StreamGuard,
        state::AppState,
    },
    tools::Tool,
    types::Node,
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(create))
        .routes(routes!(read, delete))
        .routes(routes!(cancel))
        .routes(routes!(input_items))
}

/// Creates a response.
#[utoipa::path(post, path = "/responses", tag = "openai", request_body = CreateResponse, responses((status = OK, description = "The response, or a stream of events", content((Value = "application/json"), (ServerSentEvent = "text/event-stream")))))]
async fn create(State(state): State<AppState>, caller: Caller, Body(body): Body<CreateResponse>) -> Result<Response> {
    let (model, author) = open_model::open(&state, &caller, body.model.as_deref(), body.store.unwrap_or(true)).await?;
    let slot = body.stream.unwrap_or(false).then(|| state.rates.open_stream(&caller)).transpose()?;
    let background = body.background.unwrap_or(false);
    if background && body.store == Some(false) {
        return Err(ApiError::invalid("a response in the background must be stored"));
    }
    let name = body.model.clone().unwrap_or_else(|| model.reference().to_owned());
    let is_stored = body.store.unwrap_or(true);
    let mut lock = None;
    if let Some(id) = body.conversation_id()?.filter(|_| is_stored) {
        // Only those who may see a conversation lock it, or learn that it is locked.
        let reader = caller.clone();
        state.read(move |state| conversations::find(state, &reader, id).map(drop)).await?;
        lock = Some(state.responses.lock_conversation(id)?);
    }
    let plan = {
        let (model, sampling) = (Arc::clone(&model), body.sampling());
        state
            .run(move |state| {
                let actor = state.loom().actor(&author);
                prepare(state, &caller, &actor, body, (model, sampling, name))
            })
            .await?
    };
    let run = response_run::start(&state, ResponsePlan { lock, ..plan });
    if let Some(slot) = slot {
        return Ok(event_stream(run, 0, slot).into_response());
    }
    if !background {
        run.ended().await;
    }
    Ok(Json(run.response()).into_response())
}

/// Start of a resumed stream.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ResumeParams {
    /// True to stream the events.
    #[serde(default)]
    stream: bool,
    /// Number of the last event that the client has.
    starting_after: Option<u64>,
}

/// Returns a response, or streams its events from a number on.
#[utoipa::path(get, path = "/responses/{id}", tag = "openai", params(("id" = String, Path), ResumeParams), responses((status = OK, description = "The response, or a stream of events", content((Value = "application/json"), (ServerSentEvent = "text/event-stream")))))]
async fn read(
    State(state): State<AppState>,
    caller: Caller,
    Route(text): Route<String>,
    Params(params): Params<ResumeParams>,
) -> Result<Response> {
    let id = ItemId::parse("response", &text)?;
    let from = params.starting_after.map_or(0, |after| usize::try_from(after).unwrap_or(usize::MAX).saturating_add(1));
    if let Some(run) = state.responses.get(&caller, id) {
        let reader = caller.clone();
        let is_pruned =
            move |state: &AppState| Ok(state.node(&reader, id).is_ok_and(|node| node.state.hidden_by.is_some()));
        if state.read(is_pruned).await? {
            return Err(ApiError::not_found("response", text));
        }
        return Ok(match params.stream {
            true => event_stream(run, from, state.rates.open_stream(&caller)?).into_response(),
            false => Json(run.response()).into_response(),
        });
    }
    let (record, nodes) = state.run(move |state| stored(state, &caller, id)).await?;
    if !params.stream {
        let output: Vec<Value> = nodes.iter().map(item_of).collect();
        return Ok(Json(record.response(&record.status, &output)).into_response());
    }
    let (text, calls) = text_and_calls(&record, &nodes);
    let events = response_run::replay(&record, &text, &calls).into_iter().skip(from);
    Ok(event_stream::answer(stream::iter(events.map(|event| sse(&event)))).into_response())
}

fn text_and_calls(record: &ResponseRecord, nodes: &[Node]) -> (String, Vec<(NodeId, ToolCall)>) {
    let text = nodes.iter().find(|node| node.id == record.id && !record.deltas.is_empty());
    let calls = nodes.iter().filter_map(|node| {
        let item = item_of(node);
        let text = |field: &str| item[field].as_str().unwrap_or_default().to_owned();
        let call = ToolCall { id: text("call_id"), name: text("name"), arguments: text("arguments") };
        (item["type"] == "function_call").then_some((node.id, call))
    });
    (text.map(|node| node.content.clone()).unwrap_or_default(), calls.collect())
}

/// Streams the events of a run from a number on, until its end. `slot` counts the stream.
fn event_stream(run: Arc<ResponseRun>, from: usize, slot: StreamGuard) -> impl IntoResponse {
    let progress = run.progress();
    let events = stream::unfold(
        (run, progress, from, Vec::new().into_iter(), slot),
        |(run, mut progress, mut from, mut ready, slot)| async move {
            loop {
                if let Some(event) = ready.next() {
                    return Some((sse(&event), (run, progress, from, ready, slot)));
                }
                let events = run.events(from);
                if events.is_empty() {
                    let ended = progress.borrow_and_update().1;
                    if ended && run.events(from).is_empty() {
                        return None;
                    }
                    if !ended && progress.changed().await.is_err() {
                        return None;
                    }
                    continue;
                }
                from += events.len();
                ready = events.into_iter();
            }
        },
    );
    event_stream::answer(events)
}

fn sse(event: &Value) -> Event {
    let kind = event["type"].as_str().unwrap_or_default();
    Event::default().event(kind).json_data(event).unwrap_or_default()
}

/// Cancels a running response. The text so far is stored.
#[utoipa::path(post, path = "/responses/{id}/cancel", tag = "openai", params(("id" = String, Path)), responses((status = OK, body = Value)))]
async fn cancel(State(state): State<AppState>, caller: Caller, Route(text): Route<String>) -> Result<Json<Value>> {
    let id = ItemId::parse("response", &text)?;
    if let Some(run) = state.responses.get(&caller, id) {
        state.read(move |state| state.actor_for(&caller, Tool::Continue).map(drop)).await?;
        run.cancel.cancel();
        run.ended().await;
        return Ok(Json(run.response()));
    }
    let (record, nodes) = state.run(move |state| stored(state, &caller, id)).await?;
    let output: Vec<Value> = nodes.iter().map(item_of).collect();
    Ok(Json(record.response(&record.status, &output)))
}

/// Deletes a response: prunes its nodes. They can be restored.
#[utoipa::path(delete, path = "/responses/{id}", tag = "openai", params(("id" = String, Path)), responses((status = OK, body = Value)))]
async fn delete(State(state): State<AppState>, caller: Caller, Route(text): Route<String>) -> Result<Json<Value>> {
    let id: NodeId = ItemId::parse("response", &text)?;
    state
        .run(move |state| {
            stored(state, &caller, id)?;
            state.actor_for(&caller, Tool::Prune)?.prune(id)?;
            state.responses.remove(id);
            Ok(Json(json!({ "id": text, "object": "response.deleted", "deleted": true })))
        })
        .await
}

/// Lists the items before a response's output.
#[utoipa::path(get, path = "/responses/{id}/input_items", tag = "openai", params(("id" = String, Path), ItemParams), responses((status = OK, body = ItemPage)))]
async fn input_items(
    State(state): State<AppState>,
    caller: Caller,
    Route(text): Route<String>,
    Params(params): Params<ItemParams>,
) -> Result<Json<ItemPage>> {
    let id = ItemId::parse("response", &text)?;
    state
        .run(move |state| {
            let (record, _) = stored(state, &caller, id)?;
            let parent = record.parent.ok_or_else(|| ApiError::not_found("response", text))?;
            let items = conversations::items_to(&*state.loom().snapshot()?, parent, None)?;
            params.page(items).map(Json)
        })
        .await
}
