//! Interface of an embedding model, and requests to it.

use crate::{ops::OpsError, types::truncate_bytes};

/// Maximum number of bytes of a text that are sent: models read no more, and a text's subject is near its start.
const MAX_TEXT_BYTES: usize = 2_000;

/// A model that converts texts into embeddings.
pub trait Embedder: Send + Sync {
    /// Name of the model. Embeddings of different models are not compared.
    fn model(&self) -> &str;

    /// Returns one embedding per text, all of the same length.
    ///
    /// # Errors
    /// If the model is unavailable.
    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Error of an embedding request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The model was unavailable or returned an invalid reply.
    #[error("no vectors: {0}")]
    Model(String),
    /// The store could not be read or written.
    #[error(transparent)]
    Ops(#[from] OpsError),
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
    truncate_bytes(text, MAX_TEXT_BYTES)
}
