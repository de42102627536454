//! OpenAI's APIs under `/v1`, stored as trees: Responses, Conversations, Chat Completions, Models.
//!
//! A conversation is a session: a moving position in a tree. A response is a chain of nodes; `previous_response_id` names
//! its first node. Each item is a node that holds the item as it came, so unknown items are returned unchanged.

mod chat;
mod conversations;
mod events;
mod item;
mod model;
mod responses;
mod run;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{access::Caller, error::Result, state::AppState};

pub(super) use item::message_text;
pub(super) use run::ResponseRuns;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().nest(
        "/v1",
        OpenApiRouter::new()
            .merge(responses::routes())
            .merge(conversations::routes())
            .merge(chat::routes())
            .routes(routes!(models)),
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

/// Lists the configured models and the agents, whose models a request can use too.
#[utoipa::path(get, path = "/models", tag = "openai", responses((status = OK, body = ModelList)))]
async fn models(State(state): State<AppState>, _: Caller) -> Result<Json<ModelList>> {
    let entry = |id: &String| ModelEntry { id: id.clone(), object: "model", created: 0, owned_by: "loomtree" };
    Ok(Json(ModelList { object: "list", data: state.settings.models.iter().map(entry).collect() }))
}
