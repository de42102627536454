//! Recall hint: detects references of a message to content outside the context window, and finds that content.
//!
//! A model cannot know that it could search for content that it does not see. Before a reply, this module reads the
//! newest message for references: phrases (`like we discussed`), definite references (`the refresh tokens`), names,
//! identifiers. References that occur in the window are resolved. The others become a hint if they occur in the
//! archive. The decision uses words and counts, no model: it is free if nothing refers back, and a wrong hint costs one
//! line.
//!
//! It detects English phrases, and names and identifiers of any language.

mod lexicon;
mod references;

use std::collections::HashSet;

use self::references::Reference;
use super::{Query, Result, Scope, search};
use crate::{
    id::TreeId,
    store::{Postings, Snapshot, WordFilter},
    text_index::WordTokenizer,
    types::Node,
};

/// Maximum number of index rows read for the words of a message.
const MAX_INDEX_ROWS: usize = 2_000;
/// Maximum number of nodes in a hint.
const MAX_HINT_NODES: usize = 3;
/// Minimum score of a further node, as a share of the best score.
const MIN_SCORE_SHARE: f64 = 0.6;

/// Returns for each passage whether it passes the filter.
fn passes_filter(snapshot: &dyn Snapshot, said: &Postings, filter: &WordFilter) -> Result<Vec<bool>> {
    let passages: Vec<(u64, u32)> = said.passages.iter().map(|passage| (passage.node, passage.part)).collect();
    let places = snapshot.places(&passages, filter)?;
    Ok(said.passages.iter().zip(places).map(|(passage, place)| passage.place.or(place).is_some()).collect())
}

/// References of a message, and the nodes that they probably mean.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hint {
    /// First words of the message that refer to earlier content.
    pub trigger: String,
    /// Search query that finds the nodes.
    pub search: String,
    /// One to three nodes, the most probable first.
    pub nodes: Vec<Node>,
}

/// References of a message, before any lookup.
#[derive(Debug)]
pub struct References(Vec<Reference>);

impl References {
    /// Finds the references in a text; `None` if there are none. It does not read the store.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let found = references::references(text);
        (!found.is_empty()).then_some(Self(found))
    }

    /// Resolves the references that occur in the tree but not in `shown`: texts with the sequence number of their node.
    ///
    /// `message` is the referring message. Its siblings, which replace it, are excluded.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn hint(
        mut self,
        snapshot: &dyn Snapshot,
        tree: TreeId,
        message: &Node,
        shown: &mut dyn Iterator<Item = (Option<u64>, &str)>,
    ) -> Result<Option<Hint>> {
        let mut seen: HashSet<u64> = HashSet::from([message.seq]);
        let mut reader = WordTokenizer::default();
        for (node, text) in shown.filter(|(node, _)| *node != Some(message.seq)) {
            seen.extend(node);
            let occurring = self.occurring_words(text, &mut reader);
            self.0.iter_mut().for_each(|reference| reference.missing.retain(|word| !occurring.contains(word)));
        }
        self.0.retain(|reference| !reference.missing.is_empty());
        let mut words: Vec<String> = self.0.iter().flat_map(|reference| reference.missing.iter().cloned()).collect();
        words.sort();
        words.dedup();
        if words.is_empty() {
            return Ok(None);
        }
        let filter = WordFilter { tree: Some(tree), ..WordFilter::default() };
        let said = snapshot.postings(&words, &filter, MAX_INDEX_ROWS)?;
        let fits = passes_filter(snapshot, &said, &filter)?;
        let elsewhere = |at: &usize| fits[*at] && !seen.contains(&said.passages[*at].node);
        let archived: HashSet<&str> = words
            .iter()
            .zip(&said.words)
            .filter(|(_, word)| word.complete && word.hits.iter().any(|(at, _)| elsewhere(at)))
            .map(|(word, _)| word.as_str())
            .collect();
        let referring =
            self.0.iter().filter(|reference| reference.missing.iter().any(|word| archived.contains(word.as_str())));
        let Some(first) = referring.clone().next() else { return Ok(None) };
        let mut query_words: Vec<&str> = Vec::new();
        for (_, word) in referring.flat_map(|reference| &reference.words) {
            if !query_words.contains(&word.as_str()) {
                query_words.push(word);
            }
        }
        let query = Query { limit: 12, ..Query::new(query_words.join(" ").replace('"', ""), Scope::Tree(tree)) };
        let mut hits = search(snapshot, &query)?.ranked();
        hits.truncate(query.limit);
        hits.retain(|hit| {
            !seen.contains(&hit.node.seq) && (hit.node.parent != message.parent || message.parent.is_none())
        });
        let best = hits.first().map_or(0.0, |hit| hit.score);
        // A further node must contain the words itself, because neighbours are shown with the best node anyway.
        let own: HashSet<u64> = said.passages.iter().map(|passage| passage.node).collect();
        let near = hits
            .into_iter()
            .enumerate()
            .filter(|(at, hit)| *at == 0 || hit.score >= best * MIN_SCORE_SHARE && own.contains(&hit.node.seq));
        let nodes: Vec<Node> = near.take(MAX_HINT_NODES).map(|(_, hit)| hit.node).collect();
        Ok((!nodes.is_empty()).then(|| Hint { trigger: first.text.clone(), search: query.text, nodes }))
    }

    /// Returns the searched words that occur in a text.
    fn occurring_words(&self, text: &str, reader: &mut WordTokenizer) -> HashSet<String> {
        let mut letters = [false; 256];
        let wanted: HashSet<&str> =
            self.0.iter().flat_map(|reference| reference.missing.iter().map(String::as_str)).collect();
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
