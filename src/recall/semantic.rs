//! Semantic search: embeddings of nodes, made by a model of the host, combined with the ranking by words.
//!
//! It is optional. Words alone find more than embeddings alone; with a small weight, embeddings add nodes that share no
//! word with the question. Both scores are compared as z-scores among the candidates. The store has one embedding per
//! node and model. Embeddings are derived: a rebuild drops them, and [`embed`] creates the missing ones. The search
//! compares them one by one.

use std::collections::HashSet;

use crate::{
    ops::{Actor, OpsError},
    store::{Mutation, Snapshot, WordFilter},
    types::Op,
};

/// Weight of the embedding score relative to the word score.
const EMBEDDING_WEIGHT: f64 = 0.3;
/// Number of texts per request.
const BATCH_TEXTS: usize = 64;
/// Maximum number of bytes of a text that are sent: models read no more, and a text's subject is near its start.
const MAX_TEXT_BYTES: usize = 2_000;
/// Number of the nearest nodes that become candidates without sharing a word.
pub(super) const MAX_SEMANTIC_CANDIDATES: usize = 100;

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

    /// Returns the similarity of each node that passes the filter, the nearest first.
    pub(super) fn near(&self, snapshot: &dyn Snapshot, filter: &WordFilter) -> super::Result<Vec<(u64, f64)>> {
        let mut near: Vec<(u64, f64)> = Vec::new();
        snapshot.vectors(&self.model, filter, &mut |node, vector| {
            if vector.len() == self.vector.len() {
                near.push((node, vector.iter().zip(&self.vector).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()));
            }
        })?;
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        Ok(near)
    }
}

/// Creates missing embeddings, of the newest nodes first, at most `limit`. Returns the number of created ones.
///
/// # Errors
/// If the model or the store fails. Embeddings of earlier batches remain.
pub fn embed(actor: &Actor, embedder: &dyn Embedder, limit: usize) -> Result<usize, EmbedError> {
    let mut known = HashSet::new();
    let mut missing: Vec<(u64, String)> = Vec::new();
    {
        let snapshot = actor.loom().snapshot()?;
        let all = WordFilter::default();
        snapshot
            .vectors(embedder.model(), &all, &mut |node, _| {
                known.insert(node);
            })
            .map_err(OpsError::from)?;
        let mut take = |node: u64, text: &str| {
            if !text.trim().is_empty() && !known.contains(&node) {
                missing.push((node, truncate(text).to_owned()));
            }
            missing.len() < limit
        };
        snapshot.newest_first(&all, u32::MAX, &mut take).map_err(OpsError::from)?;
    }
    let count = missing.len().min(limit);
    for batch in missing[..count].chunks(BATCH_TEXTS) {
        let vectors = request_embeddings(embedder, batch.iter().map(|(_, text)| text.clone()).collect())?;
        let vectors = batch.iter().map(|(node, _)| *node).zip(vectors).collect();
        actor.commit(Op::Turn, vec![Mutation::SaveEmbeddings { model: embedder.model().to_owned(), vectors }])?;
    }
    Ok(count)
}

/// Requests embeddings and normalizes them to length one.
fn request_embeddings(embedder: &dyn Embedder, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
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

/// Combines word scores and similarities into one score per candidate.
pub(super) fn fuse_scores(words: &[f64], near: &[Option<f64>]) -> Vec<f64> {
    let (by_words, by_meaning) = (z_scores(words.iter().copied().map(Some)), z_scores(near.iter().copied()));
    by_words.into_iter().zip(by_meaning).map(|(a, b)| (1.0 - EMBEDDING_WEIGHT) * a + EMBEDDING_WEIGHT * b).collect()
}

/// Z-scores: deviations from the mean in standard deviations; 0 for a missing value.
fn z_scores(values: impl Iterator<Item = Option<f64>> + Clone) -> Vec<f64> {
    let count = values.clone().flatten().count().max(1) as f64;
    let mean = values.clone().flatten().sum::<f64>() / count;
    let deviation = (values.clone().flatten().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    values.map(|value| value.map_or(0.0, |value| (value - mean) / deviation.max(1e-9))).collect()
}

fn truncate(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_out_in_both_comes_first() {
        let mixed = fuse_scores(&[9.0, 8.9, 0.0, 0.0], &[Some(0.1), Some(0.9), Some(0.8), None]);
        assert!(mixed[1] > mixed[0] && mixed[0] > mixed[2] && mixed[2] > mixed[3], "{mixed:?}");
        assert!(z_scores([Some(1.0), Some(1.0)].into_iter()).iter().all(|value| value.abs() < 1e-9));
        assert!(z_scores([].into_iter()).is_empty());
    }
}
