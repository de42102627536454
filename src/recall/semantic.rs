//! Searching by meaning too: vectors of texts, made by a model that a program brings along, mixed with the ranking by
//! words.
//!
//! It is an option and off by default: words alone find most, and vectors alone find less; mixed in lightly they add what
//! shares no word with the question. Scores of such different kinds are compared by how far each stands out among the
//! candidates (z-scores). Vectors are kept in the store, one a node and model, and are derived: a rebuild drops them, and
//! [`embed`] makes those that are missing. They are compared one by one.

use std::collections::HashSet;

use crate::{
    ops::{Actor, OpsError},
    store::{Mutation, Snapshot, WordFilter},
    types::Op,
};

/// What vectors count beside words.
const VECTORS: f64 = 0.3;
/// Texts that are sent at once.
const BATCH: usize = 64;
/// Bytes of a text that are sent: models read no more at once, and what is meant is said early.
const LONGEST: usize = 2_000;
/// The nearest that are candidates without sharing a word with the question.
pub(super) const NEAREST: usize = 100;

/// What turns texts into vectors.
pub trait Embedder: Send + Sync {
    /// The model's name: vectors of one model are not compared with those of another.
    fn model(&self) -> &str;

    /// The vectors of texts, one each, all of one length.
    ///
    /// # Errors
    /// If they cannot be had now.
    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Why there are no vectors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The model could not be asked, or answered something else.
    #[error("no vectors: {0}")]
    Model(String),
    /// They could not be read or kept.
    #[error(transparent)]
    Ops(#[from] OpsError),
}

/// What a question means, by one model.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryEmbedding {
    model: String,
    vector: Vec<f32>,
}

impl QueryEmbedding {
    /// Has a question's vector made.
    ///
    /// # Errors
    /// If it cannot be had.
    pub fn of(embedder: &dyn Embedder, question: &str) -> Result<Self, EmbedError> {
        let vector = made(embedder, vec![cut(question).to_owned()])?.pop().unwrap_or_default();
        Ok(Self { model: embedder.model().to_owned(), vector })
    }

    /// How near each node is that fits, the nearest first.
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

/// Makes the vectors that are missing, of the newest nodes first, at most `limit`; returns how many it made.
///
/// # Errors
/// If the model fails or the store does. What was made before is kept.
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
                missing.push((node, cut(text).to_owned()));
            }
            missing.len() < limit
        };
        snapshot.newest_first(&all, u32::MAX, &mut take).map_err(OpsError::from)?;
    }
    let count = missing.len().min(limit);
    for batch in missing[..count].chunks(BATCH) {
        let vectors = made(embedder, batch.iter().map(|(_, text)| text.clone()).collect())?;
        let vectors = batch.iter().map(|(node, _)| *node).zip(vectors).collect();
        actor.commit(Op::Turn, vec![Mutation::SaveEmbeddings { model: embedder.model().to_owned(), vectors }])?;
    }
    Ok(count)
}

/// Vectors of length one, as many as texts.
fn made(embedder: &dyn Embedder, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
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

/// Scores by words and by nearness as one, for each candidate.
pub(super) fn mixed(words: &[f64], near: &[Option<f64>]) -> Vec<f64> {
    let (by_words, by_meaning) = (standing_out(words.iter().copied().map(Some)), standing_out(near.iter().copied()));
    by_words.into_iter().zip(by_meaning).map(|(a, b)| (1.0 - VECTORS) * a + VECTORS * b).collect()
}

/// How far each value stands out, in standard deviations; 0 for one that is not known.
fn standing_out(values: impl Iterator<Item = Option<f64>> + Clone) -> Vec<f64> {
    let count = values.clone().flatten().count().max(1) as f64;
    let mean = values.clone().flatten().sum::<f64>() / count;
    let deviation = (values.clone().flatten().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    values.map(|value| value.map_or(0.0, |value| (value - mean) / deviation.max(1e-9))).collect()
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
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
        let mixed = mixed(&[9.0, 8.9, 0.0, 0.0], &[Some(0.1), Some(0.9), Some(0.8), None]);
        assert!(mixed[1] > mixed[0] && mixed[0] > mixed[2] && mixed[2] > mixed[3], "{mixed:?}");
        assert!(standing_out([Some(1.0), Some(1.0)].into_iter()).iter().all(|value| value.abs() < 1e-9));
        assert!(standing_out([].into_iter()).is_empty());
    }
}
