//! Context: what a model would be sent at a node, with a report of its parts.

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::any_json;
use crate::{
    id::NodeId,
    serve::{
        caller::Caller,
        error::{ApiError, Result},
        extractors::{Params, Route},
        state::AppState,
    },
    session::context_of,
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(context))
}

/// Reader of the context.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct ContextParams {
    /// Name of the agent that would be asked [default: subject].
    agent: Option<String>,
    /// Context window in tokens.
    window: Option<u32>,
}

/// A prompt and its report.
#[derive(Serialize, ToSchema)]
struct ContextAnswer {
    /// Messages, or the text for a model that completes text.
    #[schema(schema_with = any_json)]
    prompt: serde_json::Value,
    /// Tokens of each part, and for each node whether it is included and why.
    #[schema(schema_with = any_json)]
    report: serde_json::Value,
}

/// Returns the prompt that an agent's model would be sent at a node, without sending it.
#[utoipa::path(get, path = "/nodes/{node}/context", tag = "context", params(("node" = NodeId, Path), ContextParams), responses((status = OK, body = ContextAnswer)))]
async fn context(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<NodeId>,
    Params(params): Params<ContextParams>,
) -> Result<Json<ContextAnswer>> {
    state
        .run(move |state| {
            state.node(&caller, id)?;
            let agent = state.agent(&caller, Some(params.agent.as_deref().unwrap_or("subject")))?;
            if state.thought_reader(&caller)?.0.is_some_and(|reader| reader != agent.id()) {
                return Err(ApiError::scope("a token limited to an agent reads that agent's prompts only"));
            }
            let mut options = state.settings.context;
            options.window = params.window.unwrap_or(options.window);
            let assembled = context_of(&state.actor(&caller)?, &agent, id, &[], options)
                .map_err(|error| ApiError::invalid(error.to_string()))?;
            let json = |value| serde_json::to_value(value).map_err(ApiError::internal);
            Ok(Json(ContextAnswer {
                prompt: serde_json::to_value(&assembled.prompt).map_err(ApiError::internal)?,
                report: json(&assembled.report)?,
            }))
        })
        .await
}
