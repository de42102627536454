//! The caller: its rights, and the names that it may use.

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    serve::{caller::Caller, error::Result, state::AppState, token::TokenScope},
    types::AgentKind,
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(me))
}

/// Rights of the caller, and the server's models.
#[derive(Serialize, ToSchema)]
struct MeAnswer {
    /// Scope of the caller: `read`, `write` or `admin`.
    #[schema(value_type = String)]
    scope: TokenScope,
    /// Project that the caller is limited to.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// Name of the acting agent.
    agent: String,
    /// Names of the agents that are models.
    writers: Vec<String>,
    /// Names of the configured models.
    models: Vec<String>,
    /// Number of the journal's last entry.
    journal: u64,
    /// Version of the server.
    version: &'static str,
}

/// Returns the caller's rights and the server's models.
#[utoipa::path(get, path = "/me", tag = "agents", responses((status = OK, body = MeAnswer)))]
async fn me(State(state): State<AppState>, caller: Caller) -> Result<Json<MeAnswer>> {
    state
        .run(move |state| {
            let snapshot = state.loom().snapshot()?;
            let agents = snapshot.agents()?.into_iter().filter(|agent| !agent.removed);
            let writers = agents.filter(|agent| agent.profile.kind == AgentKind::Model);
            Ok(Json(MeAnswer {
                scope: caller.scope,
                agent: caller.agent.clone(),
                writers: writers.map(|agent| agent.name().to_owned()).collect(),
                models: state.settings.models.clone(),
                journal: snapshot.last_seq()?,
                version: env!("CARGO_PKG_VERSION"),
                project: caller.project,
            }))
        })
        .await
}
