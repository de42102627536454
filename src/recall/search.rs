//! The search: candidates from the index, ranked, filtered and read with their neighbors.

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
};

use super::{
    Result,
    hit_filter::HitFilter,
    matching::{Matching, absent_phrases, absent_words, search_phrase},
    query_parser::{ParsedQuery, is_question, normalize},
    rank::{RankCandidate, RankQuery, rank},
    search_filter::{Filter, Scope},
    semantic::{QueryEmbedding, SIMILAR, SIMILAR_WITHOUT_WORDS},
    turns::set_received_turn,
};
use crate::{
    id::{NodeId, SessionId},
    store::{Neighbors, Snapshot, WordFilter},
    text_index::has_recall_call,
    types::{AuthorType, Json, Node, setters},
};

/// Of so many times the query's limit, the hits that repeat others are put last.
const REPEATS_FACTOR: usize = 3;

/// Maximum number of index rows that a search reads.
const MAX_INDEX_ROWS: usize = 5_000;

/// Maximum number of candidates whose text is read.
const MAX_READ_CANDIDATES: usize = 150;

/// Number of nodes that a search in order of time reads to count the matches beyond its limit.
const MAX_COUNTED_NODES: usize = 1_500;

/// Maximum number of nodes read for a literal search.
const MAX_LITERAL_NODES: u32 = 5_000;

/// Query of a search: text, scope, filter and order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Query {
    /// Question or words. Nodes that contain the text in double quotes rank first.
    pub text: String,
    /// Scope of the search.
    pub scope: Scope,
    /// Filter in addition to the scope.
    pub only: Filter,
    /// Role of the asker: the meaning of `I` in the question. It affects the score only.
    pub asker: Option<AuthorType>,
    /// True to match only nodes that contain all of `text` literally, ignoring case.
    pub exact: bool,
    /// True to sort by time, the newest first, instead of by score.
    pub by_time: bool,
    /// True if a sort by time puts the oldest first.
    pub oldest_first: bool,
    /// Nodes that the asker sees already. They rank after the others.
    pub in_view: HashSet<NodeId>,
    /// Maximum number of hits.
    pub limit: usize,
}

impl Query {
    /// Creates a query without filters, for at most 20 hits.
    #[must_use]
    pub fn new(text: impl Into<String>, scope: Scope) -> Self {
        Self {
            text: text.into(),
            scope,
            only: Filter::default(),
            asker: None,
            exact: false,
            by_time: false,
            oldest_first: false,
            in_view: HashSet::new(),
            limit: 20,
        }
    }
}

setters!(Query {
    /// Sets the filter in addition to the scope.
    only(Filter);
    /// Sets the role of the asker.
    asker(option AuthorType);
    /// Sets whether only nodes that contain the text literally match.
    exact(bool);
    /// Sets whether the hits are sorted by time, the newest first.
    by_time(bool);
    /// Sets whether a sort by time puts the oldest first.
    oldest_first(bool);
    /// Sets the nodes that the asker sees already.
    in_view(HashSet<NodeId>);
    /// Sets the maximum number of hits.
    limit(usize);
});

/// A node found by a search.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// The complete node. It may be pruned.
    pub node: Node,
    /// Index of the best passage from 0, as the index splits the text.
    pub passage: u32,
    /// Score, comparable within one search.
    pub score: f64,
    /// True if the node contains the question, or its quoted text, literally.
    pub exact: bool,
    /// Number of the query's words in the node itself, not in its neighbours.
    pub own_words: u32,
    /// True if an embedding of the node is similar to that of the question.
    pub similar: bool,
    /// True if the asker sees the node already.
    pub in_view: bool,
    /// Parent of the node.
    pub before: Option<Node>,
    /// First continuation of the node.
    pub after: Option<Node>,
}

impl Hit {
    /// True if the node or a neighbor searches the archive: what is said there is said elsewhere too.
    fn is_answered_by_recall(&self) -> bool {
        let nodes = [Some(&self.node), self.before.as_ref(), self.after.as_ref()];
        nodes.into_iter().flatten().any(|node| has_recall_call(node.tool.calls.as_ref().map_or("", Json::as_str)))
    }
}

/// Results of a search.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SearchResults {
    /// Matches: nodes with all rare words of the query, or with its quoted text. The best first.
    pub hits: Vec<Hit>,
    /// Near results: nodes with some of the words, or whose neighbours have them, or with a similar meaning. The best
    /// first.
    pub near: Vec<Hit>,
    /// Number of matches without the query's limit. It is a lower bound unless [`Self::is_complete`].
    pub matches: usize,
    /// True if every candidate was read, so that no further node matches.
    pub is_complete: bool,
    /// Searched index words; empty if the text had none and was searched literally.
    pub words: Vec<String>,
    /// Words of the query, as written, that no searched node contains, and its quoted texts that none contains literally.
    pub absent: Vec<String>,
}

impl SearchResults {
    /// Returns matches and near results in one list, the best first.
    #[must_use]
    pub fn ranked(self) -> Vec<Hit> {
        let mut all = self.hits;
        all.extend(self.near);
        all.sort_by(by_rank);
        all
    }

    /// True if there are neither matches nor near results.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.hits.is_empty() && self.near.is_empty()
    }
}

/// Orders hits by descending score, exact hits first.
fn by_rank(one: &Hit, other: &Hit) -> Ordering {
    other.exact.cmp(&one.exact).then(other.score.total_cmp(&one.score))
}

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
    let said = snapshot.postings(&searched, &filter, MAX_INDEX_ROWS)?;
    let nodes = query.scope.estimated_size(snapshot)?.unwrap_or(said.all);
    let literal = said.passages.is_empty();
    let mut scores: Vec<RankCandidate> = Vec::new();
    if literal {
        scores = search_phrase(snapshot, &filter, &question.whole, MAX_LITERAL_NODES, query.limit)?;
    }
    let phrase: HashSet<u64> = scores.iter().map(|candidate| candidate.node).collect();
    if !literal || meaning.is_some() {
        let query = RankQuery { terms: &terms, factors: &question.factors, filter: &filter, nodes, meaning };
        let ranked = rank(snapshot, &said, &query)?;
        scores.extend(ranked.into_iter().filter(|candidate| !phrase.contains(&candidate.node)));
    }
    let matching = Matching::new(&said, &question.words, nodes);
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
        let least = if has_words { SIMILAR } else { SIMILAR_WITHOUT_WORDS };
        hits.iter_mut().zip(near).for_each(|(hit, near)| hit.similar = near >= least);
    }
    hits.sort_by(by_rank);
    let is_match = |hit: &Hit| {
        let has_words = if literal { phrase.contains(&hit.node.seq) } else { matching.has_rare_words(&hit.node) };
        hit.exact || question.phrases.is_empty() && has_words
    };
    let present = hits.iter().fold(0, |bits, hit| bits | matching.word_bits(&hit.node));
    let (mut hits, mut near): (Vec<Hit>, Vec<Hit>) = hits.into_iter().partition(is_match);
    let mut absent = match literal && !hits.is_empty() {
        true => Vec::new(),
        false => absent_words(snapshot, query, &question, (&said, &matching), (&filter, present))?,
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
            is_complete &= said.words.iter().all(|word| word.complete);
        } else {
            sort_by_time(&mut hits, query.oldest_first);
        }
    }
    if !query.by_time {
        put_repeats_last(snapshot, query, &mut hits)?;
        put_repeats_last(snapshot, query, &mut near)?;
    }
    hits.truncate(query.limit);
    load_neighbors(snapshot, query.only.seen_by, hits.iter_mut().chain(&mut near))?;
    Ok(SearchResults { hits, near, matches, is_complete, words: question.words, absent })
}

/// Puts hits that repeat others behind them: nodes that the asker sees already, and questions that an agent answered by
/// recall, with the answers.
fn put_repeats_last(snapshot: &dyn Snapshot, query: &Query, hits: &mut [Hit]) -> Result<()> {
    if query.only.seen_by.is_none() {
        return Ok(());
    }
    let most = hits.len().min(query.limit.saturating_mul(REPEATS_FACTOR));
    let best = &mut hits[..most];
    load_neighbors(snapshot, None, best.iter_mut())?;
    best.iter_mut().for_each(|hit| hit.in_view = query.in_view.contains(&hit.node.id));
    best.sort_by_key(|hit| (hit.in_view, hit.is_answered_by_recall()));
    Ok(())
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
        before: None,
        after: None,
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

/// Reads the parent and the first continuation of each hit, and the turns of received messages.
fn load_neighbors<'h>(
    snapshot: &dyn Snapshot,
    reader: Option<SessionId>,
    hits: impl Iterator<Item = &'h mut Hit>,
) -> Result<()> {
    let mut hits: Vec<&mut Hit> = hits.collect();
    let beside = snapshot.neighbors(&hits.iter().map(|hit| hit.node.seq).collect::<Vec<_>>())?;
    let ends = |beside: &Neighbors| [beside.before, beside.after.first().copied()];
    let mut seqs: Vec<u64> = beside.iter().flat_map(ends).flatten().collect();
    seqs.sort_unstable();
    seqs.dedup();
    let nodes: HashMap<u64, Node> = snapshot.nodes_at(&seqs)?.into_iter().map(|node| (node.seq, node)).collect();
    for (hit, beside) in hits.iter_mut().zip(&beside) {
        [hit.before, hit.after] = ends(beside).map(|seq| nodes.get(&seq?).cloned());
        for node in [Some(&mut hit.node), hit.before.as_mut(), hit.after.as_mut()].into_iter().flatten() {
            reader.map_or(Ok(()), |reader| set_received_turn(snapshot, reader, node))?;
        }
    }
    Ok(())
}
