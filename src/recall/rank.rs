//! Ranking: BM25 over a node's own words and, with less weight, those of its neighbours.
//!
//! An answer inherits the words of its question, so a node counts the words of what it hangs on and of what continues
//! it. What was said on end counts together too. Only the best by their own words, and what stands beside them, are
//! looked at closely; the rest could not catch up.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::Result;
use crate::store::{Neighbors, PassageInfo, Postings, Snapshot, WordFilter};

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
/// Nodes of which it is asked whether they fit and where they were said, as many at a time, until so many do.
const PLACED: usize = 500;
/// Nodes that are looked at closely, without those beside them.
const CLOSE: usize = 120;

/// A node that may be what is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct RankCandidate {
    pub(super) node: u64,
    /// The passage that speaks for it.
    pub(super) part: u32,
    pub(super) score: f64,
    /// What it hangs on, and by how much the score is greater where that asks something. Whether it does is not known
    /// here.
    pub(super) before: Option<u64>,
    pub(super) if_asked: f64,
}

/// Numbers for each word, by its place among the words that are looked for.
type Counts = Vec<f64>;

struct Ranking<'a> {
    snapshot: &'a dyn Snapshot,
    said: &'a Postings,
    /// What each word tells.
    weights: Counts,
    /// The words of all passages, with how often they stand there, one passage after the other.
    words: Vec<(usize, f64)>,
    /// Where in `words` each passage begins, and the end.
    begins: Vec<usize>,
    /// Passages by node and part, and the node of each.
    passages: Vec<(u64, usize)>,
    /// What is known of each passage, once it was asked for.
    places: Vec<Option<PassageInfo>>,
    /// Words of a passage in the mean.
    mean: f64,
    beside: Map<u64, Neighbors>,
}

/// The weight of a word that stands in about so many of so many nodes: the rarer, the more.
pub(super) fn weight(about: u64, nodes: u64) -> f64 {
    let (about, of) = (about as f64, nodes.max(about) as f64);
    (1.0 + (of - about + 0.5) / (about + 0.5)).ln()
}

/// The candidates, the best first. `nodes` is about how many nodes were searched.
pub(super) fn rank(
    snapshot: &dyn Snapshot,
    said: &Postings,
    filter: &WordFilter,
    nodes: u64,
) -> Result<Vec<RankCandidate>> {
    let weights = said.words.iter().map(|word| weight(word.about, nodes));
    let mut begins = vec![0; said.passages.len() + 1];
    for (passage, _) in said.words.iter().flat_map(|word| &word.hits) {
        begins[passage + 1] += 1;
    }
    for at in 1..begins.len() {
        begins[at] += begins[at - 1];
    }
    let (mut ends, mut words) = (begins.clone(), vec![(0, 0.0); begins.last().copied().unwrap_or(0)]);
    for (word, hits) in said.words.iter().enumerate() {
        for (passage, count) in &hits.hits {
            words[ends[*passage]] = (word, f64::from(*count));
            ends[*passage] += 1;
        }
    }
    let mut passages: Vec<(u64, usize)> = (0..).zip(&said.passages).map(|(at, said)| (said.node, at)).collect();
    passages.sort_unstable();
    let mut ranking = Ranking {
        snapshot,
        said,
        weights: weights.collect(),
        words,
        begins,
        passages,
        places: said.passages.iter().map(|passage| passage.place).collect(),
        mean: (said.length as f64 / (said.all as f64).max(1.0)).max(1.0),
        beside: Map::default(),
    };
    let close = ranking.close(filter)?;
    let sittings = ranking.sittings();
    let mut found = Vec::with_capacity(close.len());
    for (node, sitting) in close {
        let mut best = ranking.closely(node);
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

    /// The words of a passage, with how often they stand there.
    fn words(&self, passage: usize) -> &[(usize, f64)] {
        &self.words[self.begins[passage]..self.begins[passage + 1]]
    }

    /// The passages of a node that hold any of the words.
    fn passages(&self, node: u64) -> impl Iterator<Item = usize> + '_ {
        let first = self.passages.partition_point(|(of, _)| *of < node);
        self.passages[first..].iter().take_while(move |(of, _)| *of == node).map(|(_, passage)| *passage)
    }

    /// Asks what nodes stand beside, of which that is not known yet.
    fn look_beside(&mut self, nodes: impl Iterator<Item = u64>) -> Result<()> {
        let mut nodes: Vec<u64> = nodes.filter(|node| !self.beside.contains_key(node)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let beside = self.snapshot.neighbors(&nodes)?;
        self.beside.extend(nodes.into_iter().zip(beside));
        Ok(())
    }

    /// What stands beside a node that was asked about.
    fn beside(&self, node: u64) -> impl Iterator<Item = u64> + '_ {
        self.beside.get(&node).into_iter().flat_map(|beside| beside.before.iter().chain(&beside.after)).copied()
    }

    /// The nodes to be looked at closely, with their sittings. What they stand beside is known then, and what that does.
    fn close(&mut self, filter: &WordFilter) -> Result<Map<u64, u64>> {
        let placed = self.placed(filter)?;
        let mut close: Map<u64, u64> = placed.into_iter().take(CLOSE).collect();
        let mut edge: Vec<(u64, u64)> = close.iter().map(|(node, sitting)| (*node, *sitting)).collect();
        for _ in 0..2 {
            self.look_beside(edge.iter().map(|(node, _)| *node))?;
            let next = edge.iter().flat_map(|(node, sitting)| self.beside(*node).map(|beside| (beside, *sitting)));
            let next: Vec<(u64, u64)> = next.filter(|(node, _)| !close.contains_key(node)).collect();
            close.extend(next.iter().copied());
            edge = next;
        }
        self.look_beside(edge.iter().map(|(node, _)| *node))?;
        let last: Vec<u64> = edge.iter().flat_map(|(node, _)| self.beside(*node)).collect();
        self.look_beside(last.into_iter())?;
        Ok(close)
    }

    /// The nodes that fit, the best by their own words and those of the nodes with the numbers beside theirs first, each with
    /// its sitting: which those are is asked of the best alone.
    fn placed(&mut self, filter: &WordFilter) -> Result<Vec<(u64, u64)>> {
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
            // What was said before and after mostly has the numbers beside this one.
            *score += BEFORE[0] * of(at.wrapping_sub(1), node.wrapping_sub(1)) + AFTER[0] * of(at + 1, *node + 1);
        }
        best.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        let mut placed = Vec::new();
        for portion in best.chunks(PLACED) {
            let asked = portion.iter().flat_map(|(node, _)| self.passages(*node));
            let asked: Vec<usize> = asked.filter(|at| self.places[*at].is_none()).collect();
            let passages: Vec<(u64, u32)> =
                asked.iter().map(|at| (self.said.passages[*at].node, self.said.passages[*at].part)).collect();
            for (at, place) in asked.iter().zip(self.snapshot.places(&passages, filter)?) {
                self.places[*at] = place;
            }
            for (node, _) in portion {
                let place = self.passages(*node).find_map(|at| self.places[at]);
                placed.extend(place.map(|place| (*node, place.burst)));
            }
            if placed.len() >= PLACED {
                break;
            }
        }
        Ok(placed)
    }

    /// The words of a passage, each as often as it counts: less in a long one.
    fn counts(&self, at: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let length = self.places[at].map_or(1.0, |place| 1.0 - B + B * f64::from(place.length) / self.mean);
        self.words(at).iter().map(move |(word, count)| (*word, count / length))
    }

    /// A node by its best passage, with its neighbours.
    fn closely(&self, node: u64) -> RankCandidate {
        let (mut around, mut asked) = (vec![0.0; self.weights.len()], vec![0.0; self.weights.len()]);
        let none = Neighbors::default();
        let beside = |node: u64| self.beside.get(&node).unwrap_or(&none);
        let Neighbors { before, after } = beside(node);
        if let Some(parent) = *before {
            self.add([parent], BEFORE[0], &mut around);
            self.add([parent], ASKED - BEFORE[0], &mut asked);
            self.add(beside(parent).before, BEFORE[1], &mut around);
        }
        self.add(after.iter().copied(), AFTER[0], &mut around);
        self.add(after.iter().flat_map(|node| &beside(*node).after).copied(), AFTER[1], &mut around);
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
                best = RankCandidate { part: self.said.passages[at].part, score, if_asked, ..best };
            }
        }
        best
    }

    /// Adds what neighbours say; of several, each word by the one that says it most.
    fn add(&self, nodes: impl IntoIterator<Item = u64>, weight: f64, around: &mut [f64]) {
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

    /// What each sitting tells as a whole.
    fn sittings(&self) -> Map<u64, f64> {
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
            (1.0 + (all - stand + 0.5) / (stand + 0.5)).ln() * count * (SITTING_K1 + 1.0) / (count + SITTING_K1)
        };
        let score = |words: Counts| words.into_iter().zip(&stand).map(tells).sum();
        counts.into_iter().map(|(sitting, words)| (sitting, score(words))).collect()
    }
}
