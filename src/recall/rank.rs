//! Ranking: BM25 over a node's own words and, with less weight, those of its neighbours.
//!
//! An answer inherits the words of its question, so a node counts the words of what it hangs on and of what continues
//! it. What was said on end counts together too. Only the best by their own words, and what stands beside them, are
//! looked at closely; the rest could not catch up.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::Result;
use crate::store::{Beside, Place, Snapshot, WordFilter, WordsSaid};

type Map<K, V> = HashMap<K, V, RandomState>;

/// How soon more of the same word tells no more.
const K1: f64 = 0.5;
/// How much a long passage has to say a word more often.
const B: f64 = 0.3;
/// What the words of neighbours count: of the node before and the one before that, after and after that.
const BEFORE: [f64; 2] = [0.5, 0.3];
const AFTER: [f64; 2] = [0.3, 0.1];
/// What the words of the node before count, where it asks.
const ASKED: f64 = 0.7;
/// What all that was said on end counts, and how soon more of the same word in it tells no more: it is long.
const SITTING: f64 = 0.4;
const SITTING_K1: f64 = 1.5;
/// Nodes of which it is asked whether they fit and where they were said, at most, and in what portions.
const PLACED: usize = 500;
const PORTION: usize = 100;
/// Nodes that are looked at closely, without those beside them.
const CLOSE: usize = 120;

/// A node that may be what is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) node: u64,
    /// The passage that speaks for it.
    pub(super) part: u32,
    pub(super) score: f64,
    /// What it hangs on, and by how much the score is greater where that asks something. Whether it does is not known
    /// here.
    pub(super) before: Option<u64>,
    pub(super) if_asked: f64,
}

struct Ranking<'a> {
    snapshot: &'a dyn Snapshot,
    said: &'a WordsSaid,
    /// What each word tells.
    weights: Vec<f64>,
    /// The words of each passage, with how often they stand there.
    words: Vec<Vec<(usize, f64)>>,
    /// The passages of each node.
    passages: Map<u64, Vec<usize>>,
    /// What is known of each passage, once it was asked for.
    places: Vec<Option<Place>>,
    /// Words of a passage in the mean.
    mean: f64,
    beside: Map<u64, Beside>,
}

/// The candidates, the best first. `nodes` is about how many nodes were searched.
pub(super) fn rank(
    snapshot: &dyn Snapshot,
    said: &WordsSaid,
    filter: &WordFilter,
    nodes: u64,
) -> Result<Vec<Candidate>> {
    let weights = said.words.iter().map(|word| {
        let (about, of) = (word.about as f64, (nodes as f64).max(word.about as f64));
        (1.0 + (of - about + 0.5) / (about + 0.5)).ln()
    });
    let mut words = vec![Vec::new(); said.passages.len()];
    for (word, hits) in said.words.iter().enumerate() {
        for (passage, count) in &hits.hits {
            words[*passage].push((word, f64::from(*count)));
        }
    }
    let mut passages: Map<u64, Vec<usize>> = Map::default();
    for (at, passage) in said.passages.iter().enumerate() {
        passages.entry(passage.node).or_default().push(at);
    }
    let mut ranking = Ranking {
        snapshot,
        said,
        weights: weights.collect(),
        words,
        passages,
        places: said.passages.iter().map(|passage| passage.place).collect(),
        mean: (said.length as f64 / (said.all as f64).max(1.0)).max(1.0),
        beside: Map::default(),
    };
    let close = ranking.close(filter)?;
    let sittings = ranking.sittings();
    let mut found = Vec::with_capacity(close.len());
    for (node, sitting) in close {
        let mut best = ranking.closely(node)?;
        best.score += SITTING * sittings.get(&sitting).copied().unwrap_or(0.0);
        found.push(best);
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.node.cmp(&a.node)));
    Ok(found)
}

impl Ranking<'_> {
    /// What words that stand so often tell.
    fn score(&self, counts: impl Iterator<Item = (usize, f64)>) -> f64 {
        counts.map(|(word, count)| self.weights[word] * count * (K1 + 1.0) / (count + K1)).sum()
    }

    fn beside(&mut self, node: u64) -> Result<Beside> {
        if let Some(known) = self.beside.get(&node) {
            return Ok(known.clone());
        }
        let beside = self.snapshot.beside(node)?;
        self.beside.insert(node, beside.clone());
        Ok(beside)
    }

    /// The nodes to be looked at closely, with their sittings.
    fn close(&mut self, filter: &WordFilter) -> Result<Map<u64, u64>> {
        let placed = self.placed(filter)?;
        let mut close: Map<u64, u64> = placed.into_iter().take(CLOSE).collect();
        let mut edge: Vec<(u64, u64)> = close.iter().map(|(node, sitting)| (*node, *sitting)).collect();
        for _ in 0..2 {
            let mut next = Vec::new();
            for (node, sitting) in edge {
                let beside = self.beside(node)?;
                next.extend(beside.before.iter().chain(&beside.after).map(|node| (*node, sitting)));
            }
            next.retain(|(node, _)| !close.contains_key(node));
            close.extend(next.iter().copied());
            edge = next;
        }
        Ok(close)
    }

    /// The nodes that fit, the best by their own words and those of the nodes with the numbers beside theirs first, each with
    /// its sitting: which those are is asked of the best alone.
    fn placed(&mut self, filter: &WordFilter) -> Result<Vec<(u64, u64)>> {
        let own = |passages: &[usize]| {
            passages.iter().map(|at| self.score(self.words[*at].iter().copied())).fold(0.0, f64::max)
        };
        let mut best: Vec<(u64, f64)> = self.passages.iter().map(|(node, passages)| (*node, own(passages))).collect();
        let scores: Map<u64, f64> = best.iter().copied().collect();
        let of = |node: u64| scores.get(&node).copied().unwrap_or(0.0);
        for (node, score) in &mut best {
            // What was said before and after mostly has the numbers beside this one.
            *score += BEFORE[0] * of(node.wrapping_sub(1)) + AFTER[0] * of(*node + 1);
        }
        best.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        let mut placed = Vec::new();
        for portion in best.chunks(PORTION) {
            let asked: Vec<usize> = portion.iter().flat_map(|(node, _)| &self.passages[node]).copied().collect();
            let asked: Vec<usize> = asked.into_iter().filter(|at| self.places[*at].is_none()).collect();
            let passages: Vec<(u64, u32)> =
                asked.iter().map(|at| (self.said.passages[*at].node, self.said.passages[*at].part)).collect();
            for (at, place) in asked.iter().zip(self.snapshot.places(&passages, filter)?) {
                self.places[*at] = place;
            }
            for (node, _) in portion {
                let place = self.passages[node].iter().find_map(|at| self.places[*at]);
                placed.extend(place.map(|place| (*node, place.sitting)));
            }
            if placed.len() >= PLACED {
                break;
            }
        }
        Ok(placed)
    }

    /// The words of a passage, each as often as it counts: less in a long one.
    fn counts(&self, at: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let length = self.places[at].map_or(1.0, |place| 1.0 - B + B * f64::from(place.words) / self.mean);
        self.words[at].iter().map(move |(word, count)| (*word, count / length))
    }

    /// A node by its best passage, with its neighbours.
    fn closely(&mut self, node: u64) -> Result<Candidate> {
        let mut around: Map<usize, f64> = Map::default();
        let mut asked: Map<usize, f64> = Map::default();
        let beside = self.beside(node)?;
        let parent = beside.before;
        let (mut before, mut after) = (beside.before, beside.after);
        for step in 0..2 {
            if let Some(node) = before {
                self.add(&[node], BEFORE[step], &mut around);
            }
            self.add(&after, AFTER[step], &mut around);
            if step == 0 {
                before = before.map(|node| self.beside(node)).transpose()?.and_then(|beside| beside.before);
                let mut later = Vec::new();
                for node in after {
                    later.extend(self.beside(node)?.after);
                }
                after = later;
            }
        }
        if let Some(parent) = parent {
            self.add(&[parent], ASKED - BEFORE[0], &mut asked);
        }
        let with = |counts: &Map<usize, f64>| self.score(counts.iter().map(|(word, count)| (*word, *count)));
        let both = |mut counts: Map<usize, f64>| {
            let score = with(&counts);
            asked.iter().for_each(|(word, count)| *counts.entry(*word).or_default() += count);
            (score, with(&counts) - score)
        };
        let (score, if_asked) = both(around.clone());
        let mut best = Candidate { node, part: 0, score, before: parent, if_asked };
        for at in self.passages.get(&node).map_or(&[][..], Vec::as_slice) {
            let mut counts = around.clone();
            for (word, count) in self.counts(*at) {
                *counts.entry(word).or_default() += count;
            }
            let (score, if_asked) = both(counts);
            if score > best.score {
                best = Candidate { part: self.said.passages[*at].part, score, if_asked, ..best };
            }
        }
        Ok(best)
    }

    /// Adds what neighbours say; of several, each word by the one that says it most.
    fn add(&self, nodes: &[u64], weight: f64, around: &mut Map<usize, f64>) {
        let mut most: Map<usize, f64> = Map::default();
        for at in nodes.iter().filter_map(|node| self.passages.get(node)).flatten() {
            for (word, count) in self.counts(*at) {
                let kept = most.entry(word).or_default();
                *kept = kept.max(count);
            }
        }
        for (word, count) in most {
            *around.entry(word).or_default() += weight * count;
        }
    }

    /// What each sitting tells as a whole.
    fn sittings(&self) -> Map<u64, f64> {
        let mut counts: Map<u64, Map<usize, f64>> = Map::default();
        for (place, words) in self.places.iter().zip(&self.words) {
            let Some(place) = place else { continue };
            let sitting = counts.entry(place.sitting).or_default();
            for (word, count) in words {
                *sitting.entry(*word).or_default() += count;
            }
        }
        let all = counts.len() as f64;
        let mut stand = vec![0.0; self.weights.len()];
        counts.values().flat_map(Map::keys).for_each(|word| stand[*word] += 1.0);
        let tells = |word: usize, count: f64| {
            (1.0 + (all - stand[word] + 0.5) / (stand[word] + 0.5)).ln() * count * (SITTING_K1 + 1.0)
                / (count + SITTING_K1)
        };
        let score = |words: Map<usize, f64>| words.into_iter().map(|(word, count)| tells(word, count)).sum();
        counts.into_iter().map(|(sitting, words)| (sitting, score(words))).collect()
    }
}
