//! Opens models for commands, and cancels their requests on Ctrl-C.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::{Arc, Mutex, PoisonError},
};

use loomtree::{
    delegate,
    id::AgentId,
    ops::Actor,
    provider::{EmbeddingModel, Embeddings, Model, Sampling, Target, discover, resolve},
    recall::{self, QueryEmbedding},
    session::{Background, BoxFuture, Embedding, ModelResolver, Searcher, SessionHost, ToolAccess, provider_error},
    tools::{ErrorCode, ToolError, WebHit, WebSearch},
    types::Agent,
    web,
};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::{
    command_context::CommandContext,
    config::Config,
    delegation, env,
    error::{CliError, Result},
};

/// Opens the model that `reference` names, or the first model that is found.
pub(crate) async fn open(reference: Option<&str>, config: &Config) -> Result<Arc<dyn Model>> {
    let mut target = match reference {
        Some(reference) => resolve(reference, &config.models, &env::env)?,
        None => discover::discover(&config.models, &env::env).await?.ok_or(CliError::NoModel)?,
    };
    target.default_sampling(&Sampling {
        temperature: config.temperature,
        max_tokens: config.max_tokens,
        ..Sampling::default()
    });
    Ok(target.connect().await?)
}

/// Resolves agents' models by the configuration.
pub(crate) struct ConfigModels(pub(crate) Config);

impl ModelResolver for ConfigModels {
    fn open<'a>(&'a self, agent: &'a Agent) -> BoxFuture<'a, Result<Arc<dyn Model>, ToolError>> {
        let own = agent.profile.model.as_deref().or(self.0.model.as_deref());
        Box::pin(async move { open(own, &self.0).await.map_err(|error| tool_error(&error)) })
    }

    fn embeddings(&self) -> BoxFuture<'_, Option<Arc<dyn EmbeddingModel>>> {
        let found = embeddings(&self.0).inspect_err(|error| tracing::warn!(error = error.message(), "no embeddings"));
        Box::pin(async { found.ok().flatten() })
    }

    fn summarizer(&self) -> BoxFuture<'_, Option<Arc<dyn Model>>> {
        Box::pin(async {
            let reference = self.0.summaries.as_deref()?;
            open(Some(reference), &self.0)
                .await
                .inspect_err(|error| tracing::warn!(error = error.message(), "no summarizer"))
                .ok()
        })
    }
}

/// Returns the client of the embedding model, if one is configured.
pub(crate) fn embeddings(config: &Config) -> Result<Option<Arc<dyn EmbeddingModel>>> {
    let Some(reference) = config.embeddings.as_deref() else { return Ok(None) };
    match resolve(reference, &config.models, &env::env)? {
        Target::Endpoint(endpoint) => Ok(Some(Arc::new(Embeddings::new(endpoint)?))),
        _ => Err(CliError::usage(format!("embeddings: {reference} is not a model of a server"))),
    }
}

/// Returns the embedding of a question, after it embedded all nodes that lack a vector. `None` if no embedding model is
/// configured.
pub(crate) fn embed_query(cx: &CommandContext<'_>, question: &str) -> Result<Option<QueryEmbedding>> {
    let Some(client) = embeddings(&cx.config)? else { return Ok(None) };
    let runtime = env::runtime()?;
    let embedder = Embedding { runtime: runtime.handle().clone(), client };
    let actor = cx.loom.actor(&cx.agent);
    let embedded = recall::embed(&actor, &embedder, usize::MAX).and_then(|_| QueryEmbedding::of(&embedder, question));
    Ok(Some(embedded.map_err(|error| CliError::failed(error.to_string()))?))
}

pub(crate) fn tool_error(error: &CliError) -> ToolError {
    match error {
        CliError::NoModel => ToolError::new(ErrorCode::NotConfigured, "no model is set up")
            .hint("set a key in the environment, start a server on this machine, or name a model in the configuration"),
        CliError::Provider(error) => provider_error(error),
        other => ToolError::new(ErrorCode::NotConfigured, other.message()),
    }
}

/// Returns the services for agents' commands.
pub(crate) fn tool_access(config: &Config) -> ToolAccess {
    ToolAccess { search: searcher(config), ..ToolAccess::new(Arc::new(ConfigModels(config.clone()))) }
}

/// Returns the configured web search. An error in its configuration is reported when an agent searches, because no
/// other command needs it.
fn searcher(config: &Config) -> Option<Arc<dyn Searcher>> {
    match web::open(&config.search, &env::env) {
        Ok(None) => None,
        Ok(Some(web)) => Some(Arc::new(web)),
        Err(error) => Some(Arc::new(MisconfiguredSearch(error.to_string()))),
    }
}

/// A search service whose configuration is invalid.
struct MisconfiguredSearch(String);

impl Searcher for MisconfiguredSearch {
    fn search<'a>(&'a self, _: &'a WebSearch<'a>) -> BoxFuture<'a, Result<Vec<WebHit>, ToolError>> {
        Box::pin(async { Err(ToolError::new(ErrorCode::NotConfigured, &self.0)) })
    }
}

/// Returns the host that runs an agent's arrow lines.
pub(crate) fn session_host(
    cx: &CommandContext<'_>,
    agent: AgentId,
    runtime: &Runtime,
    cancel: CancellationToken,
) -> SessionHost {
    let mut commands = tool_access(&cx.config);
    commands.orchestrator = delegation::default_orchestrator(cx, Arc::clone(&cx.approval), None);
    SessionHost {
        runtime: runtime.handle().clone(),
        agent,
        tool_access: commands,
        context: cx.config.context(None),
        partials_dir: Some(cx.partials_dir.clone()),
        prices: cx.config.prices.clone(),
        cancel,
        on_delegation: update_printer(cx),
        on_progress: Arc::new(|_| {}),
    }
}

/// Returns a sink that prints updates of delegated work to a terminal.
fn update_printer(cx: &CommandContext<'_>) -> delegate::UpdateSink {
    let (width, shown) = (cx.out.width, !cx.out.json && io::stderr().is_terminal());
    Arc::new(move |update| {
        if let Some(line) = delegation::update_line(&update, width).filter(|_| shown) {
            // A closed standard error is ignored: the report has the same facts.
            let _ = writeln!(anstream::stderr(), "{}", line.trim_end());
        }
    })
}

/// Moves `follower` to the position of `agent`, if both are in the same tree.
pub(crate) fn follow_agent(follower: &Actor, agent: &Actor) -> Result<()> {
    let (Some(own), Some(theirs)) = (follower.session(), agent.session()) else { return Ok(()) };
    let (session, theirs) = (follower.loom().session(own)?, follower.loom().session(theirs)?);
    if theirs.tree == session.tree
        && let Some(position) = theirs.position
        && Some(position) != session.position
    {
        follower.set_position(&session, &follower.loom().node(position)?)?;
    }
    Ok(())
}

/// Waits for delegations that run in the background. Ctrl-C stops them; they can be resumed later.
pub(crate) fn wait_for_background(background: &Background, runtime: &Runtime, ctrl_c: &CtrlC) -> Result<()> {
    let running = background.running();
    if running == 0 {
        return Ok(());
    }
    let notice =
        format!("waiting for delegated work ({running} running); Ctrl-C stops it, loom delegate --resume continues it");
    writeln!(io::stderr(), "{notice}").map_err(|e| CliError::io("writing", e))?;
    let cancel = ctrl_c.arm();
    runtime.block_on(async {
        tokio::select! {
            () = background.idle() => {}
            () = cancel.cancelled() => {
                background.stop();
                background.idle().await;
            }
        }
    });
    ctrl_c.disarm();
    Ok(())
}

/// The action of Ctrl-C. The first press cancels the armed request, which saves its partial reply. A second press, or a
/// press when nothing is armed, exits with code 130.
#[derive(Clone, Default)]
pub(crate) struct CtrlC(Arc<Mutex<Option<CancellationToken>>>);

impl CtrlC {
    /// Starts to listen for Ctrl-C.
    pub(crate) fn listen(runtime: &Runtime) -> Self {
        let ctrl_c = Self::default();
        let handle = ctrl_c.clone();
        runtime.spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                match handle.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
                    Some(running) => running.cancel(),
                    None => std::process::exit(130),
                }
            }
        });
        ctrl_c
    }

    /// Returns a new token that the next Ctrl-C cancels.
    pub(crate) fn arm(&self) -> CancellationToken {
        let cancel = CancellationToken::new();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancel.clone());
        cancel
    }

    /// Forgets the armed token.
    pub(crate) fn disarm(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
