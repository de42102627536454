//! Services of agents' commands by the configuration: models, summaries, web search.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use loomtree::{
    provider::{EmbeddingModel, Model, resolve},
    session::{BoxFuture, ModelResolver, Searcher, ToolAccess, provider_error},
    tools::{ErrorCode, ToolError, WebHit, WebSearch},
    types::Agent,
    web,
};

use super::{
    config::Config,
    embedding_models::embeddings,
    env,
    error::CliError,
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
