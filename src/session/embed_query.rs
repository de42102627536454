//! Embedding of the question of a search: the adapter from an asynchronous model to the synchronous [`Embedder`], and the
//! embeddings that a search creates first.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::runtime::Handle;

use crate::{
    ops::Actor,
    provider::EmbeddingModel,
    recall::{self, EmbedError, Embedder, QueryEmbedding},
};

/// Maximum time for missing embeddings before a search. A batch that has begun is completed.
const MAX_EMBEDDING_TIME: Duration = Duration::from_secs(2);

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

/// Returns the embedding of a question, after it embedded nodes that lack a vector, the newest first.
///
/// # Errors
/// If the model fails or the store does.
pub fn embed_query(actor: &Actor, embedder: &Embedding, question: &str) -> Result<QueryEmbedding, EmbedError> {
    let start = Instant::now();
    while recall::embed(actor, embedder, 1)? > 0 && start.elapsed() < MAX_EMBEDDING_TIME {}
    QueryEmbedding::of(embedder, question)
}
