//! Which nodes hold what was searched for, as against those that are only near: by the postings that were read, so that
//! no text is read again; and counts of such nodes.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::{
    HitFilter, Query, Result,
    query_parser::{ParsedQuery, may_hold, plain},
    rank,
};
use crate::{
    id::NodeId,
    store::{ChildFilter, Postings, Snapshot, WordFilter},
    types::{AuthorType, Node, WordTokenizer},
};

/// Share of the rarest word's weight from which on a word counts as rare.
const RARE: f64 = 0.5;
/// Passages of a word up to which it is checked whether any fits the filter.
const CHECKED: usize = 200;
/// Nodes read at once while they are counted.
const PAGE: usize = 500;

/// The words of a query that each node holds itself, and those that a match must hold.
pub(super) struct Matching {
    held: HashMap<u64, u64, RandomState>,
    rare: u64,
}

impl Matching {
    /// `nodes` is about how many nodes were searched.
    pub(super) fn of(said: &Postings, nodes: u64) -> Self {
        let weights: Vec<f64> = said.words.iter().map(|word| rank::weight(word.about, nodes)).collect();
        let most = weights.iter().copied().fold(0.0, f64::max);
        let (mut held, mut rare) = (HashMap::default(), 0);
        for (at, (word, weight)) in said.words.iter().zip(weights).enumerate() {
            if weight >= most * RARE {
                rare |= 1 << at;
            }
            for (passage, _) in &word.hits {
                *held.entry(said.passages[*passage].node).or_insert(0) |= 1 << at;
            }
        }
        Self { held, rare }
    }

    fn held(&self, node: u64) -> u64 {
        self.held.get(&node).copied().unwrap_or(0)
    }

    /// The number of the query's words that a node holds.
    pub(super) fn own_words(&self, node: u64) -> u32 {
        self.held(node).count_ones()
    }

    /// True if a node holds all rare words.
    pub(super) fn holds(&self, node: u64) -> bool {
        self.held(node) & self.rare == self.rare
    }
}

/// Words of a query, as written, that no node holds which fits.
pub(super) fn absent(
    snapshot: &dyn Snapshot,
    query: &Query,
    question: &ParsedQuery,
    said: &Postings,
    filter: &WordFilter,
) -> Result<Vec<String>> {
    let mut absent = Vec::new();
    for (word, hits) in question.words.iter().zip(&said.words) {
        if !hits.complete || hits.hits.len() > CHECKED {
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

/// The newest nodes that hold a text as it stands, at most `limit` of the newest `read`.
pub(super) fn literally(
    snapshot: &dyn Snapshot,
    filter: &WordFilter,
    text: &str,
    read: u32,
    limit: usize,
) -> Result<Vec<rank::RankCandidate>> {
    let mut found = Vec::new();
    if !text.is_empty() {
        snapshot.newest_first(filter, read, &mut |node, content| {
            if may_hold(content, text) && plain(content).contains(text) {
                found.push(rank::RankCandidate { node, part: 0, score: 1.0, before: None, if_asked: 0.0 });
            }
            found.len() < limit
        })?;
    }
    Ok(found)
}

/// How many nodes hold what was searched for.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// All of them.
    pub total: u64,
    /// By the kind of author, the most first.
    pub authors: Vec<(AuthorType, u64)>,
    /// Results of tools by the tool's name, the most first.
    pub tools: Vec<(String, u64)>,
}

/// Counts every node that holds the query's rare words or, with [`Query::exact`], the text as it stands. `keep` narrows
/// them down further. The query's limit does not apply.
///
/// # Errors
/// If the store cannot be read, or the scope or a filter names something that is not there.
pub fn count(snapshot: &dyn Snapshot, query: &Query, keep: &dyn Fn(&Node) -> bool) -> Result<Counts> {
    let question = ParsedQuery::read(&query.text, &snapshot.agents()?, query.asker);
    let filter = query.only.within(snapshot, &query.scope)?;
    let words = if query.exact { &[][..] } else { &question.words };
    let said = snapshot.postings(words, &filter, usize::MAX)?;
    let nodes: Vec<u64> = if said.passages.is_empty() {
        literally(snapshot, &filter, &plain(&query.text), u32::MAX, usize::MAX)?
            .iter()
            .map(|found| found.node)
            .collect()
    } else {
        let matching = Matching::of(&said, query.scope.size(snapshot)?.unwrap_or(said.all));
        matching.held.keys().copied().filter(|node| matching.holds(*node)).collect()
    };
    let fits = HitFilter::new(snapshot, &filter);
    let (mut authors, mut tools) = (HashMap::new(), HashMap::new());
    let mut total = 0;
    for page in nodes.chunks(PAGE) {
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
    Ok(Counts { total, authors: most_first(authors), tools: most_first(tools) })
}

fn most_first<K: Ord>(counts: HashMap<K, u64>) -> Vec<(K, u64)> {
    let mut counts: Vec<(K, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}

/// A node with what stands before it on its path and what first continues it, in order, at most `each` on either side.
///
/// # Errors
/// If the store cannot be read, or the node is not there.
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
