//! Recall: search of the archive.

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    id::{NodeId, SessionId, TreeId},
    recall::{self, Author, Branch, Filter, Hit, Query, Scope},
    serve::{
        caller::Caller,
        error::{ApiError, Result},
        extractors::{Body, limit_up_to},
        state::AppState,
    },
    tools::Tool,
    types::{EdgeKind, Node, Timestamp},
};

/// Largest number of hits.
const MAX_HITS: u32 = 200;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(search))
}

/// A search.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RecallBody {
    /// A question or words; text in double quotes is searched for literally.
    query: String,
    /// Search this tree.
    tree: Option<TreeId>,
    /// Search this session.
    session: Option<SessionId>,
    /// Search this workspace.
    workspace: Option<String>,
    /// Only nodes by this author: human, model, tool, system, or an agent's name.
    by: Option<String>,
    /// Only nodes of this kind.
    kind: Option<EdgeKind>,
    /// Only the path to this node.
    path: Option<NodeId>,
    /// Only this node and its descendants.
    below: Option<NodeId>,
    /// Only nodes since this time.
    from: Option<Timestamp>,
    /// Only nodes until this time.
    to: Option<Timestamp>,
    /// True to match the text literally.
    #[serde(default)]
    exact: bool,
    /// True to sort by time, the newest first.
    #[serde(default)]
    by_time: bool,
    /// Maximum number of hits, 1 to 200 [default: 20].
    #[schema(minimum = 1, maximum = 200)]
    #[serde(default, deserialize_with = "limit_up_to::<MAX_HITS, _>")]
    limit: Option<u32>,
}

/// A node found by a search.
#[derive(Serialize, ToSchema)]
struct HitAnswer {
    node: Node,
    /// Score, comparable within one search.
    score: f64,
    /// True if the node contains the query literally.
    exact: bool,
    /// Parent of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Node>,
    /// First continuation of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Node>,
}

/// Results of a search.
#[derive(Serialize, ToSchema)]
struct RecallAnswer {
    /// Nodes that match, the best first.
    hits: Vec<HitAnswer>,
    /// Nodes that are near: some words, or a similar meaning.
    near: Vec<HitAnswer>,
    /// Words of the query that no searched node contains.
    absent: Vec<String>,
}

/// Searches the archive. With a token of a project, a tree or session of the project must be named.
#[utoipa::path(post, path = "/recall", tag = "recall", request_body = RecallBody, responses((status = OK, body = RecallAnswer)))]
async fn search(
    State(state): State<AppState>,
    caller: Caller,
    Body(body): Body<RecallBody>,
) -> Result<Json<RecallAnswer>> {
    state
        .run(move |state| {
            let scope = scope(state, &caller, &body)?;
            for node in [body.path, body.below].into_iter().flatten() {
                state.node(&caller, node)?;
            }
            state.actor_for(&caller, Tool::Recall)?;
            let snapshot = state.loom().snapshot()?;
            let author = body.by.as_deref().map(|name| Author::named(&*snapshot, name)).transpose()?;
            let branch = match (body.path, body.below) {
                (Some(node), None) => Some(Branch::To(node)),
                (None, Some(node)) => Some(Branch::Below(node)),
                (None, None) => None,
                _ => return Err(ApiError::invalid("path and below exclude each other")),
            };
            let reader = state.thought_reader(&caller)?;
            let (from, to, kind) = (body.from, body.to, body.kind);
            let only = Filter { author, branch, from, to, kind, reader: reader.0, ..Filter::default() };
            let query = Query {
                only,
                exact: body.exact,
                by_time: body.by_time,
                limit: body.limit.unwrap_or(20) as usize,
                ..Query::new(body.query, scope)
            };
            let found = recall::search(&*snapshot, &query)?;
            let readable = |node: Option<Node>| node.filter(|node| reader.may_read(node));
            let answer = |hit: Hit| {
                let (before, after) = (readable(hit.parent), readable(hit.first_continuation));
                HitAnswer { node: hit.node, score: hit.score, exact: hit.exact, before, after }
            };
            let answers = |hits: Vec<Hit>| hits.into_iter().map(answer).collect();
            Ok(Json(RecallAnswer { hits: answers(found.hits), near: answers(found.near), absent: found.absent }))
        })
        .await
}

fn scope(state: &AppState, caller: &Caller, body: &RecallBody) -> Result<Scope> {
    Ok(match (body.tree, body.session, &body.workspace) {
        (Some(tree), None, None) => Scope::Tree(state.tree(caller, &tree.to_string())?.id),
        (None, Some(session), None) => Scope::Session(state.session(caller, session)?.id),
        (None, None, workspace) if caller.project.is_none() => {
            state.require_cross_tree(caller).map_err(|error| error.hint("name a tree or a session"))?;
            workspace.clone().map_or(Scope::Everything, Scope::Workspace)
        }
        (None, None, _) => return Err(ApiError::invalid("name a tree or a session of the token's project")),
        _ => return Err(ApiError::invalid("tree, session and workspace exclude each other")),
    })
}
