//! Cache of the path between screen queries. Most steps lead to a neighbour of the last node, and reading two thousand
//! nodes again would cost more than everything else.

use std::sync::Arc;

use crate::{exec::outline::MAX_PATH_NODES, id::NodeId, ops::Result, store::Snapshot, types::Node};

/// Nodes at the end of a path that every query reads.
const NEAR_NODES: u32 = 32;

/// Path of the last query, valid for one version of the journal.
#[derive(Debug, Default)]
pub(crate) struct PathCache {
    seq: u64,
    versions: Vec<NodeId>,
    path: Vec<Arc<Node>>,
}

impl PathCache {
    /// Returns the path to a node. Cached nodes are reused while the store is unchanged.
    pub(super) fn path(&mut self, snapshot: &dyn Snapshot, to: NodeId, versions: &[NodeId]) -> Result<Vec<Arc<Node>>> {
        let seq = snapshot.journal_version()?;
        let near = snapshot.path_back(to, versions, NEAR_NODES)?;
        let cached = (self.seq == seq && self.versions == versions).then(|| self.overlap(&near)).flatten();
        let path = match cached {
            Some(at) => {
                let mut path = std::mem::take(&mut self.path);
                path.truncate(at);
                path.extend(near.into_iter().map(Arc::new));
                path.drain(..path.len().saturating_sub(MAX_PATH_NODES as usize));
                path
            }
            None if near.len() < NEAR_NODES as usize => near.into_iter().map(Arc::new).collect(),
            None => snapshot.path_back(to, versions, MAX_PATH_NODES)?.into_iter().map(Arc::new).collect(),
        };
        *self = Self { seq, versions: versions.to_vec(), path: path.clone() };
        Ok(path)
    }

    /// Returns the index of the first node of `near` in the cached path, if the cache is long enough. Versions may have
    /// other parents than their originals, so paths with versions are read again.
    fn overlap(&self, near: &[Node]) -> Option<usize> {
        let first = near.first()?;
        let at = self.path.iter().rposition(|node| node.id == first.id)?;
        let whole = self.path.first().is_some_and(|top| top.parent.is_none());
        let enough = whole || at + near.len() > MAX_PATH_NODES as usize / 2;
        let plain = near.iter().chain(self.path[at..].iter().map(Arc::as_ref)).all(|node| node.version_of.is_none());
        (enough && plain).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // helpers of tests

    use super::*;
    use crate::{
        id::RandomIds,
        ops::{Actor, Loom, NodeDraft, TreeDraft},
        store::OpenOptions,
        types::{FixedClock, Mode, Parent, Timestamp},
    };

    fn scene(seed: u64) -> (tempfile::TempDir, Actor, NodeId) {
        let folder = tempfile::tempdir().unwrap();
        let (clock, ids) = (Arc::new(FixedClock::at(Timestamp::from_millis(1))), Arc::new(RandomIds::seeded(seed)));
        let store = OpenOptions::new(clock.clone(), ids.clone()).open(folder.path().join("loom.db")).unwrap();
        let loom = Loom::new(Arc::new(store), clock, ids);
        let owner = loom.actor(&loom.agent("owner").unwrap());
        let (_, root) = owner.create_tree(TreeDraft::new("root").mode(Mode::Buffer)).unwrap();
        (folder, owner, root.id)
    }

    fn ids(path: &[Arc<Node>]) -> Vec<NodeId> {
        path.iter().map(|node| node.id).collect()
    }

    /// Asserts that the cached path equals the stored one.
    #[track_caller]
    fn assert_path(cache: &mut PathCache, owner: &Actor, to: NodeId, versions: &[NodeId]) {
        let snapshot = owner.loom().snapshot().unwrap();
        let read: Vec<NodeId> =
            snapshot.path_back(to, versions, MAX_PATH_NODES).unwrap().iter().map(|node| node.id).collect();
        assert_eq!(ids(&cache.path(&*snapshot, to, versions).unwrap()), read);
    }

    #[test]
    fn the_cached_path_equals_the_stored_path() {
        let (_folder, owner, root) = scene(5);
        let mut chain = vec![root];
        for turn in 0..200 {
            let at = *chain.last().unwrap();
            chain.push(owner.append(Parent::Node(at), NodeDraft::text(format!("turn {turn}"))).unwrap().nodes[0].id);
        }
        let side = owner.append(Parent::Node(chain[120]), NodeDraft::text("another way")).unwrap().nodes[0].id;
        let mut cache = PathCache::default();
        // Up, down again, to a sibling, far away, to the root, and each twice.
        for to in [200, 199, 198, 199, 121, 120, 150, 3, 0, 40, 39, 200] {
            assert_path(&mut cache, &owner, chain[to], &[]);
            assert_path(&mut cache, &owner, chain[to], &[]);
        }
        assert_path(&mut cache, &owner, side, &[]);
        // Appended nodes, edits and selected versions.
        let added = owner.append(Parent::Node(chain[200]), NodeDraft::text("more")).unwrap().nodes[0].id;
        assert_path(&mut cache, &owner, added, &[]);
        let worded = owner.edit(chain[190], "in other words").unwrap().nodes[0].id;
        for versions in [&[][..], &[worded], &[chain[190]], &[]] {
            for to in [added, chain[200], chain[189], worded, chain[199]] {
                assert_path(&mut cache, &owner, to, versions);
            }
        }
    }

    #[test]
    fn a_change_invalidates_the_cache() {
        let (_folder, owner, root) = scene(6);
        let mut cache = PathCache::default();
        let mut at = root;
        for turn in 0..100 {
            at = owner.append(Parent::Node(at), NodeDraft::text(format!("turn {turn}"))).unwrap().nodes[0].id;
        }
        cache.path(&*owner.loom().snapshot().unwrap(), at, &[]).unwrap();
        owner.bookmark(root, "begins here").unwrap();
        let path = cache.path(&*owner.loom().snapshot().unwrap(), at, &[]).unwrap();
        assert_eq!(path[0].state.bookmark.as_deref(), Some("begins here"));
    }
}
