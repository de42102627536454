//! Generations: continuations by models, streamed side by side, and agents' turns. Each can be cancelled.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response, sse::Event},
};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::ServerSentEvent;
use crate::{
    id::NodeId,
    ops::{Actor, require_parent},
    provider::{Model, Sampling},
    serve::{
        caller::Caller,
        error::{ApiError, Result},
        event_stream,
        extractors::{Body, Route},
        rate_limit::StreamGuard,
        running_generations::{GenerationGuard, RunningGeneration},
        state::AppState,
    },
    session::{self, GenerateRequest, GenerationStream, Progress, actor_at},
    tools::Tool,
    types::{Agent, AgentKind, EdgeKind, Node, Permission},
};

/// Largest number of continuations of one request.
const MAX_CONTINUATIONS: usize = 64;

/// Header with the id by which a generation is cancelled.
const GENERATION_HEADER: &str = "x-loom-generation";

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(generate)).routes(routes!(list_generations)).routes(routes!(cancel))
}

/// A request for continuations.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct GenerateBody {
    /// Name of the agent that writes [default: subject].
    agent: Option<String>,
    /// References of models; each writes `n` continuations [default: the agent's model].
    #[serde(default)]
    models: Vec<String>,
    /// Number of continuations per model, 1 to 64 [default: 1].
    #[schema(minimum = 1, maximum = 64)]
    n: Option<usize>,
    /// Maximum tokens of a continuation.
    max_tokens: Option<u32>,
    /// Sampling temperature.
    temperature: Option<f32>,
    /// Seed, for models that have one.
    seed: Option<u64>,
    /// Workspace of the agent's session, for agents that run commands [default: empty].
    #[serde(default)]
    workspace: String,
    /// True to stream events instead of waiting for the end.
    #[serde(default)]
    stream: bool,
}

/// Nodes of a generation, in the order of the request.
#[derive(Serialize, ToSchema)]
struct GeneratedNodes {
    data: Vec<Node>,
    /// Continuations that failed, if others did not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<FailedContinuation>,
}

/// A continuation that failed.
#[derive(Serialize, ToSchema)]
struct FailedContinuation {
    /// Number of the continuation in the request, from 0, model by model.
    index: usize,
    error: String,
}

impl FailedContinuation {
    fn of(progress: &Progress) -> Option<Self> {
        match progress {
            Progress::Failed { index, error, .. } => Some(Self { index: *index, error: error.to_string() }),
            _ => None,
        }
    }
}

/// Has models continue a node. One continuation by an agent that sees the tree is a whole turn, in which the agent runs
/// commands. With `stream`, events `text`, `saved`, `ran`, `round` and `failed` arrive as server-sent events, and `end`
/// is the last. The header `x-loom-generation` has the id by which it is cancelled.
#[utoipa::path(post, path = "/nodes/{node}/continuations", tag = "generations", params(("node" = NodeId, Path)), request_body = GenerateBody, responses((status = OK, description = "The nodes, or a stream of events", content((GeneratedNodes = "application/json"), (ServerSentEvent = "text/event-stream")))))]
async fn generate(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<NodeId>,
    Body(body): Body<GenerateBody>,
) -> Result<Response> {
    let n = body.n.unwrap_or(1);
    let all = n.saturating_mul(body.models.len().max(1));
    if !(1..=MAX_CONTINUATIONS).contains(&all) {
        return Err(ApiError::invalid(format!("a request generates 1 to {MAX_CONTINUATIONS} continuations")));
    }
    let slot = state.rates.open_stream(&caller)?;
    let (name, asker) = (body.agent.clone(), caller.clone());
    let author = state
        .run(move |state| {
            require_parent(&state.node(&asker, id)?, EdgeKind::Continuation)?;
            state.actor_for(&asker, Tool::Continue)?;
            writer(state, &asker, name.as_deref())
        })
        .await?;
    let models = open_models(&state, &caller, &author, &body.models).await?;
    let cancel = CancellationToken::new();
    let guard = state.register(RunningGeneration { from: id, cancel: cancel.clone() });
    let (actor, request) = prepare(&state, &caller, author, models, &body, (id, cancel)).await?;
    let header = [(GENERATION_HEADER, guard.id.clone())];
    let running = session::spawn(actor, request);
    if body.stream {
        return Ok((header, events(state, running, (guard, slot))).into_response());
    }
    // In a task, a generation that outlasts the request stays in the list and can be cancelled.
    let generated = tokio::spawn(async move {
        let (mut running, mut failed) = (running, Vec::new());
        while let Some(progress) = running.next().await {
            count(&state, &progress);
            failed.extend(FailedContinuation::of(&progress));
        }
        let data = running.end().await?;
        drop((guard, slot));
        Ok::<_, ApiError>(GeneratedNodes { data, failed })
    });
    Ok((header, Json(generated.await.map_err(ApiError::internal)??)).into_response())
}

/// Returns the agent that writes continuations: the one with this name, or else the subject.
pub(super) fn writer(state: &AppState, caller: &Caller, name: Option<&str>) -> Result<Agent> {
    let author = state.agent(caller, Some(name.unwrap_or("subject")))?;
    if author.profile.kind == AgentKind::Human {
        return Err(ApiError::invalid(format!("{} is a person and writes no continuations", author.name())));
    }
    Ok(author)
}

/// Opens the models with these references, or else the author's model.
pub(super) async fn open_models(
    state: &AppState,
    caller: &Caller,
    author: &Agent,
    references: &[String],
) -> Result<Vec<Arc<dyn Model>>> {
    let resolver = &state.settings.tool_access.models;
    if references.is_empty() {
        return Ok(vec![resolver.open(author).await?]);
    }
    let mut models = Vec::with_capacity(references.len());
    for reference in references {
        caller.require_model(reference)?;
        let mut author = author.clone();
        author.profile.model = Some(reference.clone());
        models.push(resolver.open(&author).await?);
    }
    Ok(models)
}

/// Returns the request, and the actor that runs it: the caller's agent, or the author in a session of its own.
async fn prepare(
    state: &AppState,
    caller: &Caller,
    author: Agent,
    models: Vec<Arc<dyn Model>>,
    body: &GenerateBody,
    (from, cancel): (NodeId, CancellationToken),
) -> Result<(Actor, GenerateRequest)> {
    let n = body.n.unwrap_or(1);
    let runs_commands = models.len() == 1 && n == 1 && author.profile.permissions.has(Permission::LoomAware);
    let commands = runs_commands.then(|| caller.tool_access(&state.settings));
    let (writer, workspace, caller) = (author.clone(), caller.workspace(body.workspace.clone()), caller.clone());
    let actor =
        state
            .run(move |state| {
                if runs_commands {
                    Ok(actor_at(state.loom(), &writer, &workspace, from)?)
                } else {
                    state.actor(&caller)
                }
            })
            .await?;
    let settings = &state.settings;
    let sampling =
        Sampling { max_tokens: body.max_tokens, temperature: body.temperature, seed: body.seed, ..Sampling::default() };
    let first = Arc::clone(models.first().ok_or_else(|| ApiError::invalid("no model"))?);
    let request = GenerateRequest {
        models,
        n,
        sampling,
        context: settings.context,
        cancel,
        partials_dir: settings.partials_dir.clone(),
        prices: settings.prices.clone(),
        keep_position: !runs_commands,
        commands,
        ..GenerateRequest::new(from, author, first, 1)
    };
    Ok((actor, request))
}

/// Counts saved nodes and tokens of a progress event in the metrics.
pub(super) fn count(state: &AppState, progress: &Progress) {
    if let Progress::Saved { usage, .. } = progress {
        state.metrics.appends.inc();
        if let Some(usage) = usage {
            state.metrics.used(usage.prompt, usage.output);
        }
    }
}

/// Returns the progress of a generation as server-sent events. If the client disconnects, the generation continues.
fn events(state: AppState, running: GenerationStream, guards: (GenerationGuard, StreamGuard)) -> impl IntoResponse {
    let (sender, answer) = event_stream::from_task();
    tokio::spawn(async move {
        let (mut running, mut failed) = (running, Vec::new());
        let _open = state.metrics.open_stream();
        while let Some(progress) = running.next().await {
            count(&state, &progress);
            failed.extend(FailedContinuation::of(&progress));
            // A closed channel is a client that went away.
            let _ = sender.send(event(&progress));
        }
        let end = match running.end().await {
            Ok(data) => Event::default().event("end").json_data(GeneratedNodes { data, failed }),
            Err(error) => {
                let error = ApiError::from(error);
                let body = serde_json::json!({ "code": error.code(), "message": error.message() });
                Event::default().event("error").json_data(body)
            }
        };
        let _ = sender.send(end.unwrap_or_default());
        drop(guards);
    });
    answer
}

fn event(progress: &Progress) -> Event {
    let name = match progress {
        Progress::Text { .. } => "text",
        Progress::Saved { .. } => "saved",
        Progress::Ran { .. } => "ran",
        Progress::Round { .. } => "round",
        Progress::Failed { .. } => "failed",
        _ => "progress",
    };
    Event::default().event(name).json_data(progress).unwrap_or_default()
}

/// A running generation.
#[derive(Serialize, ToSchema)]
struct GenerationEntry {
    /// Id of the generation.
    id: String,
    /// Node that it continues.
    from: NodeId,
}

/// Running generations.
#[derive(Serialize, ToSchema)]
struct GenerationList {
    data: Vec<GenerationEntry>,
}

/// Lists the running generations of this server.
#[utoipa::path(get, path = "/generations", tag = "generations", responses((status = OK, body = GenerationList)))]
async fn list_generations(State(state): State<AppState>, caller: Caller) -> Result<Json<GenerationList>> {
    state
        .run(move |state| {
            let mut data = Vec::new();
            for (id, running) in state.running() {
                if state.node(&caller, running.from).is_ok() {
                    data.push(GenerationEntry { id, from: running.from });
                }
            }
            Ok(Json(GenerationList { data }))
        })
        .await
}

/// Cancels a generation. Partial replies are saved as interrupted nodes.
#[utoipa::path(delete, path = "/generations/{id}", tag = "generations", params(("id" = String, Path)), responses((status = ACCEPTED, description = "The generation ends soon")))]
async fn cancel(State(state): State<AppState>, caller: Caller, Route(id): Route<String>) -> Result<StatusCode> {
    state
        .run(move |state| {
            let running = state.running().into_iter().find(|(known, _)| *known == id).map(|(_, running)| running);
            let running = running.ok_or_else(|| ApiError::not_found("generation", &id))?;
            state.node(&caller, running.from).map_err(|_| ApiError::not_found("generation", &id))?;
            state.actor_for(&caller, Tool::Continue)?;
            running.cancel.cancel();
            Ok(StatusCode::ACCEPTED)
        })
        .await
}
