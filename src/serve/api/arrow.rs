//! Arrow lines: a batch runs in a session as an agent's commands do.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    exec::{
        self, CommandReply, ExecRequest, Executor,
        completion::{self, CompletionScope},
    },
    id::{NodeId, SessionId, TreeId},
    serve::{
        caller::Caller,
        error::{ApiError, Result},
        extractors::Body,
        state::AppState,
    },
    session::SessionHost,
    tools::MAX_BATCH_LINES,
};

/// Bytes of a line that is completed.
const MAX_COMPLETED_BYTES: usize = 4_000;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(run_lines)).routes(routes!(complete_line))
}

/// Arrow lines to run.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ArrowBody {
    /// Lines, with or without the arrow.
    lines: Vec<String>,
    /// Session to run in [default: the agent's session in `tree`].
    session: Option<SessionId>,
    /// Tree to run in, if no session is given.
    tree: Option<TreeId>,
}

/// Result of a line.
#[derive(Serialize, ToSchema)]
struct LineAnswer {
    /// True if the command succeeded.
    ok: bool,
    /// Name of the tool that ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'static str>,
    /// Error code.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    /// Reply as a model reads it.
    text: String,
}

impl From<CommandReply> for LineAnswer {
    fn from(reply: CommandReply) -> Self {
        Self {
            ok: reply.is_ok(),
            tool: reply.tool.map(|tool| tool.name()),
            code: reply.result.as_ref().err().map(|error| error.code.as_str()),
            text: reply.to_string(),
        }
    }
}

/// Results of a batch.
#[derive(Serialize, ToSchema)]
struct ArrowAnswer {
    /// Session in which the batch ended; pass it to the next batch.
    session: SessionId,
    /// Results in the order of the lines.
    results: Vec<LineAnswer>,
}

/// Runs arrow lines as the caller's agent, with its permissions.
#[utoipa::path(post, path = "/arrow", tag = "arrow", request_body = ArrowBody, responses((status = OK, body = ArrowAnswer)))]
async fn run_lines(
    State(state): State<AppState>,
    caller: Caller,
    Body(body): Body<ArrowBody>,
) -> Result<Json<ArrowAnswer>> {
    if body.lines.is_empty() || body.lines.len() > MAX_BATCH_LINES {
        return Err(ApiError::invalid(format!("a batch has 1 to {MAX_BATCH_LINES} lines")));
    }
    let runtime = tokio::runtime::Handle::current();
    let cancel = CancellationToken::new();
    // Commands that wait for a model end when the client disconnects.
    let _cancel_on_drop = cancel.clone().drop_guard();
    state
        .run(move |state| {
            let agent = state.agent(&caller, None)?;
            let session = session_of(state, &caller, &body)?;
            let settings = &state.settings;
            let host = SessionHost {
                runtime,
                agent: agent.id(),
                tool_access: caller.tool_access(settings),
                context: settings.context,
                partials_dir: settings.partials_dir.clone(),
                prices: settings.prices.clone(),
                cancel,
                on_delegation: Arc::new(|_| {}),
                on_progress: Arc::new(|_| {}),
            };
            let mut executor = Executor::new(state.loom().clone(), agent, session, &host);
            let requests = body.lines.iter().map(|line| ExecRequest::from(exec::read(line))).collect();
            let results = executor.run_batch(requests).into_iter().map(LineAnswer::from).collect();
            Ok(Json(ArrowAnswer { session: executor.session(), results }))
        })
        .await
}

fn session_of(state: &AppState, caller: &Caller, body: &ArrowBody) -> Result<SessionId> {
    if let Some(id) = body.session {
        let session = state.active_session(caller, id)?;
        return match session.agent == state.agent(caller, None)?.id() {
            true => Ok(id),
            false => Err(ApiError::invalid("the session belongs to another agent")),
        };
    }
    let tree = body.tree.ok_or_else(|| ApiError::invalid("name a session or a tree"))?;
    let tree = state.tree(caller, &tree.to_string())?;
    let root = tree.root.ok_or_else(|| ApiError::invalid("the tree has no root"))?;
    Ok(state.actor(caller)?.ensure_session("", tree.id, root)?)
}

/// Beginning of an arrow line.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LineCompletionBody {
    /// The line up to the caret, with or without the arrow.
    line: String,
    /// Position of the line.
    node: NodeId,
}

/// Text that can follow.
#[derive(Serialize, ToSchema)]
struct CompletionOption {
    /// Text in place of the last token.
    text: String,
    /// Description in a few words.
    detail: String,
    /// `verb`, `node`, `word`, `option` or `value`.
    kind: &'static str,
}

/// Completions of a line.
#[derive(Serialize, ToSchema)]
struct CompletionAnswer {
    /// Last token of the line, which a completion replaces; may be empty.
    token: String,
    /// Completions, the likeliest first.
    options: Vec<CompletionOption>,
}

/// Returns what can follow the beginning of an arrow line: verbs, words, options, ids, labels and names. Nothing runs.
#[utoipa::path(post, path = "/arrow/completions", tag = "arrow", request_body = LineCompletionBody, responses((status = OK, body = CompletionAnswer)))]
async fn complete_line(
    State(state): State<AppState>,
    caller: Caller,
    Body(body): Body<LineCompletionBody>,
) -> Result<Json<CompletionAnswer>> {
    if body.line.len() > MAX_COMPLETED_BYTES {
        return Err(ApiError::invalid("the line is too long to be completed"));
    }
    state
        .run(move |state| {
            let node = state.node(&caller, body.node)?;
            let agent = state.agent(&caller, None)?;
            let snapshot = state.loom().snapshot()?;
            let scope = CompletionScope {
                snapshot: &*snapshot,
                tree: node.tree,
                at: node.id,
                held: agent.profile.permissions,
                whole_file: caller.project.is_none(),
                reader: state.thought_reader(&caller)?.0,
            };
            let (token, found) = completion::complete(&body.line, &scope)?;
            let options = found.into_iter().map(|found| CompletionOption {
                text: found.text,
                detail: found.detail,
                kind: found.kind.as_str(),
            });
            Ok(Json(CompletionAnswer { token: token.to_owned(), options: options.collect() }))
        })
        .await
}
