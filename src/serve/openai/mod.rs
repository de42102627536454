//! OpenAI's APIs under `/v1`, stored as trees: Responses, Conversations, Chat Completions, Models.
//!
//! A conversation is a session: a moving position in a tree. A response is a chain of nodes; `previous_response_id` names
//! its first node. Each item is a node that holds the item as it came, so unknown items are returned unchanged.

mod chat;
mod chat_request;
mod conversations;
mod event_sequence;
mod item;
mod model;
mod response_request;
mod response_run;
mod responses;
mod stored_chat;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    access::Caller,
    error::{ApiError, Result},
    extract::Route,
    state::AppState,
};
use crate::types::AgentKind;

pub(super) use item::message_text;
pub(super) use response_run::ResponseRuns;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().nest(
        "/v1",
        OpenApiRouter::new()
            .merge(responses::routes())
            .merge(conversations::routes())
            .merge(chat::routes())
            .routes(routes!(models))
            .routes(routes!(model_entry)),
    )
}

/// A name that a request's `model` may have.
#[derive(Serialize, ToSchema)]
struct ModelEntry {
    /// Name that a request's `model` may have.
    id: String,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
}

/// Models.
#[derive(Serialize, ToSchema)]
struct ModelList {
    object: &'static str,
    data: Vec<ModelEntry>,
}

/// Lists the configured models and the agents that are models: a request can name either.
#[utoipa::path(get, path = "/models", tag = "openai", responses((status = OK, body = ModelList)))]
async fn models(State(state): State<AppState>, _: Caller) -> Result<Json<ModelList>> {
    Ok(Json(ModelList { object: "list", data: state.run(entries).await? }))
}

/// Returns a configured model, or an agent that is a model.
#[utoipa::path(get, path = "/models/{model}", tag = "openai", params(("model" = String, Path)), responses((status = OK, body = ModelEntry)))]
async fn model_entry(State(state): State<AppState>, _: Caller, Route(name): Route<String>) -> Result<Json<ModelEntry>> {
    let found = state.run(entries).await?.into_iter().find(|entry| entry.id == name);
    found.map(Json).ok_or_else(|| ApiError::not_found("model", name))
}

fn entries(state: &AppState) -> Result<Vec<ModelEntry>> {
    let agents = state.loom().snapshot()?.agents()?;
    let agents = agents.into_iter().filter(|agent| agent.profile.kind == AgentKind::Model && !agent.removed);
    let mut names: Vec<String> =
        state.settings.models.iter().cloned().chain(agents.map(|agent| agent.profile.name)).collect();
    names.sort();
    names.dedup();
    let entry = |id| ModelEntry { id, object: "model", created: 0, owned_by: "loomtree" };
    Ok(names.into_iter().map(entry).collect())
}
