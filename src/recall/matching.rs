//! Distinction of matches from near results, and counts of matches. It uses the postings that the search read, so it
//! reads no text again.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::{
    Query, Result,
    hit_filter::HitFilter,
    query_parser::{ParsedQuery, may_contain, normalize},
    rank,
};
use crate::{
    store::{Postings, Snapshot, TermPostings, WordFilter},
    text_index::WordTokenizer,
    types::{AuthorType, Json, Node},
};

/// Minimum weight of a rare word, as a share of the rarest word's weight.
const RARE_WEIGHT_SHARE: f64 = 0.5;
/// Maximum number of a word's passages that are checked against the filter.
const MAX_CHECKED_PASSAGES: usize = 200;
/// Number of nodes read at once to find a word.
const CHECKED_PAGE_NODES: usize = 20;
/// Maximum number of nodes that are read to state that a quoted text stands nowhere.
const MAX_PHRASE_NODES: u32 = 20_000;
/// Number of nodes read at once for a count.
const COUNT_PAGE_NODES: usize = 500;

/// Words of a query by node, and the rare words that a match must contain.
///
/// The index holds an identifier as one word and as its parts. `tui-renderer.ts` is a word of its own only where nothing
/// else joins it: `src/tui-renderer.ts` holds its parts. A node whose passage has all parts of an identifier may contain
/// it, which its text decides.
pub(super) struct Matching {
    held: HashMap<u64, u64, RandomState>,
    rare: u64,
    identifiers: Vec<Identifier>,
}

/// An identifier among the words of a query.
struct Identifier {
    /// Bit of the word.
    bit: u64,
    /// Letters and digits of the identifier.
    letters: String,
    /// Nodes that have a passage with all of its parts, and not the word itself.
    possible: Vec<u64>,
}

impl Matching {
    /// Indexes the postings of the first `words` by node. `nodes` is the approximate number of searched nodes.
    pub(super) fn new(postings: &Postings, words: &[String], nodes: u64) -> Self {
        let terms = &postings.words[..words.len().min(postings.words.len())];
        let mut held: HashMap<u64, u64, RandomState> = HashMap::default();
        for (at, term) in terms.iter().enumerate() {
            for (passage, _) in &term.hits {
                *held.entry(postings.passages[*passage].node).or_insert(0) |= 1 << at;
            }
        }
        let identifiers = identifiers(postings, words, &held);
        let about = |(at, term): (usize, &TermPostings)| {
            let possible = identifiers.iter().find(|identifier| identifier.bit == 1 << at);
            term.estimated_passages + possible.map_or(0, |identifier| identifier.possible.len() as u64)
        };
        let weights: Vec<f64> = terms.iter().enumerate().map(about).map(|about| rank::weight(about, nodes)).collect();
        let most = weights.iter().copied().fold(0.0, f64::max);
        let rare = weights.iter().enumerate().filter(|(_, weight)| **weight >= most * RARE_WEIGHT_SHARE);
        let rare = rare.fold(0, |rare, (at, _)| rare | 1 << at);
        Self { held, rare, identifiers }
    }

    /// Set of the query's words that a node contains, a bit for each.
    pub(super) fn word_bits(&self, node: &Node) -> u64 {
        let bits = self.held.get(&node.seq).copied().unwrap_or(0);
        let possible = |identifier: &&Identifier| identifier.possible.binary_search(&node.seq).is_ok();
        let identifiers = self.identifiers.iter().filter(possible).filter(|identifier| identifier.is_in(node));
        identifiers.fold(bits, |bits, identifier| bits | identifier.bit)
    }

    /// Number of the query's words that a node contains.
    pub(super) fn own_words(&self, node: &Node) -> u32 {
        self.word_bits(node).count_ones()
    }

    /// True if a node contains all rare words.
    pub(super) fn has_rare_words(&self, node: &Node) -> bool {
        self.word_bits(node) & self.rare == self.rare
    }

    /// Nodes that may contain all rare words, before their texts are read.
    pub(super) fn candidates(&self) -> Vec<u64> {
        let mut found = Vec::new();
        for (node, bits) in &self.held {
            let possible = self.identifiers.iter().filter(|one| one.possible.binary_search(node).is_ok());
            if possible.fold(*bits, |bits, one| bits | one.bit) & self.rare == self.rare {
                found.push(*node);
            }
        }
        found
    }
}

impl Identifier {
    /// True if the content or the calls of a node contain the letters and digits of the identifier in a row.
    fn is_in(&self, node: &Node) -> bool {
        let calls = node.tool.calls.as_ref().map_or("", Json::as_str);
        [&node.content, calls].iter().any(|text| letters(text).contains(&self.letters))
    }
}

/// Returns the letters and digits of a text in lower case.
fn letters(text: &str) -> String {
    if text.is_ascii() {
        let bytes = text.bytes().filter(u8::is_ascii_alphanumeric);
        return bytes.map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    }
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the identifiers among the words of a query, each with the nodes that may contain it besides those that have
/// its word.
fn identifiers(postings: &Postings, words: &[String], held: &HashMap<u64, u64, RandomState>) -> Vec<Identifier> {
    let mut reader = WordTokenizer::default();
    let place = |word: &String| words.iter().position(|known| known == word);
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().filter(|(_, word)| word.contains('_')) {
        let parts = reader.query(&word.replace('_', " "));
        let Some(parts) = parts.iter().map(place).collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty()) else {
            continue;
        };
        // Passages with the first parts, reduced by each further part.
        let passages = |word: &usize| postings.words[*word].hits.iter().map(|(passage, _)| *passage);
        let mut all: HashSet<usize, RandomState> = passages(&parts[0]).collect();
        for part in &parts[1..] {
            let with: HashSet<usize, RandomState> = passages(part).collect();
            all.retain(|passage| with.contains(passage));
        }
        let has_word = |node: &u64| held.get(node).is_some_and(|bits| bits & 1 << at != 0);
        let nodes = all.into_iter().map(|passage| postings.passages[passage].node);
        let mut possible: Vec<u64> = nodes.filter(|node| !has_word(node)).collect();
        possible.sort_unstable();
        possible.dedup();
        found.push(Identifier { bit: 1 << at, letters: letters(word), possible });
    }
    found
}

/// Returns the words of a query, as written, that no node within the filter contains. `present` are words of nodes within
/// it.
pub(super) fn absent_words(
    snapshot: &dyn Snapshot,
    query: &Query,
    question: &ParsedQuery,
    (postings, matching): (&Postings, &Matching),
    (filter, present): (&WordFilter, u64),
) -> Result<Vec<String>> {
    let fits = HitFilter::new(snapshot, filter);
    let mut absent = Vec::new();
    for (at, (word, hits)) in question.words.iter().zip(&postings.words).enumerate() {
        let identifier = matching.identifiers.iter().find(|identifier| identifier.bit == 1 << at);
        let possible = identifier.map_or(&[][..], |identifier| &identifier.possible);
        if present & 1 << at != 0 || !hits.complete || hits.hits.len() + possible.len() > MAX_CHECKED_PASSAGES {
            continue;
        }
        let passages: Vec<_> = hits.hits.iter().map(|(at, _)| postings.passages[*at]).collect();
        let ids: Vec<(u64, u32)> = passages.iter().map(|passage| (passage.node, passage.part)).collect();
        let places = passages.iter().zip(snapshot.places(&ids, filter)?);
        let with_word = places.filter(|(passage, place)| passage.place.or(*place).is_some());
        let mut nodes: Vec<u64> = with_word.map(|(passage, _)| passage.node).chain(possible.iter().copied()).collect();
        nodes.dedup();
        let has_word = |node: &Node| Ok(matching.word_bits(node) & 1 << at != 0 && fits.node(node)?);
        if !any_fits(snapshot, &nodes, &has_word)? {
            absent.push(word.as_str());
        }
    }
    Ok(written_words(&query.text, &absent))
}

/// Returns the words of a text that have one of the index words, as written, each once.
pub(crate) fn written_words(text: &str, stems: &[&str]) -> Vec<String> {
    let mut reader = WordTokenizer::default();
    let mut written: Vec<String> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || c == '"').filter(|_| !stems.is_empty()) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let has_stem = reader.query(word).iter().any(|stem| stems.contains(&stem.as_str()));
        if has_stem && !written.iter().any(|known| known.eq_ignore_ascii_case(word)) {
            written.push(word.to_owned());
        }
    }
    written
}

/// True if the content or the calls of a node contain an index word alone, not only within an identifier or within the run of
/// a script without spaces.
pub(super) fn has_whole_word(node: &Node, word: &str, reader: &mut WordTokenizer) -> bool {
    let calls = node.tool.calls.as_ref().map_or("", Json::as_str);
    let mut pieces =
        [&node.content, calls].into_iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_'));
    pieces.any(|piece| reader.query(piece) == [word])
}

/// Returns the quoted texts of a query that no node within the filter contains literally; none if there are too many
/// nodes to read.
pub(super) fn absent_phrases(
    snapshot: &dyn Snapshot,
    question: &ParsedQuery,
    filter: &WordFilter,
) -> Result<Vec<String>> {
    let mut found: Vec<Vec<u64>> = vec![Vec::new(); question.phrases.len()];
    let mut read = 0;
    if !found.is_empty() {
        snapshot.newest_first(filter, MAX_PHRASE_NODES, &mut |node, content| {
            read += 1;
            for (phrase, nodes) in question.phrases.iter().zip(&mut found) {
                if may_contain(content, phrase) && normalize(content).contains(phrase) {
                    nodes.push(node);
                }
            }
            true
        })?;
    }
    let fits = HitFilter::new(snapshot, filter);
    let mut absent = Vec::new();
    for (phrase, nodes) in question.phrases.iter().zip(found).filter(|_| read < MAX_PHRASE_NODES) {
        if !any_fits(snapshot, &nodes, &|node| fits.node(node))? {
            absent.push(phrase.clone());
        }
    }
    Ok(absent)
}

/// True if one of the nodes passes a test.
fn any_fits(snapshot: &dyn Snapshot, nodes: &[u64], test: &dyn Fn(&Node) -> Result<bool>) -> Result<bool> {
    for page in nodes.chunks(CHECKED_PAGE_NODES) {
        for node in snapshot.nodes_at(page)? {
            if test(&node)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

impl ParsedQuery {
    /// True if a text contains the question literally and not only as a part of longer words: `cult`, but not in `culture`. Of a
    /// question without words, any part is meant.
    pub(super) fn has_whole_text(&self, content: &str) -> bool {
        let content = normalize(content);
        let mut found = content.match_indices(&self.whole);
        self.words.is_empty()
            || found.any(|(at, text)| {
                let before = content[..at].chars().next_back();
                let after = content[at + text.len()..].chars().next();
                [before, after].into_iter().flatten().all(|c| !c.is_alphanumeric())
            })
    }
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
    let postings = snapshot.postings(words, &filter, usize::MAX)?;
    let mut matching = None;
    let nodes: Vec<u64> = if postings.passages.is_empty() {
        search_phrase(snapshot, &filter, &normalize(&query.text), u32::MAX, usize::MAX)?
            .iter()
            .map(|found| found.node)
            .collect()
    } else {
        matching = Some(Matching::new(
            &postings,
            words,
            query.scope.estimated_size(snapshot)?.unwrap_or(postings.passage_count),
        ));
        matching.iter().flat_map(Matching::candidates).collect()
    };
    let fits = HitFilter::new(snapshot, &filter);
    let (mut authors, mut tools) = (HashMap::new(), HashMap::new());
    let mut total = 0;
    for page in nodes.chunks(COUNT_PAGE_NODES) {
        for node in snapshot.nodes_at(page)? {
            let matches = match &matching {
                Some(matching) => matching.has_rare_words(&node),
                None => query.exact || question.has_whole_text(&node.content),
            };
            if !matches || !keep(&node) || !fits.node(&node)? {
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

pub(super) fn sort_descending<K: Ord>(counts: HashMap<K, u64>) -> Vec<(K, u64)> {
    let mut counts: Vec<(K, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}
