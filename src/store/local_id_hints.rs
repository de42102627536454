//! Suggestions for a mistyped local id.

use crate::id::LocalId;

/// Maximum number of suggestions.
const MAX_HINTS: usize = 3;
/// Maximum number of local ids, the newest, that are compared.
pub(super) const MAX_COMPARED_IDS: i64 = 200_000;

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
