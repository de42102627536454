//! Approvals: actions of agents that wait for a person's decision. Deciding needs a token of scope admin.

use axum::{Json, extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    serve::{
        approval::WaitingApproval,
        caller::{AdminCaller, Caller},
        error::{ApiError, Result},
        extractors::{Body, Route},
        state::AppState,
    },
    session::Decision,
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_approvals)).routes(routes!(decide))
}

/// Waiting approvals.
#[derive(Serialize, ToSchema)]
struct ApprovalList {
    data: Vec<WaitingApproval>,
}

/// True if the caller may see an approval: any, or those of its project's trees.
fn is_visible(state: &AppState, caller: &Caller, waiting: &WaitingApproval) -> bool {
    caller.project.is_none() || waiting.node.is_some_and(|node| state.node(caller, node).is_ok())
}

/// Lists the actions that wait for a decision, the oldest first.
#[utoipa::path(get, path = "/approvals", tag = "approvals", responses((status = OK, body = ApprovalList)))]
async fn list_approvals(State(state): State<AppState>, AdminCaller(caller): AdminCaller) -> Result<Json<ApprovalList>> {
    state
        .run(move |state| {
            let mut data = state.settings.approvals.list();
            data.retain(|waiting| is_visible(state, &caller, waiting));
            Ok(Json(ApprovalList { data }))
        })
        .await
}

/// Answer of a person to an approval.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DecisionBody {
    /// True approves exactly this action once.
    approve: bool,
    /// True, with `approve`, also approves what the field `always` of the approval describes, until the server ends.
    #[serde(default)]
    always: bool,
    /// Reason of a refusal, for the agent.
    reason: Option<String>,
}

/// Approves or refuses an action.
#[utoipa::path(post, path = "/approvals/{id}", tag = "approvals", params(("id" = u64, Path)), request_body = DecisionBody, responses((status = NO_CONTENT, description = "Decided")))]
async fn decide(
    State(state): State<AppState>,
    AdminCaller(caller): AdminCaller,
    Route(id): Route<String>,
    Body(body): Body<DecisionBody>,
) -> Result<StatusCode> {
    if body.always && caller.project.is_some() {
        return Err(ApiError::scope("a permanent approval holds for all projects; the token is limited to one"));
    }
    let decision = if body.approve { Decision::Yes } else { Decision::No(body.reason) };
    state
        .run(move |state| {
            let approvals = &state.settings.approvals;
            let waiting = approvals.list().into_iter().find(|waiting| waiting.id.to_string() == id);
            match waiting.filter(|waiting| is_visible(state, &caller, waiting)) {
                Some(waiting) if approvals.decide(waiting.id, decision, body.always) => Ok(StatusCode::NO_CONTENT),
                _ => Err(ApiError::not_found("approval", id)),
            }
        })
        .await
}
