//! Semantic search: embeddings of nodes, made by a model, combined with the ranking by words.
//!
//! It is optional. Words alone find more than embeddings alone. So the similarity of a node and the question counts like
//! one more word, and the nearest nodes become candidates even if they share no word with the question. The store has
//! one embedding per node and model. Embeddings are derived: a rebuild drops them, and [`super::embed`] creates missing ones.

use super::embed_nodes::{request_embeddings, truncate};
use crate::{
    ops::OpsError,
    store::{Snapshot, WordFilter},
};

/// Number of the nearest nodes that become candidates.
const MAX_NEAREST_NODES: usize = 200;
/// Similarity from which a text is shown as similar. That of unrelated texts is about 0.15.
pub(super) const SIMILAR: f64 = 0.4;
/// The same if no node contains a word of the question.
pub(super) const SIMILAR_WITHOUT_WORDS: f64 = 0.25;

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
