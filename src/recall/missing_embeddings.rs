//! Embeddings of nodes: those that are missing are requested from a model and stored. The store has one embedding per node
//! and model. Embeddings are derived data: a rebuild drops them.

use super::{
    EmbedError, Embedder,
    embedder::{request_embeddings, truncate},
};
use crate::{
    ops::{Actor, OpsError},
    store::Mutation,
    types::Op,
};

/// Number of texts per request.
const BATCH_TEXTS: u32 = 32;

/// Creates missing embeddings, of the newest nodes first, of about `limit` nodes. Returns the number of nodes that were
/// read: 0 if none is missing.
///
/// # Errors
/// If the model or the store fails. Embeddings of earlier batches remain.
pub fn embed(actor: &Actor, embedder: &dyn Embedder, limit: usize) -> Result<usize, EmbedError> {
    let mut read = 0;
    while read < limit {
        let batch = actor.loom().snapshot()?.unembedded(embedder.model(), BATCH_TEXTS).map_err(OpsError::from)?;
        let Some(batch) = batch else { break };
        let (nodes, texts): (Vec<u64>, Vec<String>) =
            batch.texts.iter().map(|(node, text)| (*node, truncate(text).to_owned())).unzip();
        let vectors = if texts.is_empty() { Vec::new() } else { request_embeddings(embedder, texts)? };
        let (model, vectors) = (embedder.model().to_owned(), nodes.into_iter().zip(vectors).collect());
        actor.commit(Op::Turn, vec![Mutation::SaveEmbeddings { model, range: batch.range, vectors }])?;
        read += usize::try_from(batch.range.1 - batch.range.0).unwrap_or(usize::MAX).saturating_add(1);
    }
    Ok(read)
}
