//! Embedding of a question, the nodes nearest to it, and the similarity of a node to it. `rank.rs` combines the similarity
//! with the ranking by words.

use super::{
    EmbedError, Embedder,
    embedder::{request_embeddings, truncate},
};
use crate::store::{Snapshot, WordFilter};

/// Number of the nearest nodes that become candidates.
const MAX_NEAREST_NODES: usize = 200;

/// Embedding of a question by one model.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryEmbedding {
    model: String,
    vector: Vec<f32>,
}

impl QueryEmbedding {
    /// Requests the embedding of a question.
    ///
    /// # Errors
    /// If the model is unavailable or returns an invalid reply.
    pub fn of(embedder: &dyn Embedder, question: &str) -> Result<Self, EmbedError> {
        let vector = request_embeddings(embedder, vec![truncate(question).to_owned()])?.pop().unwrap_or_default();
        Ok(Self { model: embedder.model().to_owned(), vector })
    }

    /// Returns the matching nodes with the most similar texts, the nearest first.
    pub(super) fn nearest(&self, snapshot: &dyn Snapshot, filter: &WordFilter) -> super::Result<Vec<u64>> {
        Ok(snapshot.nearest(&self.model, &self.vector, filter, MAX_NEAREST_NODES)?)
    }

    /// Returns the similarity of each node to the question, from 0 for unrelated nodes and nodes without an embedding.
    pub(super) fn similarities(&self, snapshot: &dyn Snapshot, nodes: &[u64]) -> super::Result<Vec<f64>> {
        let near = snapshot.similarities(&self.model, &self.vector, nodes)?;
        Ok(near.into_iter().map(|near| near.map_or(0.0, |near| near.max(0.0))).collect())
    }
}
