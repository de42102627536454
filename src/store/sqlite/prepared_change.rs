//! A change on its way to the writer, and what can be read of it without the file: the words of what it says, and the hashes of
//! nodes that hang on others of the same change. The caller does so while the writer writes what came before, since the
//! writer's time is everybody's.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::cache::NumberedMap;
use crate::{
    id::NodeId,
    store::{Change, Mutation},
    text_index::{Passage, WordTokenizer},
    types::{ContentHash, HashInput, Json, NewNode, Parent},
};

/// Readers of words kept for the next caller.
const READERS: usize = 4;
/// Bytes of content that a caller reads the words of at the most: it may be on a thread that others wait for.
const BY_CALLER: usize = 64 * 1024;

/// A change, and what can be read of it by itself: by the caller, while the writer writes what came before; or by the writer,
/// should it need that sooner. Nodes are named by their place among those that the change adds.
#[derive(Debug)]
pub(super) struct PreparedChange {
    pub(super) change: Change,
    words: OnceLock<PreparedWords>,
    hashes: OnceLock<Vec<Option<PreparedHashes>>>,
}

/// The passages of one node after another, and where those of each end.
#[derive(Debug, Default)]
pub(super) struct PreparedWords {
    passages: Vec<Passage>,
    ends: Vec<usize>,
}

/// The hash of a node, if its parent's is this one.
#[derive(Debug, Clone, Copy)]
struct PreparedHashes {
    parent: ContentHash,
    own: ContentHash,
}

impl PreparedChange {
    pub(super) fn new(change: Change) -> Arc<Self> {
        Arc::new(Self { change, words: OnceLock::new(), hashes: OnceLock::new() })
    }

    /// The nodes that the change adds.
    fn added(&self) -> impl Iterator<Item = &NewNode> {
        self.change.mutations.iter().filter_map(|mutation| match mutation {
            Mutation::Append(node) => Some(&**node),
            _ => None,
        })
    }

    /// Whether a node's words are read with the change.
    pub(super) fn has_words_of(node: &NewNode) -> bool {
        node.content.len() + node.tool.calls.as_ref().map_or(0, |calls| calls.as_str().len()) <= BY_CALLER
    }

    /// The words of its nodes, as [`super::index::Said`] will have them.
    pub(super) fn words(&self, reader: &mut WordTokenizer) -> &PreparedWords {
        self.words.get_or_init(|| {
            let mut words = PreparedWords::default();
            for node in self.added() {
                if Self::has_words_of(node) {
                    words.passages.extend(match node.tool.calls.as_ref().map(Json::as_str) {
                        None => reader.passages(&node.content),
                        Some(calls) => reader.passages(&format!("{}\n{calls}", node.content)),
                    });
                }
                words.ends.push(words.passages.len());
            }
            words
        })
    }

    /// The hashes of those nodes that hang on others of the same change.
    fn hashes(&self) -> Vec<Option<PreparedHashes>> {
        let mut known: NumberedMap<NodeId, ContentHash> = NumberedMap::default();
        let hashes = self.added().map(|node| {
            let parent = match node.parent {
                Parent::Node(parent) => known.get(&parent).copied(),
                _ => None,
            };
            let hashes = parent
                .filter(|_| node.purged_at.is_none() && node.hash.is_none_or(|hash| hash.version() > 1))
                .map(|parent| PreparedHashes { parent, own: ContentHash::of(&HashInput::of_new(node, Some(parent))) });
            if let Some(own) = node.hash.or(hashes.map(|h| h.own)) {
                known.insert(node.id, own);
            }
            hashes
        });
        hashes.collect()
    }

    /// The hash of a node whose parent has this one, if somebody found it out already.
    pub(super) fn hash(&self, place: usize, parent: ContentHash) -> Option<ContentHash> {
        let hashes = (*self.hashes.get()?.get(place)?)?;
        (hashes.parent == parent).then_some(hashes.own)
    }
}

impl PreparedWords {
    /// Those of the node at a place.
    pub(super) fn of(&self, place: usize) -> &[Passage] {
        let start = place.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let range = start.zip(self.ends.get(place).copied());
        range.and_then(|(start, end)| self.passages.get(start..end)).unwrap_or_default()
    }
}

/// Readers of words for callers; each remembers what it read.
#[derive(Debug, Default)]
pub(super) struct TokenizerPool(Mutex<Vec<WordTokenizer>>);

impl TokenizerPool {
    /// Reads what a change adds.
    pub(super) fn read(&self, work: &PreparedChange) {
        if work.added().next().is_some() {
            // One alone hangs on what is there.
            if work.added().nth(1).is_some() {
                work.hashes.get_or_init(|| work.hashes());
            }
            let mut reader = self.lend();
            work.words(&mut reader);
            self.give_back(reader);
        }
    }

    /// A reader that remembers what others had it read, if one is idle.
    pub(super) fn lend(&self) -> WordTokenizer {
        self.idle().pop().unwrap_or_default()
    }

    pub(super) fn give_back(&self, reader: WordTokenizer) {
        let mut idle = self.idle();
        if idle.len() < READERS {
            idle.push(reader);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<WordTokenizer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
