//! Models for commands: opened by name, by the configuration, or found; and Ctrl-C, which stops what they write.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::{Arc, Mutex, PoisonError},
};

use loomtree::{
    arrow::run::{ErrorCode, ToolError, WebHit, WebSearch},
    delegate,
    id::AgentId,
    ops::Actor,
    provider::{Embeddings, Model, Sampling, Target, discover, resolve},
    recall::{self, QueryEmbedding},
    session::{Background, BoxFuture, Embedding, ModelResolver, Searcher, SessionHost, ToolAccess, provider_error},
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

/// The model that a reference means; without one, a model that is found.
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

/// Opens agents' models as the configuration says.
pub(crate) struct ConfigModels(pub(crate) Config);

impl ModelResolver for ConfigModels {
    fn open<'a>(&'a self, agent: &'a Agent) -> BoxFuture<'a, Result<Arc<dyn Model>, ToolError>> {
        let own = agent.profile.model.as_deref().or(self.0.model.as_deref());
        Box::pin(async move { open(own, &self.0).await.map_err(|error| failure(&error)) })
    }

    fn embeddings(&self) -> BoxFuture<'_, Option<Embeddings>> {
        let found = embeddings(&self.0).inspect_err(|error| tracing::warn!(error = error.message(), "no embeddings"));
        Box::pin(async { found.ok().flatten() })
    }

    fn summarizer(&self) -> BoxFuture<'_, Option<Arc<dyn Model>>> {
        Box::pin(async {
            let reference = self.0.summaries.as_deref()?;
            open(Some(reference), &self.0)
                .await
                .inspect_err(|error| tracing::warn!(error = error.message(), "there are no summaries"))
                .ok()
        })
    }
}

/// The model whose vectors recall goes by too, if one is set up.
pub(crate) fn embeddings(config: &Config) -> Result<Option<Embeddings>> {
    let Some(reference) = config.embeddings.as_deref() else { return Ok(None) };
    match resolve(reference, &config.models, &env::env)? {
        Target::Endpoint(endpoint) => Ok(Some(Embeddings::new(endpoint)?)),
        _ => Err(CliError::usage(format!("embeddings: {reference} is no server's model"))),
    }
}

/// What a question means, after the vectors were made that are missing; `None` where no model is set up for that.
pub(crate) fn meaning(desk: &CommandContext<'_>, question: &str) -> Result<Option<QueryEmbedding>> {
    let Some(client) = embeddings(&desk.config)? else { return Ok(None) };
    let runtime = env::runtime()?;
    let embedder = Embedding { runtime: runtime.handle().clone(), client };
    let actor = desk.loom.actor(&desk.agent);
    let made = recall::embed(&actor, &embedder, usize::MAX).and_then(|_| QueryEmbedding::of(&embedder, question));
    Ok(Some(made.map_err(|error| CliError::failed(error.to_string()))?))
}

pub(crate) fn failure(error: &CliError) -> ToolError {
    match error {
        CliError::NoModel => ToolError::new(ErrorCode::NotConfigured, "no model is attached")
            .hint("a key in the environment, a server on this machine, or a model in the configuration attaches one"),
        CliError::Provider(error) => provider_error(error),
        other => ToolError::new(ErrorCode::NotConfigured, other.message()),
    }
}

/// What agents may do by commands here.
pub(crate) fn commands(config: &Config) -> ToolAccess {
    ToolAccess { search: searcher(config), ..ToolAccess::new(Arc::new(ConfigModels(config.clone()))) }
}

/// What searches the web here. A mistake in its configuration is told to who searches: nothing else needs it.
fn searcher(config: &Config) -> Option<Arc<dyn Searcher>> {
    match web::open(&config.search, &env::env) {
        Ok(None) => None,
        Ok(Some(web)) => Some(Arc::new(web)),
        Err(error) => Some(Arc::new(MisconfiguredSearch(error.to_string()))),
    }
}

/// A search service that is set up wrongly.
struct MisconfiguredSearch(String);

impl Searcher for MisconfiguredSearch {
    fn search<'a>(&'a self, _: &'a WebSearch<'a>) -> BoxFuture<'a, Result<Vec<WebHit>, ToolError>> {
        Box::pin(async { Err(ToolError::new(ErrorCode::NotConfigured, &self.0)) })
    }
}

/// What is done for arrow lines of an agent here.
pub(crate) fn hosting(
    desk: &CommandContext<'_>,
    agent: AgentId,
    runtime: &Runtime,
    cancel: CancellationToken,
) -> SessionHost {
    let mut commands = commands(&desk.config);
    commands.orchestrator = delegation::usual(desk, Arc::clone(&desk.asked), None);
    SessionHost {
        runtime: runtime.handle().clone(),
        agent,
        tool_access: commands,
        context: desk.config.context(None),
        partials_dir: Some(desk.drafts.clone()),
        prices: desk.config.prices.clone(),
        cancel,
        on_delegation: told(desk),
        on_progress: Arc::new(|_| {}),
    }
}

/// Shows a person what happens in work that they delegated by a line of theirs.
fn told(desk: &CommandContext<'_>) -> delegate::UpdateSink {
    let (width, shown) = (desk.out.width, !desk.out.json && io::stderr().is_terminal());
    Arc::new(move |told| {
        if let Some(line) = delegation::line(&told, width).filter(|_| shown) {
            // Who cannot see it has the report.
            let _ = writeln!(anstream::stderr(), "{}", line.trim_end());
        }
    })
}

/// Who had another one act goes where that one is now, if it is in the same tree.
pub(crate) fn follow(one: &Actor, other: &Actor) -> Result<()> {
    let (Some(own), Some(theirs)) = (one.session(), other.session()) else { return Ok(()) };
    let (session, theirs) = (one.loom().session(own)?, one.loom().session(theirs)?);
    if theirs.tree == session.tree
        && let Some(position) = theirs.position
        && Some(position) != session.position
    {
        one.stand(&session, &one.loom().node(position)?)?;
    }
    Ok(())
}

/// Waits for delegated work that nobody waited for so far. Ctrl-C stops it; it can be carried on later.
pub(crate) fn wait(background: &Background, runtime: &Runtime, stop: &CtrlC) -> Result<()> {
    let running = background.running();
    if running == 0 {
        return Ok(());
    }
    let said = format!("waiting for what was delegated ({running}); Ctrl-C stops it, loom delegate --resume goes on");
    writeln!(io::stderr(), "{said}").map_err(|e| CliError::io("writing", e))?;
    let cancel = stop.begin();
    runtime.block_on(async {
        tokio::select! {
            () = background.idle() => {}
            () = cancel.cancelled() => {
                background.stop();
                background.idle().await;
            }
        }
    });
    stop.end();
    Ok(())
}

/// What Ctrl-C stops: the first one what runs, which saves what came; the second one, or where nothing runs, the program.
#[derive(Clone, Default)]
pub(crate) struct CtrlC(Arc<Mutex<Option<CancellationToken>>>);

impl CtrlC {
    /// Listens from now on.
    pub(crate) fn listen(runtime: &Runtime) -> Self {
        let stop = Self::default();
        let heard = stop.clone();
        runtime.spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                match heard.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
                    Some(running) => running.cancel(),
                    None => std::process::exit(130),
                }
            }
        });
        stop
    }

    /// The token of what runs from now on.
    pub(crate) fn begin(&self) -> CancellationToken {
        let cancel = CancellationToken::new();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancel.clone());
        cancel
    }

    /// Nothing runs any more.
    pub(crate) fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
