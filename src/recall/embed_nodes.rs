//! Embeddings of nodes: those that are missing are requested from a model and stored.

use super::{EmbedError, Embedder};
use crate::{
    ops::{Actor, OpsError},
    store::Mutation,
    types::Op,
};

/// Number of texts per request.
const BATCH_TEXTS: u32 = 32;
/// Maximum number of bytes of a text that are sent: models read no more, and a text's subject is near its start.
const MAX_TEXT_BYTES: usize = 2_000;

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

/// Requests embeddings and normalizes them to length one.
pub(super) fn request_embeddings(embedder: &dyn Embedder, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
    let wanted = texts.len();
    let mut vectors = embedder.embed(&texts)?;
    let length = vectors.first().map_or(0, Vec::len);
    if vectors.len() != wanted || length == 0 || vectors.iter().any(|vector| vector.len() != length) {
        return Err(EmbedError::Model(format!("{wanted} were asked for, and {} came", vectors.len())));
    }
    for vector in &mut vectors {
        let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        if !norm.is_finite() {
            return Err(EmbedError::Model("one is not of numbers".to_owned()));
        }
        vector.iter_mut().for_each(|x| *x /= norm.max(f32::MIN_POSITIVE));
    }
    Ok(vectors)
}

/// The part of a text that is sent to the model.
pub(super) fn truncate(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
