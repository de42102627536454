//! Adapter from a server's asynchronous embeddings to the synchronous [`Embedder`] of recall.

use tokio::runtime::Handle;

use crate::{
    provider::Embeddings,
    recall::{EmbedError, Embedder},
};

/// Embedding client for recall. It blocks its thread during a request, so it must not run on an async worker thread.
#[derive(Debug, Clone)]
pub struct Embedding {
    /// Runtime that executes the requests.
    pub runtime: Handle,
    /// Client of the embedding model.
    pub client: Embeddings,
}

impl Embedder for Embedding {
    fn model(&self) -> &str {
        self.client.reference()
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.runtime.block_on(self.client.embed(texts)).map_err(|error| EmbedError::Model(error.to_string()))
    }
}
