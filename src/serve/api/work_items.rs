//! Conversations of work items: dispatch, read, reset, archive. Times are in RFC 3339.

use std::{collections::BTreeMap, sync::Arc};

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::generations::{count, open_models, writer};
use crate::{
    id::SessionId,
    ops::{SessionDraft, SessionReset},
    provider::{Model, Sampling},
    serve::{
        caller::Caller,
        error::{ApiError, Result},
        extractors::{Body, Params, Route},
        running_generations::RunningGeneration,
        state::AppState,
    },
    session::{self, Dispatch, GenerateRequest, dispatch_item},
    tools::Tool,
    types::{Agent, AuthorType, EdgeKind, Node, Permission, Session, Timestamp, WorkItem},
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(dispatch))
        .routes(routes!(item_conversation))
        .routes(routes!(bead_conversation))
        .routes(routes!(read_conversation, archive_conversation))
        .routes(routes!(reset_conversation))
}

/// Project of a work item.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ProjectParams {
    /// Project of the item [default: the token's project, or none].
    project: Option<String>,
}

impl ProjectParams {
    /// Returns the item, if the caller may see it.
    fn item(self, caller: &Caller, external_ref: String) -> Result<WorkItem> {
        let project = self.project.or_else(|| caller.project.clone()).unwrap_or_default();
        let item = WorkItem { project, external_ref };
        if item.external_ref.trim().is_empty() || !caller.can_see_item(Some(&item)) {
            return Err(ApiError::not_found("item", item.external_ref));
        }
        Ok(item)
    }
}

/// A message of a conversation.
#[derive(Serialize, ToSchema)]
struct ConversationMessage {
    /// `system`, `user`, `assistant` or `tool`.
    role: &'static str,
    content: String,
    /// Time of the message, in RFC 3339.
    timestamp: String,
    /// Number of tokens, if it was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_count: Option<u32>,
    /// True if the model broke off; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
}

impl ConversationMessage {
    fn of(node: Node) -> Self {
        let role = match node.role() {
            AuthorType::System => "system",
            AuthorType::Human => "user",
            AuthorType::Model => "assistant",
            AuthorType::Tool => "tool",
        };
        let (timestamp, token_count, interrupted) = (rfc3339(node.created_at), node.tokens, node.interrupted);
        Self { role, timestamp, token_count, interrupted, content: node.content }
    }

    /// True if a node is a message: no note, no thought, not empty.
    fn is_message(node: &Node) -> bool {
        matches!(node.kind, EdgeKind::Continuation | EdgeKind::Tool) && !node.content.is_empty()
    }
}

/// Formats a time in RFC 3339, in UTC.
fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or(jiff::Timestamp::MAX).to_string()
}

/// The conversation of a work item.
#[derive(Serialize, ToSchema)]
struct ConversationRecord {
    session_id: SessionId,
    /// Key of the work item in its project.
    bead_id: String,
    project_id: String,
    /// Messages since the last reset, in order.
    messages: Vec<ConversationMessage>,
    /// Start, in RFC 3339.
    created_at: String,
    /// Last activity, in RFC 3339.
    updated_at: String,
    /// Expiry, in RFC 3339; null: never. Use does not prolong it.
    expires_at: Option<String>,
    /// Tokens of the conversation so far.
    token_count: u64,
    /// Agent and model of the conversation, and metadata of the dispatcher.
    metadata: BTreeMap<String, String>,
}

impl ConversationRecord {
    fn read(state: &AppState, session: Session) -> Result<Self> {
        let mut turns = state.loom().turns(session.id, 0, u32::MAX)?;
        turns.retain(ConversationMessage::is_message);
        let item = session.item.ok_or_else(|| ApiError::not_found("conversation", session.id))?;
        Ok(Self {
            session_id: session.id,
            bead_id: item.external_ref,
            project_id: item.project,
            messages: turns.into_iter().map(ConversationMessage::of).collect(),
            created_at: rfc3339(session.started_at),
            updated_at: rfc3339(session.last_active_at),
            expires_at: session.expires_at.map(rfc3339),
            token_count: session.tokens,
            metadata: session.metadata,
        })
    }
}

/// Returns the session of a work item, if the caller may see it. Unless `archived`, it was not ended and has not expired.
fn conversation(state: &AppState, caller: &Caller, id: SessionId, archived: bool) -> Result<Session> {
    let missing = || ApiError::not_found("conversation", id);
    let session = state.session(caller, id).map_err(|_| missing())?;
    if session.item.is_none() {
        return Err(missing());
    }
    match session.can_resume(state.loom().now()) || archived {
        true => Ok(session),
        false => Err(missing().hint("it was archived or has expired; `?archived=true` reads it")),
    }
}

/// A message to the agent that works on an item.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DispatchBody {
    /// Text of the message.
    #[schema(min_length = 1)]
    content: String,
    /// System message of a new conversation [default: none].
    #[serde(default)]
    system_message: String,
    /// Conversation that the dispatcher expects. An expired one is replaced; that of another item answers 404.
    session_id: Option<SessionId>,
    /// Name of the agent that answers [default: subject].
    agent: Option<String>,
    /// Reference of a model [default: the agent's model].
    model: Option<String>,
    /// Maximum tokens of the answer.
    max_tokens: Option<u32>,
    /// Sampling temperature.
    temperature: Option<f32>,
    /// Workspace of a new conversation [default: empty].
    #[serde(default)]
    workspace: String,
    /// Metadata of a new conversation.
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

/// Message and answer of a dispatch.
#[derive(Serialize, ToSchema)]
struct DispatchAnswer {
    /// Conversation of the item, for the next dispatch.
    session_id: SessionId,
    /// Expiry of the conversation, in RFC 3339.
    expires_at: Option<String>,
    message: ConversationMessage,
    /// Answers of the agent, in order; an agent that runs commands may write several.
    replies: Vec<ConversationMessage>,
}

/// Sends a message to the agent that works on an item, with the whole conversation that fits, and returns the answer.
/// Starts the conversation if the item has none that is valid. Two dispatches of an item at the same time conflict.
#[utoipa::path(post, path = "/items/{ref}/messages", tag = "items", params(("ref" = String, Path), ProjectParams), request_body = DispatchBody, responses((status = OK, body = DispatchAnswer)))]
async fn dispatch(
    State(state): State<AppState>,
    caller: Caller,
    Route(external_ref): Route<String>,
    Params(project): Params<ProjectParams>,
    Body(body): Body<DispatchBody>,
) -> Result<Json<DispatchAnswer>> {
    let item = project.item(&caller, external_ref)?;
    if body.content.trim().is_empty() {
        return Err(ApiError::invalid("the message is empty"));
    }
    let slot = state.rates.open_stream(&caller)?;
    let (name, asker) = (body.agent.clone(), caller.clone());
    let author = state
        .run(move |state| {
            state.actor_for(&asker, Tool::Continue)?;
            writer(state, &asker, name.as_deref())
        })
        .await?;
    let references: Vec<String> = body.model.iter().cloned().collect();
    let models = open_models(&state, &caller, &author, &references).await?;
    let model = Arc::clone(models.first().ok_or_else(|| ApiError::invalid("no model"))?);
    let sampling = Sampling { max_tokens: body.max_tokens, temperature: body.temperature, ..Sampling::default() };
    // In a task, a generation that outlasts the request stays in the list and can be cancelled.
    let answer = tokio::spawn(async move {
        let answer = send_and_generate(state, caller, (author, model, sampling), item, body).await;
        drop(slot);
        answer
    });
    Ok(Json(answer.await.map_err(ApiError::internal)??))
}

/// Appends the message of a dispatch and generates the answer.
async fn send_and_generate(
    state: AppState,
    caller: Caller,
    (author, model, sampling): (Agent, Arc<dyn Model>, Sampling),
    item: WorkItem,
    body: DispatchBody,
) -> Result<DispatchAnswer> {
    let (agent, reference, sender) = (author.clone(), model.reference().to_owned(), caller.clone());
    let (session, message) = state.run(move |state| send(state, &sender, &agent, (&item, &reference), body)).await?;
    let settings = &state.settings;
    let cancel = CancellationToken::new();
    let guard = state.register(RunningGeneration { from: message.id, cancel: cancel.clone() });
    let commands = author.profile.permissions.has(Permission::LoomAware).then(|| caller.tool_access(settings));
    let request = GenerateRequest {
        sampling,
        context: settings.conversation.context(settings.context, model.window()),
        cancel,
        partials_dir: settings.partials_dir.clone(),
        prices: settings.prices.clone(),
        commands,
        ..GenerateRequest::new(message.id, author.clone(), model, 1)
    };
    let mut running = session::spawn(state.loom().actor(&author).in_session(session.id), request);
    while let Some(progress) = running.next().await {
        count(&state, &progress);
    }
    let ended = running.end().await;
    if ended.is_err() {
        // A failure before the generation leaves the lease of the dispatch.
        let released = state.loom().actor(&author).in_session(session.id).release(message.id, author.id());
        if let Err(error) = released.await {
            tracing::warn!(%error, "the lease of a dispatch could not be released; it will expire");
        }
    }
    let nodes = ended?;
    drop(guard);
    Ok(DispatchAnswer {
        session_id: session.id,
        expires_at: session.expires_at.map(rfc3339),
        message: ConversationMessage::of(message),
        replies: nodes.into_iter().filter(ConversationMessage::is_message).map(ConversationMessage::of).collect(),
    })
}

/// Appends the message of a dispatch to the conversation of its item.
fn send(
    state: &AppState,
    caller: &Caller,
    agent: &Agent,
    (item, reference): (&WorkItem, &str),
    body: DispatchBody,
) -> Result<(Session, Node)> {
    if let Some(id) = body.session_id
        && conversation(state, caller, id, true)?.item.as_ref() != Some(item)
    {
        return Err(ApiError::not_found("conversation", id));
    }
    let mut metadata = body.metadata;
    metadata.entry("agent_id".to_owned()).or_insert_with(|| agent.name().to_owned());
    metadata.entry("provider_id".to_owned()).or_insert_with(|| reference.to_owned());
    let draft = SessionDraft::of(caller.workspace(body.workspace)).metadata(metadata).model(reference);
    let dispatch = Dispatch::default().content(body.content).system(body.system_message).session(draft);
    state.metrics.appends.inc();
    Ok(dispatch_item(&state.actor_for(caller, Tool::Respond)?, agent, item, dispatch, &state.settings.conversation)?)
}

/// Returns the conversation of a work item.
#[utoipa::path(get, path = "/items/{ref}/conversation", tag = "items", params(("ref" = String, Path), ProjectParams, ArchivedParams), responses((status = OK, body = ConversationRecord)))]
async fn item_conversation(
    State(state): State<AppState>,
    caller: Caller,
    Route(external_ref): Route<String>,
    Params(project): Params<ProjectParams>,
    Params(params): Params<ArchivedParams>,
) -> Result<Json<ConversationRecord>> {
    let item = project.item(&caller, external_ref)?;
    state
        .run(move |state| {
            let session = match params.archived {
                true => state.loom().newest_item_session(&item)?,
                false => state.loom().find_item_session(&item, None)?,
            };
            let session = session.ok_or_else(|| ApiError::not_found("conversation of", &item.external_ref))?;
            Ok(Json(ConversationRecord::read(state, session)?))
        })
        .await
}

/// Returns the conversation of a work item: another path of `/items/{ref}/conversation`.
#[utoipa::path(get, path = "/beads/{ref}/conversation", tag = "items", params(("ref" = String, Path), ProjectParams, ArchivedParams), responses((status = OK, body = ConversationRecord)))]
async fn bead_conversation(
    state: State<AppState>,
    caller: Caller,
    external_ref: Route<String>,
    project: Params<ProjectParams>,
    params: Params<ArchivedParams>,
) -> Result<Json<ConversationRecord>> {
    item_conversation(state, caller, external_ref, project, params).await
}

/// Selection of conversations.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ArchivedParams {
    /// True to read a conversation that was archived or has expired.
    #[serde(default)]
    archived: bool,
}

/// Returns a conversation by its session.
#[utoipa::path(get, path = "/conversations/{session}", tag = "items", params(("session" = SessionId, Path), ArchivedParams), responses((status = OK, body = ConversationRecord)))]
async fn read_conversation(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<SessionId>,
    Params(params): Params<ArchivedParams>,
) -> Result<Json<ConversationRecord>> {
    state
        .run(move |state| {
            let session = conversation(state, &caller, id, params.archived)?;
            Ok(Json(ConversationRecord::read(state, session)?))
        })
        .await
}

/// Outcome of an archiving.
#[derive(Serialize, ToSchema)]
struct ArchiveAnswer {
    success: bool,
    message: String,
}

/// Archives a conversation: the next dispatch of its item starts a new one. All messages stay readable.
#[utoipa::path(delete, path = "/conversations/{session}", tag = "items", params(("session" = SessionId, Path)), responses((status = OK, body = ArchiveAnswer)))]
async fn archive_conversation(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<SessionId>,
) -> Result<Json<ArchiveAnswer>> {
    state
        .run(move |state| {
            conversation(state, &caller, id, false)?;
            state.actor_for(&caller, Tool::Respond)?.archive_session(id)?;
            Ok(Json(ArchiveAnswer { success: true, message: "the conversation is archived".to_owned() }))
        })
        .await
}

/// Options of a reset.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ResetBody {
    /// True to begin with the first system message [default: false].
    #[serde(default)]
    keep_system_message: bool,
    /// True to drop the system prompt of the conversation's tree [default: false].
    #[serde(default)]
    drop_system_context: bool,
}

/// Resets a conversation: it begins anew, with the same session, item, metadata and expiry. Returns the conversation.
#[utoipa::path(post, path = "/conversations/{session}/reset", tag = "items", params(("session" = SessionId, Path)), request_body = ResetBody, responses((status = OK, body = ConversationRecord)))]
async fn reset_conversation(
    State(state): State<AppState>,
    caller: Caller,
    Route(id): Route<SessionId>,
    Body(body): Body<ResetBody>,
) -> Result<Json<ConversationRecord>> {
    state
        .run(move |state| {
            conversation(state, &caller, id, false)?;
            let reset = SessionReset::default()
                .keep_system_message(body.keep_system_message)
                .drop_system_context(body.drop_system_context);
            state.actor_for(&caller, Tool::Respond)?.reset_session(id, reset)?;
            Ok(Json(ConversationRecord::read(state, state.loom().session(id)?)?))
        })
        .await
}
