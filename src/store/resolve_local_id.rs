//! Rules of every backend for the nodes that a local id or its beginning names, and suggestions for a mistyped one.

use super::{
    LocalIdLookup, Result,
    choose_local_id::{LONGEST_LOCAL_ID, SHORTEST_LOCAL_ID},
};
use crate::{
    id::{LocalId, NodeId},
    types::Node,
};

/// Maximum number of suggestions.
const MAX_HINTS: usize = 3;
/// Maximum number of nodes that a lookup returns.
pub(super) const MAX_CANDIDATES: i64 = 10;
/// Maximum number of local ids, the newest, that are compared.
pub(super) const MAX_COMPARED_IDS: i64 = 200_000;

/// The lengths at which a text may be cut to a local id, the longest first: a text longer than the local id continues
/// with the ULID's random part, from which the local id was cut.
pub(super) fn cuts(text: &str) -> impl Iterator<Item = &str> {
    (SHORTEST_LOCAL_ID..=text.len()).rev().map(|length| &text[..length])
}

/// True if a text is a local id of the node, or a longer one.
pub(super) fn is_local_id_of(text: &str, node: NodeId) -> bool {
    LocalId::derive(node, LONGEST_LOCAL_ID).starts_with(text)
}

/// The result of a lookup that found these nodes; without any, the nearest local ids are suggested.
pub(super) fn lookup(mut found: Vec<Node>, nearest: impl FnOnce() -> Result<Vec<LocalId>>) -> Result<LocalIdLookup> {
    Ok(match (found.len(), found.pop()) {
        (_, None) => LocalIdLookup::None(nearest()?),
        (1, Some(node)) => LocalIdLookup::One(Box::new(node)),
        (_, Some(last)) => {
            found.push(last);
            LocalIdLookup::Many(found)
        }
    })
}

/// The local ids with the smallest edit distance to a text.
pub(super) struct LocalIdHints<'w> {
    wanted: &'w str,
    /// The nearest first, each with its distance.
    best: Vec<(usize, LocalId)>,
}

impl<'w> LocalIdHints<'w> {
    pub(super) fn of(wanted: &'w str) -> Self {
        Self { wanted, best: Vec::with_capacity(MAX_HINTS + 1) }
    }

    /// Compares a local id; of several with the same distance the first ones stay.
    pub(super) fn compare(&mut self, local: &str) {
        let distance = strsim::osa_distance(local, self.wanted);
        // A text with more than half of its characters wrong is no typo.
        if distance > self.wanted.len().div_ceil(2)
            || self.best.len() == MAX_HINTS && distance >= self.best[MAX_HINTS - 1].0
        {
            return;
        }
        if let Ok(local) = LocalId::try_from(local) {
            let at = self.best.partition_point(|(d, _)| *d <= distance);
            self.best.insert(at, (distance, local));
            self.best.truncate(MAX_HINTS);
        }
    }

    /// The nearest local ids, the nearest first.
    pub(super) fn nearest(self) -> Vec<LocalId> {
        self.best.into_iter().map(|(_, local)| local).collect()
    }
}
