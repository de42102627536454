//! A server's embeddings for recall, which is synchronous.

use tokio::runtime::Handle;

use crate::{
    provider::Embeddings,
    recall::{EmbedError, Embedder},
};

/// A server's model as recall wants it. It blocks while it waits, so it is used where that does no harm.
#[derive(Debug, Clone)]
pub struct Embedding {
    /// Where requests run.
    pub runtime: Handle,
    /// The server's model.
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
