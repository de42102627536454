//! Opens models for commands.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

#[cfg(feature = "local")]
use loomtree::provider::{KNOWN_WEIGHTS, SentenceEncoder, WeightsUse, load_sentence_encoder};
use loomtree::{
    provider::{EmbeddingModel, Embeddings, Model, Target, resolve},
    session::{BoxFuture, EmbeddingIndexer, ModelResolver, Searcher, ToolAccess, provider_error},
    tools::{ErrorCode, ToolError, WebHit, WebSearch},
    types::Agent,
    web,
};

use super::{
    command_context::CommandContext,
    config::Config,
    env,
    error::{CliError, Result},
    model_choice::{named_model, open},
};

/// Resolves agents' models by the configuration.
pub(crate) struct ConfigModels {
    config: Config,
    /// Windows by model reference: that of a local model is read from its file.
    windows: Mutex<HashMap<String, Option<usize>>>,
}

impl ConfigModels {
    /// Creates the resolver. `default` is the model of agents for which neither their profile nor the configuration names
    /// one, such as the model that the user talks with.
    pub(crate) fn new(config: &Config, default: Option<&str>) -> Self {
        let mut config = config.clone();
        config.model = config.model.or_else(|| default.map(str::to_owned));
        Self { config, windows: Mutex::default() }
    }
}

impl ModelResolver for ConfigModels {
    fn open<'a>(&'a self, agent: &'a Agent) -> BoxFuture<'a, Result<Arc<dyn Model>, ToolError>> {
        let own = named_model(None, Some(agent), &self.config);
        Box::pin(async move { open(own, &self.config).await.map_err(|error| tool_error(&error)) })
    }

    fn known_window(&self, reference: &str) -> Option<usize> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        *windows
            .entry(reference.to_owned())
            .or_insert_with(|| resolve(reference, &self.config.models, &env::env).ok()?.window())
    }

    fn embeddings(&self) -> BoxFuture<'_, Option<Arc<dyn EmbeddingModel>>> {
        let found =
            embeddings(&self.config).inspect_err(|error| tracing::warn!(error = error.message(), "no embeddings"));
        Box::pin(async { found.ok().flatten() })
    }

    fn summarizer(&self) -> BoxFuture<'_, Option<Arc<dyn Model>>> {
        Box::pin(async {
            let reference = self.config.summaries.as_deref()?;
            open(Some(reference), &self.config)
                .await
                .inspect_err(|error| tracing::warn!(error = error.message(), "no summarizer"))
                .ok()
        })
    }
}

/// Value of `embeddings` in the configuration that turns them off.
const NO_EMBEDDINGS: &str = "none";

/// Returns the embedding model: the configured one, else the built-in one if its weights are present.
pub(super) fn embeddings(config: &Config) -> Result<Option<Arc<dyn EmbeddingModel>>> {
    let reference = match config.embeddings.as_deref() {
        Some(NO_EMBEDDINGS) => return Ok(None),
        Some(reference) if !reference.starts_with("local:") => reference,
        _ => return local_embeddings(config),
    };
    match resolve(reference, &config.models, &env::env)? {
        Target::Endpoint(endpoint) => Ok(Some(Arc::new(Embeddings::new(endpoint)?))),
        _ => Err(CliError::usage(format!("embeddings: {reference} is not a model of embeddings"))),
    }
}

#[cfg(feature = "local")]
fn local_embeddings(config: &Config) -> Result<Option<Arc<dyn EmbeddingModel>>> {
    Ok(sentence_encoder(config)?.map(|model| model as Arc<dyn EmbeddingModel>))
}

#[cfg(not(feature = "local"))]
fn local_embeddings(config: &Config) -> Result<Option<Arc<dyn EmbeddingModel>>> {
    match config.embeddings {
        None => Ok(None),
        Some(_) => Err(CliError::usage("embeddings: built-in models need a build with the feature `local`")),
    }
}

/// Returns the built-in embedding model, loaded once a process. `None` if the configuration does not name it and there are
/// no weights.
#[cfg(feature = "local")]
fn sentence_encoder(config: &Config) -> Result<Option<Arc<SentenceEncoder>>> {
    static LOADED: Mutex<Option<Arc<SentenceEncoder>>> = Mutex::new(None);
    let name = config.embeddings.as_deref().map(|reference| reference.trim_start_matches("local:"));
    let weights = KNOWN_WEIGHTS
        .iter()
        .find(|known| known.used_for == WeightsUse::Embeddings && name.is_none_or(|name| name == known.name))
        .ok_or_else(|| CliError::usage("embeddings: the built-in model is local:minilm"))?;
    let folder = super::paths::models_dir()?;
    if !weights.is_present(&folder) && name.is_none() {
        return Ok(None);
    }
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if loaded.is_none() {
        *loaded = Some(Arc::new(load_sentence_encoder(weights, &folder)?));
    }
    Ok(loaded.clone())
}

/// Starts to embed nodes in the background if the embedding model is built in. A server's model is used only for a search,
/// because it may cost money. The thread ends when the result is dropped.
#[cfg(feature = "local")]
pub(crate) fn start_embedding(cx: &CommandContext<'_>) -> Option<EmbeddingIndexer> {
    if cx.config.embeddings.as_deref().is_some_and(|reference| !reference.starts_with("local:")) {
        return None;
    }
    let started = sentence_encoder(&cx.config).and_then(|model| {
        let start = |model: Arc<SentenceEncoder>| EmbeddingIndexer::start(cx.loom.actor(&cx.agent), model);
        model.map(start).transpose().map_err(|e| CliError::io("starting a thread", e))
    });
    // A search reports the error.
    started.inspect_err(|error| tracing::warn!(error = error.message(), "no embeddings")).ok().flatten()
}

/// Returns `None`: this build has no built-in embedding model.
#[cfg(not(feature = "local"))]
pub(crate) fn start_embedding(_: &CommandContext<'_>) -> Option<EmbeddingIndexer> {
    None
}

/// Hint for an agent and for a user: both run commands.
const NO_MODEL_HINT: &str = "write it yourself: → respond ID \"text\"; or have a key set in the environment, a server started on \
                             this machine, or a model named in the configuration";

pub(crate) fn tool_error(error: &CliError) -> ToolError {
    match error {
        CliError::NoModel => ToolError::new(ErrorCode::NotConfigured, "no model is set up").hint(NO_MODEL_HINT),
        CliError::Provider(error) => provider_error(error),
        other => ToolError::new(ErrorCode::NotConfigured, other.message()),
    }
}

/// Returns the services for agents' commands; `model` as in [`ConfigModels::new`].
pub(crate) fn tool_access(config: &Config, model: Option<&str>) -> ToolAccess {
    let defaults = ToolAccess::new(Arc::new(ConfigModels::new(config, model)));
    ToolAccess { search: searcher(config), native: config.native, ..defaults }
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
