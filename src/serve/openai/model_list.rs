//! The list of models that a request can name.

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    serve::{
        caller::Caller,
        error::{ApiError, Result},
        extractors::Route,
        state::AppState,
    },
    types::AgentKind,
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(models)).routes(routes!(model_entry))
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
