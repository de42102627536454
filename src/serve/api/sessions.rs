//! Sessions: list, start, read with state and turns, move, reset, end.

use std::collections::{HashMap, hash_map::Entry};

use axum::{Json, extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    id::{NodeId, SessionId, TreeId},
    ops::{SessionDraft, SessionReset, TreeDraft},
    serve::{
        caller::Caller,
        error::Result,
        extractors::{Body, Page, PageParams, Params, Route},
        state::AppState,
    },
    session_state::SessionInfo,
    store::{Receipt, SessionFilter},
    tools::Tool,
    types::{Node, Session},
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_sessions, start_session))
        .routes(routes!(begin_conversation))
        .routes(routes!(read_session, name_session, end_session))
        .routes(routes!(reset_session))
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
            if let Some(tree) = params.tree {
                state.tree(&caller, &tree.to_string())?;
            }
            let filter = SessionFilter {
                tree: params.tree,
                workspace: params.workspace.map(|name| caller.workspace(name)),
                active: !params.ended,
                // A project sees a part of the sessions. The place of a cursor in the list is known after it was read.
                limit: if caller.project.is_none() { page.first_limit() } else { 0 },
                ..SessionFilter::default()
            };
            let mut sessions = state.loom().sessions(&filter)?;
            if caller.project.is_some() {
                // A conversation that the project began belongs to it by its tree.
                let snapshot = state.loom().snapshot()?;
                let mut seen: HashMap<TreeId, bool> = HashMap::new();
                for session in &sessions {
                    if let Entry::Vacant(entry) = seen.entry(session.tree) {
                        entry.insert(snapshot.tree(session.tree)?.is_some_and(|tree| caller.can_see(&tree)));
                    }
                }
                sessions.retain(|session| seen.get(&session.tree) == Some(&true));
            }
            Ok(Json(page.cut(sessions, |session| session.id.to_string())?))
        })
        .await
}

/// A session to start.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
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
            let draft = SessionDraft { item: tree.item, ..SessionDraft::of(caller.workspace(body.workspace)) };
            let id =
                state.actor_for(&caller, Tool::Switch)?.open_session(tree.id, body.position.or(tree.root), draft)?;
            Ok((StatusCode::CREATED, Json(state.loom().session(id)?)))
        })
        .await
}

/// A conversation to begin.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ConversationBody {
    /// Agent that answers [default: collaborator].
    agent: Option<String>,
    /// Name of the session, and title of its tree.
    name: Option<String>,
    /// Workspace: a folder or any name [default: empty].
    #[serde(default)]
    workspace: String,
}

/// Begins a conversation with an agent, in a new tree. Returns the agent's session.
#[utoipa::path(post, path = "/conversations", tag = "sessions", request_body = ConversationBody, responses((status = CREATED, body = Session)))]
async fn begin_conversation(
    State(state): State<AppState>,
    caller: Caller,
    Body(body): Body<ConversationBody>,
) -> Result<(StatusCode, Json<Session>)> {
    state
        .run(move |state| {
            let agent = state.loom().agent(body.agent.as_deref().unwrap_or("collaborator"))?;
            let actor = state.actor_for(&caller, Tool::Respond)?;
            let mut draft = TreeDraft::new("");
            draft.title.clone_from(&body.name);
            let workspace = caller.workspace(body.workspace);
            let begun = actor.begin_conversation(&agent, draft, SessionDraft::of(workspace))?;
            let session = state.loom().session(begun.session)?;
            state.assign_project(&caller, session.tree, begun.root)?;
            if let Some(name) = body.name {
                actor.name_session(session.id, &name)?;
            }
            Ok((StatusCode::CREATED, Json(state.loom().session(begun.session)?)))
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

/// Name of a session.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SessionNameBody {
    /// New name. An empty name removes it.
    name: String,
}

/// Names a session.
#[utoipa::path(patch, path = "/sessions/{session}", tag = "sessions", params(("session" = SessionId, Path)), request_body = SessionNameBody, responses((status = OK, body = Session)))]
async fn name_session(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<SessionId>,
    Body(body): Body<SessionNameBody>,
) -> Result<Json<Session>> {
    state
        .run(move |state| {
            state.require_own_session(&caller, &state.session(&caller, id)?)?;
            state.actor_for(&caller, Tool::Switch)?.name_session(id, &body.name)?;
            Ok(Json(state.loom().session(id)?))
        })
        .await
}

/// Content of a session after a reset.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SessionResetBody {
    /// Text of the new root. Without it, the first system message is kept.
    system: Option<String>,
    /// True to leave out the system prompt of the old tree.
    #[serde(default)]
    drop_system_context: bool,
}

/// Begins a session again at a fresh root. Its nodes stay. Returns the session at its new position.
#[utoipa::path(post, path = "/sessions/{session}/reset", tag = "sessions", params(("session" = SessionId, Path)), request_body = SessionResetBody, responses((status = OK, body = Session)))]
async fn reset_session(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<SessionId>,
    Body(body): Body<SessionResetBody>,
) -> Result<Json<Session>> {
    state
        .run(move |state| {
            state.require_own_session(&caller, &state.active_session(&caller, id)?)?;
            let mut reset =
                SessionReset::default().keep_system_message(true).drop_system_context(body.drop_system_context);
            reset.system = body.system;
            let root = state.actor_for(&caller, Tool::Respond)?.reset_session(id, reset)?;
            if !caller.can_see(&state.loom().tree(root.tree)?) {
                state.assign_project(&caller, root.tree, root.id)?;
            }
            Ok(Json(state.loom().session(id)?))
        })
        .await
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
            state.require_own_session(&caller, &state.active_session(&caller, id)?)?;
            Ok(Json(state.actor_for(&caller, Tool::Switch)?.end_session(id)?))
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
            let nodes = state.loom().turns(id, offset, page.read_limit())?;
            let next = offset + limit as u64;
            let mut page = Page::of(nodes, limit, |_| next.to_string());
            let reader = state.thought_reader(&caller)?;
            reader.retain_readable(&mut page.data);
            Ok(Json(page))
        })
        .await
}

/// A position.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
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
            state.require_own_session(&caller, &state.active_session(&caller, id)?)?;
            state.node(&caller, body.node)?;
            state.actor_for(&caller, Tool::Switch)?.switch_to(id, body.node)?;
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
