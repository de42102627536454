//! Rules of full-text queries on every backend, so that all of them find the same passages.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::{PassageHit, PassageInfo, Postings, Result, TermPostings};
use crate::text_index::{MAX_PASSAGES, Passage};

/// Maximum number of nodes that wait for the index.
pub(super) const MAX_UNINDEXED_NODES: usize = 256;
/// Approximate maximum of their content in bytes, all of which a search reads.
pub(super) const MAX_UNINDEXED_BYTES: usize = 256 * 1024;
/// Gap between two messages, in milliseconds, that starts a new burst.
pub(super) const BURST_GAP_MS: i64 = 2 * 3_600_000;
/// Passage numbers reserved for each node.
pub(super) const PASSAGES_PER_NODE: i64 = MAX_PASSAGES as i64;
/// Rows read for a term before the next term's turn.
pub(super) const ROWS_PER_STEP: usize = 256;
/// Maximum number of nodes of a session or tree whose rows are enumerated first.
pub(super) const MAX_ENUMERATED_NODES: u64 = 5_000;
/// Maximum number of passages read for combinations of frequent terms, regardless of age.
pub(super) const MAX_COMBINED_ROWS: usize = 300;
/// Maximum number of passages in which a term's repetitions are counted.
pub(super) const MAX_COUNTED_PASSAGES: u64 = 1_000;
/// Maximum number of rare terms with which frequent terms are combined.
pub(super) const MAX_RARE_TERMS: usize = 8;

/// The burst of a node created at `now`. `before` is the time and burst of its parent.
pub(super) fn burst(node: i64, now: i64, before: Option<(i64, i64)>) -> i64 {
    match before {
        Some((at, burst)) if now.saturating_sub(at) < BURST_GAP_MS => burst,
        _ => node,
    }
}

impl Postings {
    /// No hits of some terms, in an index with this number of passages and words.
    pub(super) fn of_index(terms: usize, passages: i64, words: i64) -> Self {
        Self {
            words: vec![TermPostings::default(); terms],
            passages: Vec::new(),
            passage_count: passages.unsigned_abs(),
            word_count: words.unsigned_abs(),
        }
    }

    /// The incompletely read terms, and the completely read ones with hits; the rarest first.
    pub(super) fn frequent_and_rare(&self) -> (Vec<usize>, Vec<usize>) {
        let (mut rare, mut frequent): (Vec<usize>, Vec<usize>) =
            (0..self.words.len()).partition(|word| self.words[*word].complete);
        rare.retain(|word| !self.words[*word].hits.is_empty());
        frequent.sort_by_key(|word| self.words[*word].estimated_passages);
        rare.sort_by_key(|word| self.words[*word].estimated_passages);
        (frequent, rare)
    }

    /// Adds the hits of a node that is not in the index.
    pub(super) fn add_unindexed(
        &mut self,
        node: u64,
        passages: &[Passage],
        wanted: &HashMap<&str, usize>,
        burst: impl Fn() -> Result<i64>,
    ) -> Result<()> {
        self.passage_count += passages.len() as u64;
        for (part, passage) in (0..).zip(passages) {
            self.word_count += u64::from(passage.count);
            let mut counts: Vec<(usize, u32)> = Vec::new();
            for word in passage.words.split_ascii_whitespace().filter_map(|word| wanted.get(word)) {
                match counts.iter_mut().find(|(at, _)| at == word) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((*word, 1)),
                }
            }
            if counts.is_empty() {
                continue;
            }
            let at = self.passages.len();
            let place = PassageInfo { burst: burst()?.unsigned_abs(), length: passage.count };
            self.passages.push(PassageHit { node, part, place: Some(place) });
            for (word, count) in counts {
                self.words[word].hits.push((at, count));
                self.words[word].estimated_passages += 1;
            }
        }
        Ok(())
    }
}

/// The passages that a query has found in the index.
pub(super) struct FoundPassages<'f> {
    /// Sets of allowed nodes, if the filter enumerates them.
    among: [Option<&'f HashSet<u64>>; 2],
    /// Index of each row's passage in the result.
    known: HashMap<i64, usize, RandomState>,
}

impl<'f> FoundPassages<'f> {
    pub(super) fn new(among: [Option<&'f HashSet<u64>>; 2], capacity: usize) -> Self {
        Self { among, known: HashMap::with_capacity_and_hasher(capacity, RandomState::default()) }
    }

    /// Adds a term's occurrence in a row of the index. Returns the index of its passage; `None` if it is not allowed.
    pub(super) fn add_hit(&mut self, row: i64, word: usize, found: &mut Postings) -> Option<usize> {
        let node = (row / PASSAGES_PER_NODE).unsigned_abs();
        if self.among.iter().flatten().any(|among| !among.contains(&node)) {
            return None;
        }
        let place = *self.known.entry(row).or_insert_with(|| {
            let part = u32::try_from(row % PASSAGES_PER_NODE).unwrap_or(0);
            found.passages.push(PassageHit { node, part, place: None });
            found.passages.len() - 1
        });
        found.words[word].hits.push((place, 1));
        Some(place)
    }

    /// The passage of a row, if it was found.
    pub(super) fn place(&self, row: i64) -> Option<usize> {
        self.known.get(&row).copied()
    }
}
