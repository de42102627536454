//! A queued change with precomputed words and hashes, so that the writer thread does not compute them. The submitting
//! thread prepares it while the writer commits earlier changes. Only data that needs no access to the file is
//! precomputed: the words of new nodes, the hashes of nodes whose parent is in the same change or in the one before, and
//! messages without directives.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::writer_cache::RowMap;
use crate::{
    id::NodeId,
    session_state::CompiledRules,
    store::{Change, Mutation, QueuedChange, searched_text},
    text_index::{Passage, WordTokenizer},
    types::{AuthorType, ContentHash, EdgeKind, HashInput, NewNode, Parent},
};

/// Maximum number of idle tokenizers.
const MAX_IDLE_TOKENIZERS: usize = 4;
/// Maximum content in bytes that the submitting thread tokenizes: other tasks may wait for that thread.
const MAX_CALLER_BYTES: usize = 64 * 1024;

/// A change and its precomputed data. Either the submitting thread or the writer thread computes it, whichever needs it
/// first. Nodes are identified by their index among the nodes that the change adds.
#[derive(Debug)]
pub(super) struct PreparedChange {
    pub(super) change: Change,
    words: OnceLock<PreparedWords>,
    hashes: OnceLock<Vec<Option<PreparedHashes>>>,
    /// For each node, true if its text contains no directive.
    plain: OnceLock<Vec<bool>>,
}

/// The passages of all nodes, and the end of each node's passages.
#[derive(Debug, Default)]
pub(super) struct PreparedWords {
    passages: Vec<Passage>,
    ends: Vec<usize>,
}

/// A node's hash, valid if the parent has this hash; a root has none.
#[derive(Debug, Clone, Copy)]
struct PreparedHashes {
    parent: Option<ContentHash>,
    own: ContentHash,
}

impl QueuedChange for PreparedChange {
    fn change(&self) -> &Change {
        &self.change
    }
}

impl PreparedChange {
    pub(super) fn new(change: Change) -> Arc<Self> {
        Arc::new(Self { change, words: OnceLock::new(), hashes: OnceLock::new(), plain: OnceLock::new() })
    }

    /// The nodes that the change adds.
    fn added(&self) -> impl Iterator<Item = &NewNode> {
        self.change.mutations.iter().filter_map(|mutation| match mutation {
            Mutation::Append(node) => Some(&**node),
            _ => None,
        })
    }

    /// True if the node's words are precomputed.
    pub(super) fn has_words_of(node: &NewNode) -> bool {
        node.content.len() + node.tool.calls.as_ref().map_or(0, |calls| calls.as_str().len()) <= MAX_CALLER_BYTES
    }

    /// The words of the added nodes, equal to those of [`super::fts_index::IndexedText`].
    pub(super) fn words(&self, reader: &mut WordTokenizer) -> &PreparedWords {
        self.words.get_or_init(|| {
            let mut words = PreparedWords::default();
            for node in self.added() {
                if Self::has_words_of(node) {
                    words.passages.extend(reader.passages(&searched_text::of_new(node)));
                }
                words.ends.push(words.passages.len());
            }
            words
        })
    }

    /// Computes the words of changes that are committed already.
    pub(super) fn read_words(changes: &[Arc<Self>], reader: &mut WordTokenizer) {
        for work in changes {
            work.words(reader);
        }
    }

    /// The hashes of roots and of nodes whose parent is in this change or in `earlier`, to which the new hashes are added.
    fn hashes(&self, earlier: &mut RowMap<NodeId, ContentHash>) -> Vec<Option<PreparedHashes>> {
        let mut known = RowMap::default();
        let hashes = self.added().map(|node| {
            let parent = match node.parent {
                Parent::Root(_) => Some(None),
                Parent::Node(parent) => known.get(&parent).or_else(|| earlier.get(&parent)).copied().map(Some),
                Parent::Position(_) => None,
            };
            let hashes = parent
                .filter(|_| node.purged_at.is_none() && node.hash.is_none_or(|hash| hash.version() > 1))
                .map(|parent| PreparedHashes { parent, own: ContentHash::of(&HashInput::of_new(node, parent)) });
            if let Some(own) = node.hash.or(hashes.map(|h| h.own)) {
                known.insert(node.id, own);
            }
            hashes
        });
        let hashes = hashes.collect();
        *earlier = known;
        hashes
    }

    /// True if the text of the node at this index is known to contain no directive.
    pub(super) fn has_no_directive(&self, place: usize) -> bool {
        self.plain.get().and_then(|plain| plain.get(place)).is_some_and(|plain| *plain)
    }

    /// The precomputed hash of a node whose parent has this hash, if any.
    pub(super) fn hash(&self, place: usize, parent: Option<ContentHash>) -> Option<ContentHash> {
        let hashes = (*self.hashes.get()?.get(place)?)?;
        (hashes.parent == parent).then_some(hashes.own)
    }
}

impl PreparedWords {
    /// The passages of the node at this index.
    pub(super) fn of(&self, place: usize) -> &[Passage] {
        let start = place.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let range = start.zip(self.ends.get(place).copied());
        range.and_then(|(start, end)| self.passages.get(start..end)).unwrap_or_default()
    }
}

/// Prepares changes outside of the writer: a pool of tokenizers, each of which caches words.
#[derive(Debug, Default)]
pub(super) struct ChangePreparer {
    idle: Mutex<Vec<WordTokenizer>>,
    /// Hashes of the nodes of the last change with several: the next change of an import continues it. They need not be
    /// right, since each is used only if the stored parent has it.
    newest: Mutex<RowMap<NodeId, ContentHash>>,
}

impl ChangePreparer {
    /// Precomputes the hashes of a change of several nodes, and its messages without directives: before the writer gets it,
    /// which needs them at once. The parent of a single node is rarely in the change before, so it has none.
    pub(super) fn prepare_hashes(&self, work: &PreparedChange, rules: &CompiledRules) {
        if work.added().nth(1).is_some() {
            let mut newest = std::mem::take(&mut *self.newest());
            work.hashes.get_or_init(|| work.hashes(&mut newest));
            *self.newest() = newest;
            let is_plain = |node: &NewNode| Self::is_message(node) && !rules.may_contain_directive(&node.content);
            work.plain.get_or_init(|| work.added().map(is_plain).collect());
        }
    }

    /// Precomputes the words of a change: while the writer works, which needs them last.
    pub(super) fn prepare_words(&self, work: &PreparedChange) {
        if work.added().next().is_some() {
            let mut reader = self.acquire();
            work.words(&mut reader);
            self.release(reader);
        }
    }

    /// True for a message of a user, the only one whose words are read for directives.
    fn is_message(node: &NewNode) -> bool {
        node.turn.is_some() && node.role() == AuthorType::Human && node.kind == EdgeKind::Continuation
    }

    /// Takes an idle tokenizer, or creates one.
    pub(super) fn acquire(&self) -> WordTokenizer {
        self.idle().pop().unwrap_or_default()
    }

    pub(super) fn release(&self, reader: WordTokenizer) {
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE_TOKENIZERS {
            idle.push(reader);
        }
    }

    fn newest(&self) -> MutexGuard<'_, RowMap<NodeId, ContentHash>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<WordTokenizer>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
