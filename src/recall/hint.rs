//! The recall hint: whether a message refers to something that was said and is not shown, and what that probably is.
//!
//! A model that does not see a thing does not know that it could look. So before a reply the newest message is looked
//! through for words that refer back: turns of phrase (`like we discussed`), definite references (`the refresh
//! tokens`), names, identifiers. Those that stand in the window are understood; of the others, those that stand in the
//! archive are meant. The choice is words and counts, no model: it costs nothing where nothing refers back, and a hint
//! too many costs a line.
//!
//! Only English is understood; of other languages names and identifiers.

mod lexicon;
mod references;

use std::collections::HashSet;

use self::references::Reference;
use super::{Query, Result, Scope, search};
use crate::{
    id::TreeId,
    store::{Postings, Snapshot, WordFilter},
    types::{Node, WordTokenizer},
};

/// Rows of the index that are read for the words of a message.
const READ: usize = 2_000;
/// Nodes that are named.
const NAMED: usize = 3;
/// What a node must have of the best one's score to be named too.
const NEAR: f64 = 0.6;

/// Whether each passage fits the filter.
fn fitting(snapshot: &dyn Snapshot, said: &Postings, filter: &WordFilter) -> Result<Vec<bool>> {
    let passages: Vec<(u64, u32)> = said.passages.iter().map(|passage| (passage.node, passage.part)).collect();
    let places = snapshot.places(&passages, filter)?;
    Ok(said.passages.iter().zip(places).map(|(passage, place)| passage.place.or(place).is_some()).collect())
}

/// What a message refers to, and where that is.
#[derive(Debug, Clone, PartialEq)]
pub struct Hint {
    /// The words of the message that refer to it.
    pub said: String,
    /// What to search for.
    pub search: String,
    /// What is probably meant, the likeliest first: one to three nodes.
    pub nodes: Vec<Node>,
}

/// A message's references, before anything is looked up.
#[derive(Debug)]
pub struct References(Vec<Reference>);

impl References {
    /// What in a text may refer to something said before; `None` if nothing does. Reads no store.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let found = references::references(text);
        (!found.is_empty()).then_some(Self(found))
    }

    /// What of it is in a tree and not in what is shown: texts, with the number of the node that each is of. `message` is
    /// the message itself; what else was said in its place is not meant.
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
            let stands = self.standing(text, &mut reader);
            self.0.iter_mut().for_each(|reference| reference.missing.retain(|word| !stands.contains(word)));
        }
        self.0.retain(|reference| !reference.missing.is_empty());
        let mut words: Vec<String> = self.0.iter().flat_map(|reference| reference.missing.iter().cloned()).collect();
        words.sort();
        words.dedup();
        if words.is_empty() {
            return Ok(None);
        }
        let filter = WordFilter { tree: Some(tree), ..WordFilter::default() };
        let said = snapshot.postings(&words, &filter, READ)?;
        let fits = fitting(snapshot, &said, &filter)?;
        let elsewhere = |at: &usize| fits[*at] && !seen.contains(&said.passages[*at].node);
        let kept: HashSet<&str> = words
            .iter()
            .zip(&said.words)
            .filter(|(_, word)| word.complete && word.hits.iter().any(|(at, _)| elsewhere(at)))
            .map(|(word, _)| word.as_str())
            .collect();
        let meant = self.0.iter().filter(|reference| reference.missing.iter().any(|word| kept.contains(word.as_str())));
        let Some(first) = meant.clone().next() else { return Ok(None) };
        let mut asked: Vec<&str> = Vec::new();
        for (_, word) in meant.flat_map(|reference| &reference.words) {
            if !asked.contains(&word.as_str()) {
                asked.push(word);
            }
        }
        let query = Query { limit: 12, ..Query::new(asked.join(" ").replace('"', ""), Scope::Tree(tree)) };
        let mut hits = search(snapshot, &query)?.ranked();
        hits.truncate(query.limit);
        hits.retain(|hit| {
            !seen.contains(&hit.node.seq) && (hit.node.parent != message.parent || message.parent.is_none())
        });
        let best = hits.first().map_or(0.0, |hit| hit.score);
        // Beside the best only what has the words itself: what stands around that is shown with it.
        let own: HashSet<u64> = said.passages.iter().map(|passage| passage.node).collect();
        let near = hits
            .into_iter()
            .enumerate()
            .filter(|(at, hit)| *at == 0 || hit.score >= best * NEAR && own.contains(&hit.node.seq));
        let nodes: Vec<Node> = near.take(NAMED).map(|(_, hit)| hit.node).collect();
        Ok((!nodes.is_empty()).then(|| Hint { said: first.said.clone(), search: query.text, nodes }))
    }

    /// Which of the words that are looked for stand in a text.
    fn standing(&self, text: &str, reader: &mut WordTokenizer) -> HashSet<String> {
        let mut letters = [false; 256];
        let wanted: HashSet<&str> =
            self.0.iter().flat_map(|reference| reference.missing.iter().map(String::as_str)).collect();
        for word in &wanted {
            letters[usize::from(word.as_bytes()[0])] = true;
        }
        let mut found = HashSet::new();
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            // Most words begin with another letter, and need not be brought to their stems.
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
