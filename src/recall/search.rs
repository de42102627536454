//! The search: candidates from the index, ranked, filtered and read with their neighbors.

use std::collections::{HashMap, HashSet};

use super::{
    Result,
    demote_seen::demote_seen_hits,
    hit_filter::HitFilter,
    matching::{Matching, absent_phrases, absent_words, has_whole_word, search_phrase},
    neighbors::load_neighbors,
    query::{Hit, Query, SearchResults, by_rank},
    query_embedding::QueryEmbedding,
    query_parser::{ParsedQuery, is_question, normalize},
    rank::{RankCandidate, RankQuery, rank},
};
use crate::{
    store::{Snapshot, WordFilter},
    text_index::WordTokenizer,
    types::Node,
};

/// Weight of a hit that has the only word of a query within an identifier.
const PART_WEIGHT: f64 = 0.1;

/// Similarity from which a text is shown as similar. That of unrelated texts is about 0.15.
const MIN_SIMILARITY: f64 = 0.4;
/// The same if no node contains a word of the question.
const MIN_SIMILARITY_WITHOUT_WORDS: f64 = 0.25;

/// Maximum number of index rows that a search reads.
const MAX_INDEX_ROWS: usize = 5_000;

/// Maximum number of candidates whose text is read.
const MAX_READ_CANDIDATES: usize = 150;

/// Number of nodes that a search in order of time reads to count the matches beyond its limit.
const MAX_COUNTED_NODES: usize = 1_500;

/// Maximum number of nodes read for a literal search.
const MAX_LITERAL_NODES: u32 = 5_000;

/// Searches by words and ranks the hits.
///
/// ```
/// use loomtree::{prelude::*, recall::Scope};
///
/// # let folder = tempfile::tempdir()?;
/// # let loom = session::open(folder.path().join("trees.db"))?;
/// # let owner = loom.actor(&loom.agent("owner")?);
/// # let (tree, root) = owner.create_tree(TreeDraft::new("Where could it begin?"))?;
/// # owner.append(root.id, "A ship ran aground at the harbour.")?;
/// let query = recall::Query::new("which ship?", Scope::Tree(tree.id)).limit(5);
/// let found = recall::search(&*loom.snapshot()?, &query)?;
/// assert_eq!(found.hits[0].node.content, "A ship ran aground at the harbour.");
/// # Ok::<(), loomtree::Error>(())
/// ```
///
/// # Errors
/// If the store cannot be read, or the scope or a filter names an object that does not exist.
pub fn search(snapshot: &dyn Snapshot, query: &Query) -> Result<SearchResults> {
    search_with(snapshot, query, None)
}

/// Sorts hits by time, the newest first unless `oldest_first`.
fn sort_by_time(hits: &mut [Hit], oldest_first: bool) {
    hits.sort_by_key(|hit| hit.node.seq);
    if !oldest_first {
        hits.reverse();
    }
}

/// Searches by words and, with an embedding of the question, by meaning. Nodes without a word of the question can then
/// be found.
///
/// # Errors
/// The errors of [`search`].
pub fn search_with(snapshot: &dyn Snapshot, query: &Query, meaning: Option<&QueryEmbedding>) -> Result<SearchResults> {
    let question = ParsedQuery::parse(&query.text, &snapshot.agents()?, query.asker);
    let filter = query.only.within(snapshot, &query.scope)?;
    if query.exact {
        return search_exact(snapshot, query, &question, &filter);
    }
    let (searched, terms) = question.terms();
    let postings = snapshot.postings(&searched, &filter, MAX_INDEX_ROWS)?;
    let nodes = query.scope.estimated_size(snapshot)?.unwrap_or(postings.passage_count);
    let literal = postings.passages.is_empty();
    let mut scores: Vec<RankCandidate> = Vec::new();
    if literal {
        scores = search_phrase(snapshot, &filter, &question.whole, MAX_LITERAL_NODES, query.limit)?;
    }
    let phrase: HashSet<u64> = scores.iter().map(|candidate| candidate.node).collect();
    if !literal || meaning.is_some() {
        let query = RankQuery { terms: &terms, factors: &question.factors, filter: &filter, nodes, meaning };
        let ranked = rank(snapshot, &postings, &query)?;
        scores.extend(ranked.into_iter().filter(|candidate| !phrase.contains(&candidate.node)));
    }
    let matching = Matching::new(&postings, &question.words, nodes);
    // A neighbour of a hit is also a candidate, and may be outside the filter.
    let fits = HitFilter::new(snapshot, &filter);
    // Of a text without words, only the newest nodes were searched, up to the limit.
    let mut is_complete = scores.len() <= MAX_READ_CANDIDATES && !(literal && phrase.len() == query.limit);
    let scores = &scores[..scores.len().min(MAX_READ_CANDIDATES)];
    let mut hits = read_hits(snapshot, &question, &matching, &fits, scores)?;
    question.discount_other_trees(&mut hits);
    if let Some(meaning) = meaning {
        let near = meaning.similarities(snapshot, &hits.iter().map(|hit| hit.node.seq).collect::<Vec<_>>())?;
        let has_words = hits.iter().any(|hit| hit.own_words > 0);
        let least = if has_words { MIN_SIMILARITY } else { MIN_SIMILARITY_WITHOUT_WORDS };
        hits.iter_mut().zip(near).for_each(|(hit, near)| hit.similar = near >= least);
    }
    demote_parts(&question, &mut hits);
    hits.sort_by(by_rank);
    let is_match = |hit: &Hit| {
        let has_words = if literal {
            phrase.contains(&hit.node.seq) && question.has_whole_text(&hit.node.content)
        } else {
            matching.has_rare_words(&hit.node)
        };
        hit.exact || question.phrases.is_empty() && has_words
    };
    let present = hits.iter().fold(0, |bits, hit| bits | matching.word_bits(&hit.node));
    let (mut hits, mut near): (Vec<Hit>, Vec<Hit>) = hits.into_iter().partition(is_match);
    let mut absent = match literal && !hits.is_empty() {
        true => Vec::new(),
        false => absent_words(snapshot, query, &question, (&postings, &matching), (&filter, present))?,
    };
    if hits.is_empty() {
        let phrases = absent_phrases(snapshot, &question, &filter)?;
        absent.extend(phrases.into_iter().filter(|text| !text.chars().all(char::is_alphanumeric)));
    }
    let mut matches = hits.len();
    near.truncate(query.limit);
    if query.by_time {
        sort_by_time(&mut near, query.oldest_first);
        if !literal {
            // The best nodes are not all, and an order by time must have no gaps.
            let mut nodes = matching.candidates();
            nodes.sort_unstable();
            (hits, matches, is_complete) = list_matches(snapshot, query, nodes, &|node| {
                let hit = hit(&question, &matching, node);
                Ok((is_match(&hit) && fits.node(&hit.node)?).then_some(hit))
            })?;
            is_complete &= postings.words.iter().all(|word| word.complete);
        } else {
            sort_by_time(&mut hits, query.oldest_first);
        }
    }
    if !query.by_time {
        demote_seen_hits(snapshot, query, &mut hits)?;
        demote_seen_hits(snapshot, query, &mut near)?;
    }
    hits.truncate(query.limit);
    load_neighbors(snapshot, query.only.seen_by, hits.iter_mut().chain(&mut near))?;
    Ok(SearchResults { hits, near, matches, is_complete, words: question.words, absent })
}

/// Lowers the score of hits that have the word of a query only within an identifier: `contextWindow` for `windows`.
fn demote_parts(question: &ParsedQuery, hits: &mut [Hit]) {
    let [word] = question.words.as_slice() else { return };
    let mut reader = WordTokenizer::default();
    let mut is_whole = |hit: &Hit| hit.own_words > 0 && has_whole_word(&hit.node, word, &mut reader);
    let whole: Vec<bool> = hits.iter().map(&mut is_whole).collect();
    if whole.contains(&true) {
        let parts = hits.iter_mut().zip(whole).filter(|(hit, is_whole)| hit.own_words > 0 && !is_whole);
        parts.for_each(|(hit, _)| hit.score *= PART_WEIGHT);
    }
}

/// Reads the nodes of ranked candidates that pass the filter.
fn read_hits(
    snapshot: &dyn Snapshot,
    question: &ParsedQuery,
    matching: &Matching,
    fits: &HitFilter<'_>,
    scores: &[RankCandidate],
) -> Result<Vec<Hit>> {
    let asking = scores.iter().filter(|candidate| candidate.if_asked > 0.0).filter_map(|candidate| candidate.before);
    let seqs: HashSet<u64> = scores.iter().map(|candidate| candidate.node).chain(asking).collect();
    let mut seqs: Vec<u64> = seqs.into_iter().collect();
    seqs.sort_unstable();
    let mut nodes: HashMap<u64, Node> = snapshot.nodes_at(&seqs)?.into_iter().map(|node| (node.seq, node)).collect();
    let asking: HashSet<u64> = nodes.values().filter(|node| is_question(&node.content)).map(|node| node.seq).collect();
    let mut hits: Vec<Hit> = Vec::with_capacity(scores.len());
    for candidate in scores {
        let Some(node) = nodes.remove(&candidate.node) else { continue };
        if !fits.node(&node)? {
            continue;
        }
        let asked = candidate.before.is_some_and(|before| asking.contains(&before));
        let score = candidate.score + if asked { candidate.if_asked } else { 0.0 };
        if score > 0.0 {
            let score = score * question.boost(&node);
            hits.push(Hit { passage: candidate.part, score, ..hit(question, matching, node) });
        }
    }
    Ok(hits)
}

/// Returns a hit without a rank and neighbors.
fn hit(question: &ParsedQuery, matching: &Matching, node: Node) -> Hit {
    let (exact, own_words) = (question.is_exact(&node.content), matching.own_words(&node));
    Hit { exact, own_words, ..exact_hit(node) }
}

/// Returns a hit that contains the searched text literally.
fn exact_hit(node: Node) -> Hit {
    Hit {
        node,
        passage: 0,
        score: 1.0,
        exact: true,
        own_words: 0,
        similar: false,
        in_view: false,
        parent: None,
        first_continuation: None,
    }
}

/// Lists the hits among nodes in ascending order, the newest first or the oldest, up to the query's limit. Returns also how
/// many there are, and whether all nodes were read.
fn list_matches(
    snapshot: &dyn Snapshot,
    query: &Query,
    mut nodes: Vec<u64>,
    matching: &dyn Fn(Node) -> Result<Option<Hit>>,
) -> Result<(Vec<Hit>, usize, bool)> {
    if !query.oldest_first {
        nodes.reverse();
    }
    let (mut hits, mut matches) = (Vec::new(), 0);
    for (at, page) in nodes.chunks(MAX_READ_CANDIDATES).enumerate() {
        if hits.len() >= query.limit && at * MAX_READ_CANDIDATES >= MAX_COUNTED_NODES {
            return Ok((hits, matches, false));
        }
        for node in snapshot.nodes_at(page)? {
            let found = matching(node)?;
            matches += usize::from(found.is_some());
            hits.extend(found.filter(|_| hits.len() < query.limit));
        }
    }
    Ok((hits, matches, true))
}

/// Finds the nodes that contain a text literally: the newest first, or the oldest.
fn search_exact(
    snapshot: &dyn Snapshot,
    query: &Query,
    question: &ParsedQuery,
    filter: &WordFilter,
) -> Result<SearchResults> {
    let fits = HitFilter::new(snapshot, filter);
    let found = search_phrase(snapshot, filter, &normalize(&query.text), u32::MAX, usize::MAX)?;
    let nodes = found.iter().rev().map(|candidate| candidate.node).collect();
    let (mut hits, matches, is_complete) = list_matches(snapshot, query, nodes, &|node| {
        let hit = exact_hit(node);
        Ok(fits.node(&hit.node)?.then_some(hit))
    })?;
    load_neighbors(snapshot, query.only.seen_by, hits.iter_mut())?;
    let words = question.words.clone();
    Ok(SearchResults { hits, matches, is_complete, words, ..SearchResults::default() })
}
