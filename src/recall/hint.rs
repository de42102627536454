//! Recall hint: detects references of a message to content outside the context window, and finds that content.
//!
//! A model cannot know that it could search for content that it does not see. Before a reply, this module reads the
//! newest message for references: phrases (`like we discussed`), definite references (`the refresh tokens`), names,
//! identifiers. References that occur in the window are resolved. The others become a hint if they occur in the
//! archive. The decision uses words and counts, no model: it is free if nothing refers back, and a wrong hint costs one
//! line.
//!
//! It detects English phrases, and names and identifiers of any language.

mod phrases;
mod references;

use std::collections::{HashMap, HashSet};

use self::references::Reference;
use super::{Hit, Query, Result, Scope};
use crate::{
    id::AgentId,
    store::{Snapshot, TermPostings, WordFilter},
    text_index::WordTokenizer,
    types::{AuthorType, EdgeKind, Node},
};

/// Maximum number of index rows read for the words of a message.
const MAX_INDEX_ROWS: usize = 2_000;
/// Maximum number of nodes in a hint.
const MAX_HINT_NODES: usize = 3;
/// Maximum number of words in the query of a hint.
const MAX_QUERY_WORDS: usize = 4;
/// Minimum score of a further node, as a share of the best score.
const MIN_SCORE_SHARE: f64 = 0.6;
/// A word is common if more passages contain it than this number, and than this share of the tree's nodes.
const MIN_COMMON_PASSAGES: u64 = 12;
const COMMON_SHARE: u64 = 40;
/// Number of words that a node must share with a sentence that refers back.
const MIN_HELD_WORDS: usize = 2;
/// A word is very rare in at most this share of the passages of a common one.
const VERY_RARE_SHARE: u64 = 3;
/// Number of nodes before a reply in which the message that it answers is looked for.
const MAX_NODES_BACK: u32 = 8;

/// References of a message, and the nodes that they probably mean.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hint {
    /// Words of the message that refer to earlier content.
    pub trigger: String,
    /// Search query that finds the nodes: the rarest words of the references. Empty if a phrase refers back without a
    /// noun (`as we discussed`); the nodes are then the newest ones outside the window.
    pub search: String,
    /// Up to three nodes, the most probable first. Each has a word of the search, and none is a reply of the agent whose
    /// message is outside the window. Empty if only such replies have the words.
    pub nodes: Vec<Node>,
}

/// Reader of a hint, and the part of the conversation that it sees.
pub struct HintWindow<'w, 't> {
    /// Agent that replies.
    pub agent: AgentId,
    /// The referring message. Its siblings, which replace it, are excluded.
    pub message: &'w Node,
    /// Oldest message in the window.
    pub oldest: Option<&'w Node>,
    /// Texts that the agent sees, with the sequence number of their node.
    pub shown: &'w mut dyn Iterator<Item = (Option<u64>, &'t str)>,
}

/// References of a message, before any lookup.
#[derive(Debug)]
pub struct References {
    found: Vec<Reference>,
    /// Phrase without a noun that refers back; only if nothing else does.
    phrase: Option<String>,
}

impl References {
    /// Finds the references in a text; `None` if there are none. It does not read the store.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let (found, phrase) = references::references(text);
        (!found.is_empty() || phrase.is_some()).then_some(Self { found, phrase })
    }

    /// Resolves the references that occur in the tree but not in the window.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn hint(mut self, snapshot: &dyn Snapshot, window: HintWindow<'_, '_>) -> Result<Option<Hint>> {
        let HintWindow { agent, message, oldest, shown } = window;
        let mut seen: HashSet<u64> = HashSet::from([message.seq]);
        let mut reader = WordTokenizer::default();
        for (node, text) in shown.filter(|(node, _)| *node != Some(message.seq)) {
            seen.extend(node);
            let occurring = self.occurring_words(text, &mut reader);
            self.found.iter_mut().for_each(|reference| reference.missing.retain(|word| !occurring.contains(word)));
        }
        if let Some(phrase) = self.phrase {
            return phrase_hint(snapshot, agent, phrase, oldest, &seen);
        }
        self.found.retain(|reference| !reference.missing.is_empty());
        if self.found.is_empty() {
            return Ok(None);
        }
        let words = ArchivedWords::read(snapshot, message, &self.found, &seen)?;
        self.found.retain(|reference| reference.missing.iter().any(|word| words.is_rare(word)));
        let hint = self.find(snapshot, agent, message, &words, &seen)?;
        if hint.is_some() || self.found.iter().all(|reference| reference.is_named) {
            return Ok(hint);
        }
        // The other words of a sentence that refers back can mislead the search.
        self.found.retain(|reference| reference.is_named);
        self.find(snapshot, agent, message, &words, &seen)
    }

    /// Searches the rarest words of the references for what the message means.
    fn find(
        &self,
        snapshot: &dyn Snapshot,
        agent: AgentId,
        message: &Node,
        words: &ArchivedWords,
        seen: &HashSet<u64>,
    ) -> Result<Option<Hint>> {
        let rarity = |reference: &&Reference| reference.missing.iter().filter_map(|word| words.passages(word)).min();
        let Some(first) = self.found.iter().min_by_key(rarity) else { return Ok(None) };
        let search = words.query(&self.found);
        let query = Query { limit: 12, ..Query::new(search.replace('"', ""), Scope::Tree(message.tree)) };
        let mut hits = super::search(snapshot, &query)?.ranked();
        hits.truncate(query.limit);
        hits.retain(|hit| {
            !seen.contains(&hit.node.seq) && (hit.node.parent != message.parent || message.parent.is_none())
        });
        if hits.first().is_none_or(|hit| !self.is_meant(hit, words)) {
            return Ok(None);
        }
        let best = hits.first().map_or(0.0, |hit| hit.score);
        // A further node must contain the words itself, because neighbours are shown with the best node anyway.
        let near = hits
            .into_iter()
            .enumerate()
            .filter(|(at, hit)| *at == 0 || hit.score >= best * MIN_SCORE_SHARE && words.nodes.contains(&hit.node.seq));
        let (mut nodes, mut is_found): (Vec<Node>, bool) = Default::default();
        let mut reader = WordTokenizer::default();
        let searched = reader.query(&query.text);
        for (_, hit) in near {
            let Some(node) = named_node(snapshot, agent, hit.node, seen)? else { continue };
            is_found = true;
            let mut has_word = false;
            reader.each(&node.content, &mut |word| has_word |= searched.iter().any(|searched| searched == word));
            if has_word && nodes.len() < MAX_HINT_NODES && nodes.iter().all(|known| known.id != node.id) {
                nodes.push(node);
            }
        }
        Ok(is_found.then(|| Hint { trigger: first.text.clone(), search: query.text, nodes }))
    }

    /// True if a node holds enough of what the message refers to: the rarest words of a named reference, or two words of
    /// a sentence that refers back. One word of such a sentence must be very rare.
    fn is_meant(&self, hit: &Hit, words: &ArchivedWords) -> bool {
        let mut reader = WordTokenizer::default();
        let mut held: HashSet<String> = HashSet::new();
        let neighbours = [&hit.parent, &hit.first_continuation].into_iter().flatten();
        for node in neighbours.chain([&hit.node]) {
            held.extend(self.occurring_words(&node.content, &mut reader));
        }
        self.found.iter().any(|reference| {
            // Numbers, such as those of a time in a name, are in the archive by chance.
            let is_word =
                |word: &&String| word.chars().filter(|c| c.is_alphabetic()).count() * 2 > word.chars().count();
            let rare = || reference.missing.iter().filter(is_word).filter(|word| words.is_rare(word));
            let found = rare().filter(|word| held.contains(*word)).count();
            let rarest = rare().filter(|word| held.contains(*word)).filter_map(|word| words.passages(word)).min();
            let all = rare().count().min(MIN_HELD_WORDS);
            found > 0 && (found >= MIN_HELD_WORDS || reference.is_named && found >= all)
                || rarest.is_some_and(|passages| passages <= words.most / VERY_RARE_SHARE)
        })
    }

    /// Returns the searched words that occur in a text.
    fn occurring_words(&self, text: &str, reader: &mut WordTokenizer) -> HashSet<String> {
        let mut letters = [false; 256];
        let wanted: HashSet<&str> =
            self.found.iter().flat_map(|reference| reference.missing.iter().map(String::as_str)).collect();
        for word in &wanted {
            letters[usize::from(word.as_bytes()[0])] = true;
        }
        let mut found = HashSet::new();
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            // The first letter excludes most words, so that they need no stemming.
            if letters[usize::from(word.as_bytes()[0].to_ascii_lowercase())] || !word.is_ascii() {
                reader.each(word, &mut |stem| {
                    if wanted.contains(stem) {
                        found.insert(stem.to_owned());
                    }
                });
            }
        }
        found
    }
}

/// Words of references, as the tree contains them.
struct ArchivedWords {
    /// Number of passages with each word that stands in the tree before the message, and whether a node outside the
    /// window has it.
    words: HashMap<String, (u64, bool)>,
    /// Nodes that contain any of the words.
    nodes: HashSet<u64>,
    /// Number of passages above which a word is common.
    most: u64,
}

impl ArchivedWords {
    fn read(snapshot: &dyn Snapshot, message: &Node, references: &[Reference], seen: &HashSet<u64>) -> Result<Self> {
        let stems = references.iter().flat_map(|reference| &reference.words).map(|(stem, _)| stem.clone());
        let mut words: Vec<String> = stems.collect();
        words.sort();
        words.dedup();
        let filter = WordFilter { tree: Some(message.tree), ..WordFilter::default() };
        let found = snapshot.postings(&words, &filter, MAX_INDEX_ROWS)?;
        let passages: Vec<(u64, u32)> = found.passages.iter().map(|passage| (passage.node, passage.part)).collect();
        let places = snapshot.places(&passages, &filter)?;
        let fits: Vec<bool> = found
            .passages
            .iter()
            .zip(places)
            .map(|(passage, place)| passage.node != message.seq && passage.place.or(place).is_some())
            .collect();
        let count = |word: &TermPostings| {
            let hits = word.hits.iter().filter(|(at, _)| fits[*at]);
            let outside = hits.clone().any(|(at, _)| !seen.contains(&found.passages[*at].node));
            let passages = if word.complete { hits.count() as u64 } else { word.estimated_passages.max(1) };
            (passages, word.complete && outside)
        };
        let counted = words.into_iter().zip(&found.words).map(|(word, said)| (word, count(said)));
        let nodes = snapshot.tree(message.tree)?.map_or(0, |tree| tree.counts.nodes);
        Ok(Self {
            words: counted.filter(|(_, (passages, _))| *passages > 0).collect(),
            nodes: found.passages.iter().map(|passage| passage.node).collect(),
            most: (nodes / COMMON_SHARE).max(MIN_COMMON_PASSAGES),
        })
    }

    /// Returns the number of passages with a word; `None` if there are none.
    fn passages(&self, word: &str) -> Option<u64> {
        self.words.get(word).map(|(passages, _)| *passages)
    }

    /// True if a node outside the window contains the word, and few nodes do.
    fn is_rare(&self, word: &str) -> bool {
        self.words.get(word).is_some_and(|(passages, outside)| *outside && *passages <= self.most)
    }

    /// Returns the rarest words of references that a node outside the window contains, in the order of the message.
    fn query(&self, references: &[Reference]) -> String {
        let mut words: Vec<(u64, &str)> = Vec::new();
        for (stem, written) in references.iter().flat_map(|reference| &reference.words) {
            if self.is_rare(stem)
                && let Some(passages) = self.passages(stem)
                && !words.iter().any(|(_, known)| known == written)
            {
                words.push((passages, written.as_str()));
            }
        }
        let mut counts: Vec<u64> = words.iter().map(|(passages, _)| *passages).collect();
        counts.sort_unstable();
        let most = counts.get(MAX_QUERY_WORDS - 1).copied().unwrap_or(u64::MAX);
        let rarest = words.into_iter().filter(|(passages, _)| *passages <= most).map(|(_, word)| word);
        rarest.take(MAX_QUERY_WORDS).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the node that a hint names for a found node: the node itself, or the message that an own reply answers unless
/// that message is `seen`. `None` for hidden nodes, thoughts, instructions and results of tools, which repeat files.
fn named_node(snapshot: &dyn Snapshot, agent: AgentId, node: Node, seen: &HashSet<u64>) -> Result<Option<Node>> {
    let is_own = |node: &Node| node.author == agent && node.author_type == AuthorType::Model;
    if matches!(node.kind, EdgeKind::Thought | EdgeKind::Instruction | EdgeKind::Tool) || node.state.hidden_by.is_some()
    {
        return Ok(None);
    }
    if !is_own(&node) {
        return Ok(Some(node));
    }
    let path = snapshot.path_back(node.id, &[], MAX_NODES_BACK)?;
    let message = path.into_iter().rev().find(|node| !is_own(node) && !node.content.trim().is_empty());
    Ok(message.map(|message| if seen.contains(&message.seq) { node } else { message }))
}

/// Returns the hint for a phrase without a noun: the newest messages before the window.
fn phrase_hint(
    snapshot: &dyn Snapshot,
    agent: AgentId,
    trigger: String,
    oldest: Option<&Node>,
    seen: &HashSet<u64>,
) -> Result<Option<Hint>> {
    let Some(before) = oldest.and_then(|node| node.parent) else { return Ok(None) };
    let mut nodes = snapshot.path_back(before, &[], MAX_NODES_BACK)?;
    nodes.retain(|node| {
        let is_own = node.author == agent && node.author_type == AuthorType::Model;
        node.kind == EdgeKind::Continuation && !is_own && !seen.contains(&node.seq) && !node.content.trim().is_empty()
    });
    nodes.reverse();
    nodes.truncate(MAX_HINT_NODES - 1);
    Ok((!nodes.is_empty()).then(|| Hint { trigger, search: String::new(), nodes }))
}
