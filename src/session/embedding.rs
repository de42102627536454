//! Adapter from an asynchronous embedding model to the synchronous [`Embedder`] of recall.

use std::sync::Arc;

use tokio::runtime::Handle;

use crate::{
    provider::EmbeddingModel,
    recall::{EmbedError, Embedder},
};

/// Embedding model for recall. It blocks its thread during a request, so it must not run on an async worker thread.
#[derive(Clone)]
pub struct Embedding {
    /// Runtime that executes the requests.
    pub runtime: Handle,
    /// Model that computes the vectors.
    pub client: Arc<dyn EmbeddingModel>,
}

impl Embedder for Embedding {
    fn model(&self) -> &str {
        self.client.reference()
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.runtime.block_on(self.client.embed(texts)).map_err(|error| EmbedError::Model(error.to_string()))
    }
}
