//! The embedding model of the configuration, and the thread that embeds nodes with the built-in one.

use std::sync::Arc;
#[cfg(feature = "local")]
use std::sync::{Mutex, PoisonError};

#[cfg(feature = "local")]
use loomtree::provider::{KNOWN_WEIGHTS, ModelTask, SentenceEncoder, load_sentence_encoder};
use loomtree::{
    provider::{EmbeddingModel, Embeddings, Target, resolve},
    session::EmbeddingIndexer,
};

use super::{
    command_context::CommandContext,
    config::Config,
    env,
    error::{CliError, Result},
};

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
        .find(|known| known.task == ModelTask::Embeddings && name.is_none_or(|name| name == known.name))
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
