//! Host of a session's commands: models, web search, host tools and delegation, behind the interface of
//! `exec/host_interface.rs`.

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde_json::Value;
use tokio::{runtime::Handle, sync::mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    Embedding, RunContext, UpdateSink,
    embed_query::embed_query,
    generate_error::GenerateError,
    generate_request::{GenerateRequest, Progress, ToolAccess},
    generation_driver::generate,
    host_traits::ModelResolver,
    save_delegation_report::save_report,
};
use crate::{
    context,
    exec::{ContinueRequest, DelegateRequest, Delegated, Host, NoHost},
    id::{AgentId, NodeId, SessionId},
    ops::{Actor, Loom, OpsError},
    provider::{ErrorClass, Message, Prices, Prompt, ProviderError, Request, Sampling},
    recall::QueryEmbedding,
    tools::{ErrorCode, HostTool, SummaryRequest, SummaryResponse, ToolError, WebHit, WebSearch},
    types::{Agent, AgentKind, Permission, Permissions},
};

/// [`Host`] of a session. It gives commands access to models, host tools and delegation.
///
/// Its methods block, so they must run outside of async worker threads.
#[non_exhaustive]
pub struct SessionHost {
    /// Runtime of models and tools.
    pub runtime: Handle,
    /// Agent that runs the commands.
    pub agent: AgentId,
    /// Tools of the agent.
    pub tool_access: ToolAccess,
    /// Context options of invoked models.
    pub context: context::ContextOptions,
    /// Directory of partial replies.
    pub partials_dir: Option<PathBuf>,
    /// Token prices.
    pub prices: Prices,
    /// Cancels running operations and prevents new ones.
    pub cancel: CancellationToken,
    /// Receives progress events of delegations.
    pub on_delegation: UpdateSink,
    /// Receives progress events of replies that `continue` requests.
    pub on_progress: ProgressSink,
}

/// Callback for progress events; see [`SessionHost::on_progress`].
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

impl Host for SessionHost {
    fn generate(&self, actor: &Actor, request: &ContinueRequest<'_>) -> Result<Vec<NodeId>, ToolError> {
        let author = request.author;
        if author.id() == self.agent || self.tool_access.callers.contains(&author.id()) {
            let name = author.name();
            return Err(ToolError::new(
                ErrorCode::PermissionDenied,
                format!("{name} is already active in this call chain"),
            ));
        }
        self.runtime.block_on(async {
            let model = self.tool_access.models.open(author).await?;
            let n = usize::try_from(request.n).unwrap_or(usize::MAX);
            let mut generate_request = GenerateRequest {
                versions: request.versions.to_vec(),
                instruction: request.instruction.map(str::to_owned),
                sampling: Sampling { max_tokens: request.tokens, ..Sampling::default() },
                context: self.context,
                cancel: self.cancel.clone(),
                partials_dir: self.partials_dir.clone(),
                prices: self.prices.clone(),
                // The caller stays at its position; it can move to the reply with a command.
                keep_position: true,
                ..GenerateRequest::new(request.from.id, author.clone(), model, n)
            };
            let mut actor = actor.clone();
            if n == 1 && author.profile.permissions.has(Permission::LoomAware) {
                actor = self.author_actor(&actor, request)?;
                let mut callers = self.tool_access.callers.clone();
                callers.push(self.agent);
                (generate_request.keep_position, generate_request.commands) =
                    (false, Some(ToolAccess { callers, ..self.tool_access.clone() }));
            }
            let saved = generate(&actor, generate_request, |progress| (self.on_progress)(progress))
                .await
                .map_err(generate_error)?;
            let words: Vec<NodeId> = saved.iter().filter(|n| !n.content.is_empty()).map(|n| n.id).collect();
            Ok(if words.is_empty() { saved.last().map(|node| node.id).into_iter().collect() } else { words })
        })
    }

    fn withheld(&self) -> Permissions {
        self.tool_access.withheld
    }

    fn delegate(&self, actor: &Actor, request: &DelegateRequest<'_>) -> Result<Delegated, ToolError> {
        let Some(orchestrator) = self.tool_access.orchestrator.clone() else {
            return Err(ToolError::new(ErrorCode::NotConfigured, "no orchestrator is set up"));
        };
        let withheld = self.tool_access.withheld;
        let delegation = match request.resume {
            Some(delegation) => delegation,
            None => orchestrator.create(actor, request.at, request.goal, request.context)?,
        };
        let local = actor.loom().node(delegation)?.local;
        if !request.wait {
            let cancel = self.tool_access.background.cancel();
            let background = Arc::clone(&self.tool_access.background);
            let on_update: UpdateSink = Arc::new(move |update| background.notify(update));
            let run = RunContext { actor: actor.clone(), delegation, cancel, on_update, withheld };
            self.tool_access.background.run(&self.runtime, orchestrator, run);
            let hint = "its report comes later: → recall tool:delegate";
            let text = format!("✓ delegated [{local}] · {hint}");
            return Ok(Delegated { node: local, text });
        }
        // The callback may block on a slow reader, so it must not run in a runtime task.
        let (sender, mut updates) = mpsc::unbounded_channel();
        let on_update: UpdateSink = Arc::new(move |update| _ = sender.send(update));
        let run =
            RunContext { actor: actor.clone(), delegation, cancel: self.cancel.child_token(), on_update, withheld };
        let done = self.runtime.spawn(async move { orchestrator.run(run).await });
        while let Some(update) = updates.blocking_recv() {
            (self.on_delegation)(update);
        }
        let join_error = |error: tokio::task::JoinError| {
            Err(ToolError::new(ErrorCode::Conflict, format!("the delegation task failed: {error}")))
        };
        let done = self.runtime.block_on(done).unwrap_or_else(join_error);
        // A user's command has no result node, so the report is saved as for a background delegation.
        if done.is_ok() && self.is_person(actor)? {
            self.runtime.block_on(save_report(actor, delegation, &done))?;
        }
        Ok(Delegated { node: local, text: done?.to_string() })
    }

    fn tools(&self) -> &[HostTool] {
        self.tool_access.tools.tools()
    }

    fn call(&self, name: &str, arguments: &Value) -> Result<String, ToolError> {
        let host_tools = &self.tool_access.tools;
        let entry = host_tools.tools.iter().zip(&host_tools.handlers).find(|(tool, _)| tool.name == name);
        let Some((_, handler)) = entry else {
            return Err(ToolError::new(ErrorCode::NotFound, format!("no tool {name}")));
        };
        let answer = handler(arguments.clone());
        self.runtime.block_on(async {
            tokio::select! {
                answer = answer => answer,
                () = self.cancel.cancelled() => Err(ToolError::new(ErrorCode::Cancelled, "it was stopped")),
            }
        })
    }

    fn search(&self, request: &WebSearch<'_>) -> Result<Vec<WebHit>, ToolError> {
        let Some(searcher) = &self.tool_access.search else { return NoHost.search(request) };
        self.runtime.block_on(async {
            tokio::select! {
                hits = searcher.search(request) => hits,
                () = self.cancel.cancelled() => Err(ToolError::new(ErrorCode::Cancelled, "it was stopped")),
            }
        })
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    fn embed_query(&self, actor: &Actor, question: &str) -> Option<QueryEmbedding> {
        let client = self.runtime.block_on(self.tool_access.models.embeddings())?;
        let embedder = Embedding { runtime: self.runtime.clone(), client };
        let made = embed_query(actor, &embedder, question);
        made.inspect_err(|error| tracing::warn!(%error, "recall uses words only")).ok()
    }

    fn summarize(&self, request: &SummaryRequest<'_>) -> Option<SummaryResponse> {
        self.runtime.block_on(async {
            tokio::select! {
                summary = request_summary(&*self.tool_access.models, request) => summary,
                () = tokio::time::sleep(SUMMARY_TIMEOUT) => None,
                () = self.cancel.cancelled() => None,
            }
        })
    }
}

/// Maximum time for a summary; then its first sentences are used.
const SUMMARY_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum tokens of a summary: twice the tokens of thirty words, for languages with long words.
const MAX_SUMMARY_TOKENS: u32 = 120;

/// Requests a summary from the summary model; `None` if there is no such model or it fails.
async fn request_summary(models: &dyn ModelResolver, request: &SummaryRequest<'_>) -> Option<SummaryResponse> {
    let model = models.summarizer().await?;
    let prompt = Prompt::Chat(vec![Message::system(request.system), Message::user(request.user)]);
    let sampling = Sampling { temperature: Some(0.0), max_tokens: Some(MAX_SUMMARY_TOKENS), ..Sampling::default() };
    let mut content = String::new();
    let end = model.stream(Request { sampling, ..Request::new(prompt) }).read_to_string(&mut content).await;
    end.inspect_err(|error| tracing::warn!(%error, "the summary request failed")).ok()?;
    Some(SummaryResponse { content, model: model.reference().to_owned() })
}

impl SessionHost {
    /// Returns true if the commands come from a human agent.
    fn is_person(&self, actor: &Actor) -> Result<bool, OpsError> {
        let agents = actor.loom().snapshot()?.agents()?;
        Ok(agents.iter().any(|agent| agent.id() == self.agent && agent.profile.kind == AgentKind::Human))
    }

    /// Returns an actor for the invoked agent, in its own session at the node.
    fn author_actor(&self, caller: &Actor, request: &ContinueRequest<'_>) -> Result<Actor, OpsError> {
        let loom = caller.loom();
        let workspace = match caller.session() {
            Some(session) => loom.session(session)?.workspace,
            None => String::new(),
        };
        actor_at(loom, request.author, &workspace, request.from.id)
    }
}

/// Returns an actor for an agent at node `at`. Uses its newest session in that workspace and tree, or starts one.
///
/// # Errors
/// If the node does not exist or the store fails.
pub fn actor_at(loom: &Loom, agent: &Agent, workspace: &str, at: NodeId) -> Result<Actor, OpsError> {
    let tree = loom.node(at)?.tree;
    let session = loom.actor(agent).ensure_session(workspace, tree, at)?;
    actor_in_session(loom, agent, session, at)
}

/// Returns an actor for an agent in one of its sessions and moves that session to node `at`.
///
/// # Errors
/// If the session does not exist, the node is in another tree, or the store fails.
pub fn actor_in_session(loom: &Loom, agent: &Agent, session: SessionId, at: NodeId) -> Result<Actor, OpsError> {
    let (session, actor) = (loom.session(session)?, loom.actor(agent));
    if session.position != Some(at) {
        actor.set_position(&session, &loom.node(at)?)?;
    }
    Ok(actor.in_session(session.id))
}

/// Converts a generation error to a command error.
fn generate_error(error: GenerateError) -> ToolError {
    match error {
        GenerateError::Ops(error) => error.into(),
        GenerateError::Provider(error) => provider_error(&error),
        other => ToolError::new(ErrorCode::ModelError, other.to_string()),
    }
}

/// Converts a model error to a command error.
#[must_use]
pub fn provider_error(error: &ProviderError) -> ToolError {
    let code = match error.class() {
        ErrorClass::Configuration => ErrorCode::NotConfigured,
        ErrorClass::Cancelled => ErrorCode::Cancelled,
        ErrorClass::Refused | ErrorClass::Retryable => ErrorCode::ModelError,
    };
    ToolError::new(code, error.to_string())
}
