//! Embedding of the question of a search, by the configured model.

use loomtree::{
    recall::QueryEmbedding,
    session::{self, Embedding},
};

use super::{
    command_context::CommandContext,
    embedding_models::embeddings,
    error::{CliError, Result},
    process_setup,
};

/// Returns the embedding of a question, after it embedded nodes that lack a vector, the newest first. `None` if there is no
/// embedding model.
pub(crate) fn embed_query(cx: &CommandContext<'_>, question: &str) -> Result<Option<QueryEmbedding>> {
    let Some(client) = embeddings(&cx.config)? else { return Ok(None) };
    let runtime = process_setup::runtime()?;
    let embedder = Embedding { runtime: runtime.handle().clone(), client };
    let actor = cx.loom.actor(&cx.agent);
    let embedding = session::embed_query(&actor, &embedder, question);
    embedding.map(Some).map_err(|error| CliError::failed(error.to_string()))
}
