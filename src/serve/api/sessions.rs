//! Sessions: list, start, read with state and turns, move, reset, end.

use axum::{Json, extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    id::{NodeId, SessionId, TreeId},
    ops::SessionDraft,
    serve::{
        access::Caller,
        error::Result,
        extract::{Body, Page, PageParams, Params, Route},
        state::AppState,
    },
    session_state::SessionInfo,
    store::{Receipt, SessionFilter},
    types::{Node, Session},
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_sessions, start_session))
        .routes(routes!(read_session, end_session))
        .routes(routes!(turns))
        .routes(routes!(switch))
        .routes(routes!(session_state))
}

/// Selection of sessions.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SessionParams {
    /// Only sessions of this tree.
    #[param(value_type = Option<String>)]
    tree: Option<TreeId>,
    /// Only sessions of this workspace.
    workspace: Option<String>,
    /// True to include sessions that have ended.
    #[serde(default)]
    ended: bool,
}

/// Lists sessions, the most recently active first.
#[utoipa::path(get, path = "/sessions", tag = "sessions", params(SessionParams, PageParams), responses((status = OK, body = Page<Session>)))]
async fn list_sessions(
    State(state): State<AppState>,
    caller: Caller,
    Params(params): Params<SessionParams>,
    Params(page): Params<PageParams>,
) -> Result<Json<Page<Session>>> {
    state
        .run(move |state| {
            let filter = SessionFilter {
                tree: params.tree,
                workspace: params.workspace,
                active: !params.ended,
                ..SessionFilter::default()
            };
            let mut sessions = state.loom().sessions(&filter)?;
            sessions.retain(|session| caller.can_see_item(session.item.as_ref()));
            Ok(Json(page.cut(sessions, |session| session.id.to_string())))
        })
        .await
}

/// A session to start.
#[derive(Deserialize, ToSchema)]
struct NewSessionBody {
    /// Tree of the session.
    tree: TreeId,
    /// Node at which it starts [default: the root].
    position: Option<NodeId>,
    /// Workspace: a folder or any name [default: empty].
    #[serde(default)]
    workspace: String,
}

/// Starts a session of the caller's agent.
#[utoipa::path(post, path = "/sessions", tag = "sessions", request_body = NewSessionBody, responses((status = CREATED, body = Session)))]
async fn start_session(
    State(state): State<AppState>,
    caller: Caller,
    Body(body): Body<NewSessionBody>,
) -> Result<(StatusCode, Json<Session>)> {
    state
        .run(move |state| {
            let tree = state.tree(&caller, &body.tree.to_string())?;
            if let Some(position) = body.position {
                state.node(&caller, position)?;
            }
            let draft = SessionDraft { item: tree.item, ..SessionDraft::of(body.workspace) };
            let id = state.actor(&caller)?.open_session(tree.id, body.position.or(tree.root), draft)?;
            Ok((StatusCode::CREATED, Json(state.loom().session(id)?)))
        })
        .await
}

/// Returns a session.
#[utoipa::path(get, path = "/sessions/{session}", tag = "sessions", params(("session" = SessionId, Path)), responses((status = OK, body = Session)))]
async fn read_session(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<SessionId>,
) -> Result<Json<Session>> {
    state.run(move |state| Ok(Json(state.session(&caller, id)?))).await
}

/// Ends a session. Its nodes stay.
#[utoipa::path(delete, path = "/sessions/{session}", tag = "sessions", params(("session" = SessionId, Path)), responses((status = OK, body = Receipt)))]
async fn end_session(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<SessionId>,
) -> Result<Json<Receipt>> {
    state
        .run(move |state| {
            state.session(&caller, id)?;
            Ok(Json(state.actor(&caller)?.end_session(id)?))
        })
        .await
}

/// Lists the nodes of a session's turns in order. The cursor is a number of nodes to skip.
#[utoipa::path(get, path = "/sessions/{session}/turns", tag = "sessions", params(("session" = SessionId, Path), PageParams), responses((status = OK, body = Page<Node>)))]
async fn turns(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<SessionId>,
    Params(page): Params<PageParams>,
) -> Result<Json<Page<Node>>> {
    let offset = page.after_number()?;
    state
        .run(move |state| {
            state.session(&caller, id)?;
            let limit = page.limit();
            let most = u32::try_from(limit + 1).unwrap_or(u32::MAX);
            let nodes = state.loom().turns(id, offset, most)?;
            let next = offset + limit as u64;
            let mut page = Page::of(nodes, limit, |_| next.to_string());
            let reader = state.thought_reader(&caller)?;
            page.data.retain(|node| reader.may_read(node));
            Ok(Json(page))
        })
        .await
}

/// A position.
#[derive(Deserialize, ToSchema)]
struct SwitchBody {
    /// Node to move to.
    node: NodeId,
}

/// Moves a session to a node of its tree.
#[utoipa::path(post, path = "/sessions/{session}/switch", tag = "sessions", params(("session" = SessionId, Path)), request_body = SwitchBody, responses((status = OK, body = Session)))]
async fn switch(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<SessionId>,
    Body(body): Body<SwitchBody>,
) -> Result<Json<Session>> {
    state
        .run(move |state| {
            state.session(&caller, id)?;
            state.node(&caller, body.node)?;
            state.actor(&caller)?.switch_to(id, body.node)?;
            Ok(Json(state.loom().session(id)?))
        })
        .await
}

/// State of a session.
#[derive(Serialize, ToSchema)]
struct SessionStateAnswer {
    /// State as agents see it, in YAML.
    yaml: String,
}

/// Returns the state that rules extract from a session's turns: decisions, constraints, files, errors.
#[utoipa::path(get, path = "/sessions/{session}/state", tag = "sessions", params(("session" = SessionId, Path)), responses((status = OK, body = SessionStateAnswer)))]
async fn session_state(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<SessionId>,
) -> Result<Json<SessionStateAnswer>> {
    state
        .run(move |state| {
            let session = state.session(&caller, id)?;
            let session_state = state.loom().snapshot()?.session_state(id)?;
            Ok(Json(SessionStateAnswer { yaml: session_state.yaml(&SessionInfo::of(&session, &[])) }))
        })
        .await
}
