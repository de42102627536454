//! Embedding of the question of a search.

use std::time::{Duration, Instant};

use loomtree::{
    recall::{self, EmbedError, QueryEmbedding},
    session::Embedding,
};

use super::{
    command_context::CommandContext,
    error::{CliError, Result},
    models::embeddings,
    process_setup,
};

/// Maximum time for missing embeddings before a search.
const MAX_EMBEDDING_TIME: Duration = Duration::from_secs(2);

/// Returns the embedding of a question, after it embedded nodes that lack a vector, the newest first. `None` if there is no
/// embedding model.
pub(crate) fn embed_query(cx: &CommandContext<'_>, question: &str) -> Result<Option<QueryEmbedding>> {
    let Some(client) = embeddings(&cx.config)? else { return Ok(None) };
    let runtime = process_setup::runtime()?;
    let embedder = Embedding { runtime: runtime.handle().clone(), client };
    let actor = cx.loom.actor(&cx.agent);
    let failed = |error: EmbedError| CliError::failed(error.to_string());
    let start = Instant::now();
    while recall::embed(&actor, &embedder, 1).map_err(failed)? > 0 && start.elapsed() < MAX_EMBEDDING_TIME {}
    Ok(Some(QueryEmbedding::of(&embedder, question).map_err(failed)?))
}
