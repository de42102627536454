//! Distinction of matches from near results, and counts of matches. It uses the postings that the search read, so it
//! reads no text again.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::{
    HitFilter, Query, Result,
    query_parser::{ParsedQuery, may_contain, normalize},
    rank,
};
use crate::{
    id::NodeId,
    store::{ChildFilter, Postings, Snapshot, WordFilter},
    text_index::WordTokenizer,
    types::{AuthorType, Node},
};

/// Minimum weight of a rare word, as a share of the rarest word's weight.
const RARE_WEIGHT_SHARE: f64 = 0.5;
/// Maximum number of a word's passages that are checked against the filter.
const MAX_CHECKED_PASSAGES: usize = 200;
/// Number of nodes read at once for a count.
const COUNT_PAGE_NODES: usize = 500;

/// Words of a query by node, and the rare words that a match must contain.
pub(super) struct Matching {
    held: HashMap<u64, u64, RandomState>,
    rare: u64,
}

impl Matching {
    /// Indexes the postings of the first `words` terms by node. `nodes` is the approximate number of searched nodes.
    pub(super) fn new(said: &Postings, words: usize, nodes: u64) -> Self {
        let words = &said.words[..words.min(said.words.len())];
        let weights: Vec<f64> = words.iter().map(|word| rank::weight(word.about, nodes)).collect();
        let most = weights.iter().copied().fold(0.0, f64::max);
        let (mut held, mut rare) = (HashMap::default(), 0);
        for (at, (word, weight)) in words.iter().zip(weights).enumerate() {
            if weight >= most * RARE_WEIGHT_SHARE {
                rare |= 1 << at;
            }
            for (passage, _) in &word.hits {
                *held.entry(said.passages[*passage].node).or_insert(0) |= 1 << at;
            }
        }
        Self { held, rare }
    }

    fn word_bits(&self, node: u64) -> u64 {
        self.held.get(&node).copied().unwrap_or(0)
    }

    /// Number of the query's words that a node contains.
    pub(super) fn own_words(&self, node: u64) -> u32 {
        self.word_bits(node).count_ones()
    }

    /// True if a node contains all rare words.
    pub(super) fn has_rare_words(&self, node: u64) -> bool {
        self.word_bits(node) & self.rare == self.rare
    }
}

/// Returns the words of a query, as written, that no node within the filter contains.
pub(super) fn absent_words(
    snapshot: &dyn Snapshot,
    query: &Query,
    question: &ParsedQuery,
    said: &Postings,
    filter: &WordFilter,
) -> Result<Vec<String>> {
    let mut absent = Vec::new();
    for (word, hits) in question.words.iter().zip(&said.words) {
        if !hits.complete || hits.hits.len() > MAX_CHECKED_PASSAGES {
            continue;
        }
        let passages: Vec<_> = hits.hits.iter().map(|(at, _)| said.passages[*at]).collect();
        let ids: Vec<(u64, u32)> = passages.iter().map(|passage| (passage.node, passage.part)).collect();
        let fits = snapshot.places(&ids, filter)?;
        if !passages.iter().zip(fits).any(|(passage, place)| passage.place.or(place).is_some()) {
            absent.push(word.as_str());
        }
    }
    let mut reader = WordTokenizer::default();
    let mut written: Vec<String> = Vec::new();
    for word in query.text.split(|c: char| c.is_whitespace() || c == '"').filter(|_| !absent.is_empty()) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_absent = reader.query(word).iter().any(|stem| absent.contains(&stem.as_str()));
        if is_absent && !written.iter().any(|known| known.eq_ignore_ascii_case(word)) {
            written.push(word.to_owned());
        }
    }
    Ok(written)
}

/// Returns the newest nodes that contain a text literally, at most `limit` among the newest `read`.
pub(super) fn search_phrase(
    snapshot: &dyn Snapshot,
    filter: &WordFilter,
    text: &str,
    read: u32,
    limit: usize,
) -> Result<Vec<rank::RankCandidate>> {
    let mut found = Vec::new();
    if !text.is_empty() {
        snapshot.newest_first(filter, read, &mut |node, content| {
            if may_contain(content, text) && normalize(content).contains(text) {
                found.push(rank::RankCandidate { node, part: 0, score: 1.0, before: None, if_asked: 0.0 });
            }
            found.len() < limit
        })?;
    }
    Ok(found)
}

/// Number of nodes that match a query.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Number of all matching nodes.
    pub total: u64,
    /// Matches by kind of author, in descending order.
    pub authors: Vec<(AuthorType, u64)>,
    /// Tool results by the name of the tool, in descending order.
    pub tools: Vec<(String, u64)>,
}

/// Counts all nodes that contain the query's rare words or, with [`Query::exact`], its literal text. `keep` is an
/// additional filter. The query's limit does not apply.
///
/// # Errors
/// If the store cannot be read, or the scope or a filter names an object that does not exist.
pub fn count(snapshot: &dyn Snapshot, query: &Query, keep: &dyn Fn(&Node) -> bool) -> Result<Counts> {
    let question = ParsedQuery::parse(&query.text, &snapshot.agents()?, query.asker);
    let filter = query.only.within(snapshot, &query.scope)?;
    let words = if query.exact { &[][..] } else { &question.words };
    let said = snapshot.postings(words, &filter, usize::MAX)?;
    let nodes: Vec<u64> = if said.passages.is_empty() {
        search_phrase(snapshot, &filter, &normalize(&query.text), u32::MAX, usize::MAX)?
            .iter()
            .map(|found| found.node)
            .collect()
    } else {
        let matching = Matching::new(&said, words.len(), query.scope.estimated_size(snapshot)?.unwrap_or(said.all));
        matching.held.keys().copied().filter(|node| matching.has_rare_words(*node)).collect()
    };
    let fits = HitFilter::new(snapshot, &filter);
    let (mut authors, mut tools) = (HashMap::new(), HashMap::new());
    let mut total = 0;
    for page in nodes.chunks(COUNT_PAGE_NODES) {
        for node in snapshot.nodes_at(page)? {
            if !keep(&node) || !fits.node(&node)? {
                continue;
            }
            total += 1;
            *authors.entry(node.author_type).or_insert(0) += 1;
            if let Some(name) = node.tool.name {
                *tools.entry(name).or_insert(0) += 1;
            }
        }
    }
    Ok(Counts { total, authors: sort_descending(authors), tools: sort_descending(tools) })
}

fn sort_descending<K: Ord>(counts: HashMap<K, u64>) -> Vec<(K, u64)> {
    let mut counts: Vec<(K, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}

/// Returns a node with its ancestors and its first continuations, in order, at most `each` on either side.
///
/// # Errors
/// If the store cannot be read, or the node does not exist.
pub fn around(snapshot: &dyn Snapshot, node: NodeId, versions: &[NodeId], each: u32) -> Result<Vec<Node>> {
    let mut found = snapshot.path_back(node, versions, each.saturating_add(1))?;
    for _ in 0..each {
        let Some(last) = found.last() else { break };
        let Some(next) = snapshot.children(last.id, &ChildFilter { limit: 1, ..ChildFilter::default() })?.pop() else {
            break;
        };
        found.push(next);
    }
    Ok(found)
}
