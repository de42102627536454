//! Ranking: BM25 over the words of a node and, with less weight, of its neighbours, combined with the similarity of
//! embeddings.
//!
//! An answer rarely repeats the words of its question, so a node also scores the words of its parent and continuations.
//! Embeddings are optional, and words alone find more than embeddings alone. So the similarity of a node and its neighbours
//! to the question counts like one more word, and the nodes nearest to the question become candidates without its words.
//! All nodes of a conversation burst (no gap over 2 h) share a further score. Only the best nodes by their own words,
//! and their neighbours, are rescored this way; the others cannot reach the top.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::{QueryEmbedding, Result, query_parser::QueryTerm};
use crate::store::{Neighbors, PassageInfo, Postings, Snapshot, WordFilter};

type Map<K, V> = HashMap<K, V, RandomState>;

/// BM25 saturation of the term frequency.
const K1: f64 = 0.5;
/// BM25 length normalization: 0 none, 1 full.
const B: f64 = 0.35;
/// Weights of neighbours' words: of the parent and grandparent, of children and grandchildren.
const ANCESTOR_WEIGHTS: [f64; 2] = [0.5, 0.3];
const CONTINUATION_WEIGHTS: [f64; 2] = [0.2, 0.1];
/// Weight of the parent's words if the parent is a question.
const QUESTION_WEIGHT: f64 = 0.7;
/// Weight of the similarity to the question, relative to all words of the question together.
const SIMILARITY_WEIGHT: f64 = 0.75;
/// Weights of neighbours' similarities: of the parent, of a parent that is a question, of the continuations.
const PARENT_SIMILARITY: f64 = 0.4;
const QUESTION_SIMILARITY: f64 = 0.6;
const CONTINUATION_SIMILARITY: f64 = 0.4;
/// Weight of the words of a burst, and their saturation. A burst is long, so it saturates later.
const BURST_WEIGHT: f64 = 0.4;
const BURST_K1: f64 = 2.0;
/// Number of nodes checked against the filter at once, and the number of passing nodes that ends the check.
const MIN_FILTERED_NODES: usize = 500;
/// Number of nodes that are rescored, without their neighbours.
const MAX_RESCORED_NODES: usize = 120;

/// A candidate of the ranking.
#[derive(Debug, Clone, Copy)]
pub(super) struct RankCandidate {
    pub(super) node: u64,
    /// Passage with the best score.
    pub(super) part: u32,
    pub(super) score: f64,
    /// Parent, and the score to add if the parent is a question. The ranking does not read the parent's text.
    pub(super) before: Option<u64>,
    pub(super) if_asked: f64,
}

/// Numbers by index of the searched word.
type Counts = Vec<f64>;

struct Ranking<'a> {
    snapshot: &'a dyn Snapshot,
    postings: &'a Postings,
    /// Weight (inverse document frequency) of each word.
    weights: Counts,
    /// Words of all passages with their frequencies, passage by passage. A synonym counts as the word.
    words: Vec<(usize, f64)>,
    /// Start of each passage in `words`, and the end.
    begins: Vec<usize>,
    /// Node and index of each passage, sorted by node.
    passages: Vec<(u64, usize)>,
    /// Position and length of each passage, once read.
    places: Vec<Option<PassageInfo>>,
    /// Mean number of words of a passage.
    mean: f64,
    beside: Map<u64, Neighbors>,
    /// Similarities of the candidates and their neighbours to the question, weighted.
    similar: Map<u64, f64>,
}

/// Inputs of a ranking besides the postings.
pub(super) struct RankQuery<'a> {
    /// The terms that the postings were read for.
    pub(super) terms: &'a [QueryTerm],
    /// Factors for the weights of the words that the terms stand for.
    pub(super) factors: &'a [f64],
    pub(super) filter: &'a WordFilter,
    /// Approximate number of searched nodes.
    pub(super) nodes: u64,
    pub(super) meaning: Option<&'a QueryEmbedding>,
}

/// Inverse document frequency of a word in about `about` of `nodes` nodes.
pub(super) fn weight(about: u64, nodes: u64) -> f64 {
    let (about, of) = (about as f64, nodes.max(about) as f64);
    (1.0 + (of - about + 0.5) / (about + 0.5)).ln()
}

/// Returns the candidates, the best first.
pub(super) fn rank(snapshot: &dyn Snapshot, postings: &Postings, query: &RankQuery<'_>) -> Result<Vec<RankCandidate>> {
    let RankQuery { terms, factors, filter, nodes, meaning } = *query;
    let mut about = vec![0; factors.len()];
    terms.iter().zip(&postings.words).for_each(|(term, word)| about[term.word] += word.estimated_passages);
    let weights = about.into_iter().zip(factors).map(|(about, factor)| weight(about, nodes) * factor);
    let mut begins = vec![0; postings.passages.len() + 1];
    for (passage, _) in postings.words.iter().flat_map(|word| &word.hits) {
        begins[passage + 1] += 1;
    }
    for at in 1..begins.len() {
        begins[at] += begins[at - 1];
    }
    let (mut ends, mut words) = (begins.clone(), vec![(0, 0.0); begins.last().copied().unwrap_or(0)]);
    for (term, hits) in terms.iter().zip(&postings.words) {
        for (passage, count) in &hits.hits {
            words[ends[*passage]] = (term.word, term.weight * f64::from(*count));
            ends[*passage] += 1;
        }
    }
    let mut passages: Vec<(u64, usize)> =
        (0..).zip(&postings.passages).map(|(at, passage)| (passage.node, at)).collect();
    passages.sort_unstable();
    let mut ranking = Ranking {
        snapshot,
        postings,
        weights: weights.collect(),
        words,
        begins,
        passages,
        places: postings.passages.iter().map(|passage| passage.place).collect(),
        mean: (postings.word_count as f64 / (postings.passage_count as f64).max(1.0)).max(1.0),
        beside: Map::default(),
        similar: Map::default(),
    };
    let nearest = meaning.map(|meaning| meaning.nearest(snapshot, filter)).transpose()?.unwrap_or_default();
    let close = ranking.select_candidates(filter, &nearest)?;
    if let Some(meaning) = meaning {
        ranking.load_similarities(meaning)?;
    }
    let sittings = ranking.burst_scores();
    let mut found = Vec::with_capacity(close.len());
    for (node, sitting) in close {
        let mut best = ranking.rescore(node);
        best.score += BURST_WEIGHT * sittings.get(&sitting).copied().unwrap_or(0.0);
        found.push(best);
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.node.cmp(&a.node)));
    Ok(found)
}

impl Ranking<'_> {
    /// BM25 score of words with their frequencies.
    fn score(&self, counts: impl Iterator<Item = (usize, f64)>) -> f64 {
        counts.map(|(word, count)| self.weights[word] * count * (K1 + 1.0) / (count + K1)).sum()
    }

    /// Words of a passage with their frequencies.
    fn words(&self, passage: usize) -> &[(usize, f64)] {
        &self.words[self.begins[passage]..self.begins[passage + 1]]
    }

    /// Passages of a node that contain a searched word.
    fn passages(&self, node: u64) -> impl Iterator<Item = usize> + '_ {
        let first = self.passages.partition_point(|(of, _)| *of < node);
        self.passages[first..].iter().take_while(move |(of, _)| *of == node).map(|(_, passage)| *passage)
    }

    /// Loads the neighbours of nodes that are not loaded yet.
    fn load_neighbors(&mut self, nodes: impl Iterator<Item = u64>) -> Result<()> {
        let mut nodes: Vec<u64> = nodes.filter(|node| !self.beside.contains_key(node)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let beside = self.snapshot.neighbors(&nodes)?;
        self.beside.extend(nodes.into_iter().zip(beside));
        Ok(())
    }

    /// Loaded neighbours of a node.
    fn neighbors(&self, node: u64) -> impl Iterator<Item = u64> + '_ {
        self.beside.get(&node).into_iter().flat_map(|beside| beside.before.iter().chain(&beside.after)).copied()
    }

    /// Returns the nodes to be rescored, with their bursts, and loads their neighbours up to two steps away. `nearest` are
    /// further candidates.
    fn select_candidates(&mut self, filter: &WordFilter, nearest: &[u64]) -> Result<Map<u64, u64>> {
        let placed = self.filter_candidates(filter)?;
        let mut close: Map<u64, u64> = placed.into_iter().take(MAX_RESCORED_NODES).collect();
        let first: Vec<(u64, u32)> = nearest.iter().map(|node| (*node, 0)).collect();
        let places = self.snapshot.places(&first, filter)?;
        // A node that is not indexed yet has no known burst.
        close.extend(nearest.iter().zip(places).map(|(node, place)| (*node, place.map_or(*node, |place| place.burst))));
        let mut edge: Vec<(u64, u64)> = close.iter().map(|(node, sitting)| (*node, *sitting)).collect();
        for _ in 0..2 {
            self.load_neighbors(edge.iter().map(|(node, _)| *node))?;
            let next = edge.iter().flat_map(|(node, sitting)| self.neighbors(*node).map(|beside| (beside, *sitting)));
            let next: Vec<(u64, u64)> = next.filter(|(node, _)| !close.contains_key(node)).collect();
            close.extend(next.iter().copied());
            edge = next;
        }
        self.load_neighbors(edge.iter().map(|(node, _)| *node))?;
        let last: Vec<u64> = edge.iter().flat_map(|(node, _)| self.neighbors(*node)).collect();
        self.load_neighbors(last.into_iter())?;
        Ok(close)
    }

    /// Returns the nodes that pass the filter, with their bursts. The order is by their own words and those of the
    /// adjacent sequence numbers. The filter is checked for the best nodes only.
    fn filter_candidates(&mut self, filter: &WordFilter) -> Result<Vec<(u64, u64)>> {
        let mut best: Vec<(u64, f64)> = Vec::with_capacity(self.passages.len());
        for (node, passage) in &self.passages {
            let score = self.score(self.words(*passage).iter().copied());
            match best.last_mut() {
                Some((last, most)) if last == node => *most = most.max(score),
                _ => best.push((*node, score)),
            }
        }
        let own = best.clone();
        for (at, (node, score)) in best.iter_mut().enumerate() {
            let of = |at: usize, node: u64| own.get(at).filter(|(of, _)| *of == node).map_or(0.0, |(_, score)| *score);
            // The parent and the continuation mostly have the adjacent sequence numbers.
            *score += ANCESTOR_WEIGHTS[0] * of(at.wrapping_sub(1), node.wrapping_sub(1))
                + CONTINUATION_WEIGHTS[0] * of(at + 1, *node + 1);
        }
        best.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        let mut placed = Vec::new();
        for portion in best.chunks(MIN_FILTERED_NODES) {
            let asked = portion.iter().flat_map(|(node, _)| self.passages(*node));
            let asked: Vec<usize> = asked.filter(|at| self.places[*at].is_none()).collect();
            let passages: Vec<(u64, u32)> =
                asked.iter().map(|at| (self.postings.passages[*at].node, self.postings.passages[*at].part)).collect();
            for (at, place) in asked.iter().zip(self.snapshot.places(&passages, filter)?) {
                self.places[*at] = place;
            }
            for (node, _) in portion {
                let place = self.passages(*node).find_map(|at| self.places[at]);
                placed.extend(place.map(|place| (*node, place.burst)));
            }
            if placed.len() >= MIN_FILTERED_NODES {
                break;
            }
        }
        Ok(placed)
    }

    /// Frequencies of the words of a passage, normalized by its length.
    fn counts(&self, at: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let length = self.places[at].map_or(1.0, |place| 1.0 - B + B * f64::from(place.length) / self.mean);
        self.words(at).iter().map(move |(word, count)| (*word, count / length))
    }

    /// Loads the similarities of all loaded nodes. The weight is that of all words of the question, at least that of one
    /// rare word.
    fn load_similarities(&mut self, meaning: &QueryEmbedding) -> Result<()> {
        let words = self.weights.iter().sum::<f64>().max(weight(0, self.postings.passage_count));
        let mut nodes: Vec<u64> = self.beside.keys().copied().collect();
        nodes.sort_unstable();
        let near = meaning.similarities(self.snapshot, &nodes)?;
        self.similar =
            nodes.into_iter().zip(near).map(|(node, near)| (node, SIMILARITY_WEIGHT * words * near)).collect();
        Ok(())
    }

    /// Scores a node by its similarity and those of its neighbours. Returns the score, and the score to add if the parent is
    /// a question.
    fn similarity(&self, node: u64, beside: &Neighbors) -> (f64, f64) {
        let of = |node: u64| self.similar.get(&node).copied().unwrap_or(0.0);
        let parent = beside.before.map_or(0.0, of);
        let after = beside.after.iter().map(|node| of(*node)).fold(0.0, f64::max);
        let score = of(node) + PARENT_SIMILARITY * parent + CONTINUATION_SIMILARITY * after;
        (score, (QUESTION_SIMILARITY - PARENT_SIMILARITY) * parent)
    }

    /// Scores a node by its best passage and its neighbours.
    fn rescore(&self, node: u64) -> RankCandidate {
        let (mut around, mut asked) = (vec![0.0; self.weights.len()], vec![0.0; self.weights.len()]);
        let none = Neighbors::default();
        let beside = |node: u64| self.beside.get(&node).unwrap_or(&none);
        let Neighbors { before, after } = beside(node);
        if let Some(parent) = *before {
            self.add_neighbor_counts([parent], ANCESTOR_WEIGHTS[0], &mut around);
            self.add_neighbor_counts([parent], QUESTION_WEIGHT - ANCESTOR_WEIGHTS[0], &mut asked);
            self.add_neighbor_counts(beside(parent).before, ANCESTOR_WEIGHTS[1], &mut around);
        }
        self.add_neighbor_counts(after.iter().copied(), CONTINUATION_WEIGHTS[0], &mut around);
        self.add_neighbor_counts(
            after.iter().flat_map(|node| &beside(*node).after).copied(),
            CONTINUATION_WEIGHTS[1],
            &mut around,
        );
        let both = |counts: &[f64]| {
            let score = self.score(counts.iter().copied().enumerate());
            let with = counts.iter().zip(&asked).map(|(count, asked)| count + asked);
            (score, self.score(with.enumerate()) - score)
        };
        let (score, if_asked) = both(&around);
        let mut best = RankCandidate { node, part: 0, score, before: *before, if_asked };
        let mut counts = around.clone();
        for at in self.passages(node) {
            counts.copy_from_slice(&around);
            self.counts(at).for_each(|(word, count)| counts[word] += count);
            let (score, if_asked) = both(&counts);
            if score > best.score {
                best = RankCandidate { part: self.postings.passages[at].part, score, if_asked, ..best };
            }
        }
        let (score, if_asked) = self.similarity(node, beside(node));
        RankCandidate { score: best.score + score, if_asked: best.if_asked + if_asked, ..best }
    }

    /// Adds the weighted words of neighbours. Of several neighbours, each word counts with its highest frequency.
    fn add_neighbor_counts(&self, nodes: impl IntoIterator<Item = u64>, weight: f64, around: &mut [f64]) {
        let mut passages = nodes.into_iter().flat_map(|node| self.passages(node));
        let (Some(first), second) = (passages.next(), passages.next()) else { return };
        if second.is_none() {
            return self.counts(first).for_each(|(word, count)| around[word] += weight * count);
        }
        let mut most = vec![0.0_f64; around.len()];
        for at in std::iter::once(first).chain(second).chain(passages) {
            self.counts(at).for_each(|(word, count)| most[word] = most[word].max(count));
        }
        around.iter_mut().zip(most).for_each(|(sum, count)| *sum += weight * count);
    }

    /// Scores each burst as a whole.
    fn burst_scores(&self) -> Map<u64, f64> {
        let mut counts: Map<u64, Counts> = Map::default();
        for (at, place) in self.places.iter().enumerate() {
            let Some(place) = place else { continue };
            let sitting = counts.entry(place.burst).or_insert_with(|| vec![0.0; self.weights.len()]);
            self.words(at).iter().for_each(|(word, count)| sitting[*word] += count);
        }
        let all = counts.len() as f64;
        let mut stand = vec![0.0; self.weights.len()];
        for words in counts.values() {
            words.iter().zip(&mut stand).for_each(|(count, stand)| *stand += f64::from(*count > 0.0));
        }
        let tells = |(count, stand): (f64, &f64)| {
            (1.0 + (all - stand + 0.5) / (stand + 0.5)).ln() * count * (BURST_K1 + 1.0) / (count + BURST_K1)
        };
        let score = |words: Counts| words.into_iter().zip(&stand).map(tells).sum();
        counts.into_iter().map(|(sitting, words)| (sitting, score(words))).collect()
    }
}
