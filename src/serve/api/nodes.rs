//! Nodes: read one with its surroundings, append to it.

use axum::{Json, extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    id::NodeId,
    ops::{NodeDraft, require_parent},
    serve::{
        caller::Caller,
        error::{ApiError, Result},
        extractors::{Body, Page, PageParams, Params, Route},
        state::AppState,
    },
    store::{ChildFilter, Mutation},
    tools::Tool,
    types::{AgentKind, AuthorType, EdgeKind, Json as Verbatim, Link, Node, Op, Parent},
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(read_node))
        .routes(routes!(children, append))
        .routes(routes!(path_to))
        .routes(routes!(versions))
        .routes(routes!(links))
        .routes(routes!(leaf))
}

/// Returns a node.
#[utoipa::path(get, path = "/nodes/{node}", tag = "nodes", params(("node" = NodeId, Path)), responses((status = OK, body = Node)))]
async fn read_node(State(state): State<AppState>, caller: Caller, Route(id): Route<NodeId>) -> Result<Json<Node>> {
    state.read(move |state| Ok(Json(state.node(&caller, id)?))).await
}

/// Selection of children.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ChildParams {
    /// Only children of this kind [default: all kinds].
    #[param(value_type = Option<String>)]
    kind: Option<EdgeKind>,
    /// True to include pruned children.
    #[serde(default)]
    pruned: bool,
}

/// Lists the children of a node in the order of their insertion. All versions of a node share their continuations.
#[utoipa::path(get, path = "/nodes/{node}/children", tag = "nodes", params(("node" = NodeId, Path), ChildParams, PageParams), responses((status = OK, body = Page<Node>)))]
async fn children(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<NodeId>,
    Params(params): Params<ChildParams>,
    Params(page): Params<PageParams>,
) -> Result<Json<Page<Node>>> {
    state
        .read(move |state| {
            state.node(&caller, id)?;
            let filter = ChildFilter { kind: params.kind, pruned: params.pruned, limit: 0 };
            let reader = state.thought_reader(&caller)?;
            let mut nodes = state.loom().snapshot()?.children(id, &filter)?;
            reader.retain_readable(&mut nodes);
            Ok(Json(page.cut(nodes, |node| node.id.to_string())?))
        })
        .await
}

/// A node to append.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewNodeBody {
    /// Text of the node.
    content: String,
    /// Kind of the edge to the parent [default: continuation].
    kind: Option<EdgeKind>,
    /// Kind of the author, if it differs from the agent's.
    author_type: Option<AuthorType>,
    /// Data of the application, an object, returned byte for byte.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Verbatim>,
}

/// Appends a node. If the parent has continuations, the new node starts a branch.
#[utoipa::path(post, path = "/nodes/{node}/children", tag = "nodes", params(("node" = NodeId, Path)), request_body = NewNodeBody, responses((status = CREATED, body = Node)))]
async fn append(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<NodeId>,
    Body(body): Body<NewNodeBody>,
) -> Result<(StatusCode, Json<Node>)> {
    let is_object = |metadata: &Verbatim| metadata.value().is_ok_and(|value| value.is_object());
    if body.metadata.as_ref().is_some_and(|metadata| !is_object(metadata)) {
        return Err(ApiError::invalid("metadata is no object"));
    }
    if body.kind == Some(EdgeKind::Version) {
        return Err(ApiError::invalid("a version is made by the change `edit`"));
    }
    let submitted = state.read(move |state| {
        require_parent(&state.node(&caller, id)?, body.kind.unwrap_or(EdgeKind::Continuation))?;
        let draft = NodeDraft {
            kind: body.kind,
            author_type: body.author_type,
            metadata: body.metadata,
            ..NodeDraft::text(body.content)
        };
        let actor = state.actor_for(&caller, Tool::Respond)?;
        let speaks_for_others = matches!(draft.author_type, Some(AuthorType::Human | AuthorType::System));
        if speaks_for_others && state.agent(&caller, None)?.profile.kind == AgentKind::Model {
            return Err(ApiError::permission("a model's agent does not write as a person or as system"));
        }
        let node = actor.draft(Parent::Node(id), draft);
        Ok(actor.submit(Op::Append, vec![Mutation::Append(Box::new(node))]))
    });
    // No thread waits, so that one commit has the appends of all clients.
    let receipt = submitted.await?.await?;
    state.metrics.appends.inc();
    let id = receipt.nodes.first().map_or(id, |node| node.id);
    state.read(move |state| Ok((StatusCode::CREATED, Json(state.loom().node(id)?)))).await
}

/// Length of a path.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct PathParams {
    /// Number of nodes, counted from the end [default: 0, the whole path].
    #[serde(default)]
    limit: u32,
}

/// Nodes of a path.
#[derive(Serialize, ToSchema)]
struct NodeList {
    data: Vec<Node>,
}

/// Returns the path from the root to a node, oldest node first.
#[utoipa::path(get, path = "/nodes/{node}/path", tag = "nodes", params(("node" = NodeId, Path), PathParams), responses((status = OK, body = NodeList)))]
async fn path_to(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<NodeId>,
    Params(params): Params<PathParams>,
) -> Result<Json<NodeList>> {
    state
        .read(move |state| {
            state.node(&caller, id)?;
            let reader = state.thought_reader(&caller)?;
            let mut data = state.loom().snapshot()?.path_back(id, &[], params.limit)?;
            reader.retain_readable(&mut data);
            Ok(Json(NodeList { data }))
        })
        .await
}

/// Returns all versions of a node, the original first.
#[utoipa::path(get, path = "/nodes/{node}/versions", tag = "nodes", params(("node" = NodeId, Path)), responses((status = OK, body = NodeList)))]
async fn versions(State(state): State<AppState>, caller: Caller, Route(id): Route<NodeId>) -> Result<Json<NodeList>> {
    state
        .read(move |state| {
            state.node(&caller, id)?;
            Ok(Json(NodeList { data: state.loom().snapshot()?.versions(id)? }))
        })
        .await
}

/// Links of a node.
#[derive(Serialize, ToSchema)]
struct LinkList {
    data: Vec<Link>,
}

/// Returns the links from and to a node.
#[utoipa::path(get, path = "/nodes/{node}/links", tag = "nodes", params(("node" = NodeId, Path)), responses((status = OK, body = LinkList)))]
async fn links(State(state): State<AppState>, caller: Caller, Route(id): Route<NodeId>) -> Result<Json<LinkList>> {
    state
        .read(move |state| {
            state.node(&caller, id)?;
            Ok(Json(LinkList { data: state.loom().snapshot()?.links(id)? }))
        })
        .await
}

/// Returns the node that is reached by the newest continuation of each node.
#[utoipa::path(get, path = "/nodes/{node}/leaf", tag = "nodes", params(("node" = NodeId, Path)), responses((status = OK, body = Node)))]
async fn leaf(State(state): State<AppState>, caller: Caller, Route(id): Route<NodeId>) -> Result<Json<Node>> {
    state
        .read(move |state| {
            let node = state.node(&caller, id)?;
            Ok(Json(state.loom().leaf(&node, &[])?))
        })
        .await
}
