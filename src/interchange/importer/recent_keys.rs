//! Bounded memory of an import: recent keys in two generations. When the newer one is full, the older one is dropped.
//! Keys of messages are in the store too, so a forgotten one is found there. Other names of a message and ids of calls are
//! only here: a reference to one more than 65,536 messages back may find nothing.

use std::{collections::HashMap, hash::Hash};

use foldhash::fast::FixedState;

/// Keys of a generation. Two batches that wait for their commit hold far fewer, so a dropped key is committed.
const MAX_GENERATION_KEYS: usize = 1 << 16;

/// Map that forgets its oldest keys. Its keys are digests and random ids, so their hasher needs no secret.
pub(super) struct RecentMap<K, V> {
    new: HashMap<K, V, FixedState>,
    old: HashMap<K, V, FixedState>,
    has_forgotten: bool,
}

impl<K: Hash + Eq + Copy, V: Copy> RecentMap<K, V> {
    pub(super) fn new() -> Self {
        Self { new: HashMap::default(), old: HashMap::default(), has_forgotten: false }
    }

    pub(super) fn get(&self, key: K) -> Option<V> {
        self.new.get(&key).or_else(|| self.old.get(&key)).copied()
    }

    /// Inserts a value; returns the value that the key had.
    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        if self.new.len() >= MAX_GENERATION_KEYS {
            self.has_forgotten |= !self.old.is_empty();
            self.old = std::mem::take(&mut self.new);
        }
        let older = self.old.get(&key).copied();
        self.new.insert(key, value).or(older)
    }

    /// True if a key may be missing that was inserted.
    pub(super) fn has_forgotten(&self) -> bool {
        self.has_forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_keys_are_found_and_old_ones_forgotten() {
        let mut map = RecentMap::new();
        let keys = 3 * MAX_GENERATION_KEYS as u64;
        for key in 0..keys {
            assert_eq!(map.insert(key, key), None);
            assert_eq!(map.has_forgotten(), key >= 2 * MAX_GENERATION_KEYS as u64);
        }
        assert_eq!(map.get(keys - 1), Some(keys - 1));
        assert_eq!(map.get(keys - MAX_GENERATION_KEYS as u64), Some(keys - MAX_GENERATION_KEYS as u64));
        assert_eq!(map.get(0), None);
        assert_eq!(map.insert(keys - 1, 0), Some(keys - 1));
    }
}
