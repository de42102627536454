//! Shape of a whole tree in memory, for maps: the order of the outline and what lies below each node, 40 bytes a node. It
//! holds no text and no author. Shapes of the trees viewed last are kept. Appended nodes are added to a kept shape; after
//! any other change of the tree its shape is stale, and is read again.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::error::Result;
use crate::{
    id::TreeId,
    store::{JournalFilter, ShapeRow, Snapshot},
    types::{EdgeKind, JournalEntry},
};

/// Nodes of all kept shapes, at most, unless one tree alone has more.
const MAX_KEPT_NODES: usize = 3_000_000;
/// A shape is read again no sooner than after this many times the duration of the last reading.
const REST: u32 = 8;
/// Entries of the journal that a kept shape follows, at most. With more, it is read again.
const MAX_FOLLOWED: u32 = 200;
/// Changes of the journal that leave every shape as it is.
const OTHER_CHANGES: [&str; 9] = [
    "set_excluded",
    "link",
    "set_link_removed",
    "update_tree",
    "set_archived",
    "create_session",
    "update_session",
    "pin",
    "unpin",
];
/// Bookmarks of a tree that its map shows.
const MAX_BOOKMARKS: usize = 500;

/// Shape of a tree. Nodes are numbered in the order of the outline, so a branch is a range of numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TreeShape {
    seq: Vec<u64>,
    parent: Vec<u32>,
    depth: Vec<u32>,
    /// Nodes of the branch, including its first.
    nodes: Vec<u32>,
    /// Leaves of the branch.
    leaves: Vec<u32>,
    /// Leaves before the branch.
    row: Vec<u32>,
    /// Depth of the deepest node of the branch.
    deepest: Vec<u32>,
    /// Numbers of nodes by sequence number.
    by_seq: Vec<u32>,
    /// Bookmarked nodes.
    pub(super) bookmarks: Vec<u32>,
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Finds each row's parent among the rows of the level above.
fn parents(rows: &[ShapeRow]) -> (Vec<ShapeRow>, Vec<u32>) {
    let (mut kept, mut found) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    let mut above: Vec<(u64, u32)> = Vec::new();
    let mut level: Vec<(u64, u32)> = Vec::new();
    let mut depth = 0;
    for row in rows {
        if row.depth != depth {
            above = std::mem::take(&mut level);
            above.sort_unstable();
            depth = row.depth;
        }
        let parent = match row.parent {
            None => u32::MAX,
            Some(parent) => match above.binary_search_by_key(&parent, |(seq, _)| *seq) {
                Ok(at) => above[at].1,
                // It continues a note or a hidden node.
                Err(_) => continue,
            },
        };
        level.push((row.seq, narrow(kept.len())));
        kept.push(*row);
        found.push(parent);
    }
    (kept, found)
}

impl TreeShape {
    /// Builds the shape from rows, level by level.
    pub(super) fn new(rows: &[ShapeRow]) -> Self {
        let (rows, parents) = parents(rows);
        let count = rows.len();
        let (mut nodes, mut leaves) = (vec![1_u32; count], vec![0_u32; count]);
        let mut deepest: Vec<u32> = rows.iter().map(|row| row.depth).collect();
        for at in (0..count).rev() {
            leaves[at] = leaves[at].max(1);
            let parent = parents[at] as usize;
            if parent < count {
                nodes[parent] += nodes[at];
                leaves[parent] += leaves[at];
                deepest[parent] = deepest[parent].max(deepest[at]);
            }
        }
        let mut shape = Self {
            seq: vec![0; count],
            parent: vec![u32::MAX; count],
            depth: vec![0; count],
            nodes: vec![0; count],
            leaves: vec![0; count],
            row: vec![0; count],
            deepest: vec![0; count],
            by_seq: Vec::new(),
            bookmarks: Vec::new(),
        };
        // Number and row of each row of the input, and of its next child.
        let mut place = vec![(0_u32, 0_u32); count];
        let mut next = vec![(0_u32, 0_u32); count];
        for at in 0..count {
            let parent = parents[at] as usize;
            if parent < count {
                place[at] = next[parent];
                next[parent] = (place[at].0 + nodes[at], place[at].1 + leaves[at]);
            }
            let (number, row) = place[at];
            next[at] = (number + 1, row);
            let to = number as usize;
            shape.seq[to] = rows[at].seq;
            shape.parent[to] = place.get(parent).map_or(u32::MAX, |(number, _)| *number);
            shape.depth[to] = rows[at].depth;
            shape.nodes[to] = nodes[at];
            shape.leaves[to] = leaves[at];
            shape.row[to] = row;
            shape.deepest[to] = deepest[at];
        }
        shape.by_seq = (0..narrow(count)).collect();
        shape.by_seq.sort_unstable_by_key(|number| shape.seq[*number as usize]);
        shape
    }

    fn read(snapshot: &dyn Snapshot, tree: TreeId) -> Result<Self> {
        let mut rows = Vec::new();
        snapshot.shape(tree, &mut |row| rows.push(row))?;
        let mut shape = Self::new(&rows);
        let marked = snapshot.bookmarks(tree)?;
        shape.bookmarks = marked.iter().filter_map(|node| shape.find(node.seq)).take(MAX_BOOKMARKS).collect();
        Ok(shape)
    }

    /// Adds a node as the last continuation of another, unless the shape does not show that one. Its sequence number is
    /// higher than those of all others.
    fn append(&mut self, seq: u64, parent: u64) {
        let Some(parent) = self.find(parent) else { return };
        let (at, depth, is_first) = (self.end(parent), self.depth(parent) + 1, self.nodes(parent) == 1);
        let row = self.row(parent) + if is_first { 0 } else { self.leaves(parent) };
        let mut above = Some(parent);
        while let Some(node) = above {
            above = self.parent(node);
            let node = node as usize;
            self.nodes[node] += 1;
            self.leaves[node] += u32::from(!is_first);
            self.deepest[node] = self.deepest[node].max(depth);
        }
        let numbers = self.by_seq.iter_mut().chain(&mut self.bookmarks);
        let parents = self.parent.iter_mut().filter(|parent| **parent != u32::MAX);
        for number in numbers.chain(parents).filter(|number| **number >= at) {
            *number += 1;
        }
        let place = at as usize;
        for row in self.row[place..].iter_mut().filter(|_| !is_first) {
            *row += 1;
        }
        self.seq.insert(place, seq);
        let fields = [&mut self.parent, &mut self.depth, &mut self.nodes, &mut self.leaves, &mut self.row];
        for (field, value) in fields.into_iter().zip([parent, depth, 1, 1, row]) {
            field.insert(place, value);
        }
        self.deepest.insert(place, depth);
        self.by_seq.push(at);
    }

    /// Adds the nodes that entries of the journal appended. Returns false if they changed the tree in another way.
    fn follow(self: &mut Arc<Self>, snapshot: &dyn Snapshot, entries: &[JournalEntry]) -> Result<bool> {
        let mut rows = Vec::new();
        for entry in entries.iter().filter(|entry| !OTHER_CHANGES.contains(&entry.change.as_str())) {
            let Some(node) = entry.node.filter(|_| entry.change == "append") else { return Ok(false) };
            let Some(node) = snapshot.node(node)? else { return Ok(false) };
            if node.kind != EdgeKind::Continuation || node.state.hidden_by.is_some() {
                continue;
            }
            let Some(parent) = node.parent.map(|id| snapshot.node(id)).transpose()?.flatten() else { return Ok(false) };
            rows.push((node.seq, parent.seq));
        }
        rows.sort_unstable();
        if rows.first().is_some_and(|(seq, _)| self.by_seq.last().is_some_and(|last| self.seq(*last) >= *seq)) {
            return Ok(false);
        }
        if !rows.is_empty() {
            let shape = Arc::make_mut(self);
            rows.iter().for_each(|(seq, parent)| shape.append(*seq, *parent));
        }
        Ok(true)
    }

    pub(super) fn len(&self) -> usize {
        self.seq.len()
    }

    /// Returns the number of a node by its sequence number.
    pub(super) fn find(&self, seq: u64) -> Option<u32> {
        let at = self.by_seq.binary_search_by_key(&seq, |number| self.seq[*number as usize]).ok()?;
        Some(self.by_seq[at])
    }

    pub(super) fn seq(&self, node: u32) -> u64 {
        self.seq[node as usize]
    }

    pub(super) fn parent(&self, node: u32) -> Option<u32> {
        Some(self.parent[node as usize]).filter(|parent| *parent != u32::MAX)
    }

    pub(super) fn depth(&self, node: u32) -> u32 {
        self.depth[node as usize]
    }

    pub(super) fn nodes(&self, node: u32) -> u32 {
        self.nodes[node as usize]
    }

    pub(super) fn leaves(&self, node: u32) -> u32 {
        self.leaves[node as usize]
    }

    /// Leaves before the node's branch: the first row of the branch.
    pub(super) fn row(&self, node: u32) -> u32 {
        self.row[node as usize]
    }

    pub(super) fn deepest(&self, node: u32) -> u32 {
        self.deepest[node as usize]
    }

    /// Twice the row of the node's middle: a node is beside the middle of its branch.
    pub(super) fn middle(&self, node: u32) -> u32 {
        2 * self.row(node) + self.leaves(node)
    }

    /// Number after the last node of the branch.
    pub(super) fn end(&self, node: u32) -> u32 {
        node + self.nodes(node)
    }

    /// Returns the last node of the run that begins with a node: nodes without siblings.
    pub(super) fn run_end(&self, mut node: u32) -> u32 {
        while self.nodes(node) > 1 && self.nodes(node + 1) == self.nodes(node) - 1 {
            node += 1;
        }
        node
    }

    /// Returns the node at a depth in a row, or the deepest one above it.
    pub(super) fn at(&self, depth: u32, row: u32) -> Option<u32> {
        let mut node = 0;
        if self.seq.is_empty() || row >= self.leaves(0) {
            return None;
        }
        while self.depth(node) < depth && self.nodes(node) > 1 {
            let (mut child, end) = (node + 1, self.end(node));
            while child < end && self.row(child) + self.leaves(child) <= row {
                child = self.end(child);
            }
            node = child;
        }
        Some(node)
    }
}

/// Shape with the moment of its reading.
struct KeptShape {
    tree: TreeId,
    shape: Arc<TreeShape>,
    /// Last journal entry that it contains.
    journal: u64,
    read_at: Instant,
    took: Duration,
}

/// Shapes of the trees viewed last, the newest at the end.
#[derive(Default)]
pub(super) struct ShapeCache(Mutex<Vec<KeptShape>>);

impl ShapeCache {
    /// Returns the shape of a tree, and whether the tree has changed since it was read. After other changes than appends, a
    /// tree is read again, large ones from time to time.
    pub(super) fn get(&self, snapshot: &dyn Snapshot, tree: TreeId) -> Result<(Arc<TreeShape>, bool)> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|one| one.tree == tree) {
            let mut found = kept.remove(at);
            let last = snapshot.last_seq()?;
            let limit = MAX_FOLLOWED + 1;
            let filter = JournalFilter { tree: Some(tree), after: found.journal, limit, ..JournalFilter::default() };
            let entries = snapshot.journal(filter)?;
            let is_stale = entries.len() >= limit as usize || !found.shape.follow(snapshot, &entries)?;
            if !is_stale {
                found.journal = last;
            }
            if !is_stale || found.read_at.elapsed() < found.took * REST {
                let shape = Arc::clone(&found.shape);
                kept.push(found);
                return Ok((shape, is_stale));
            }
        }
        let read_at = Instant::now();
        let journal = snapshot.last_seq()?;
        let shape = Arc::new(TreeShape::read(snapshot, tree)?);
        kept.push(KeptShape { tree, shape: Arc::clone(&shape), journal, read_at, took: read_at.elapsed() });
        while kept.len() > 1 && kept.iter().map(|one| one.shape.len()).sum::<usize>() > MAX_KEPT_NODES {
            kept.remove(0);
        }
        Ok((shape, false))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a failure here fails the test

    use super::*;

    fn rows(list: &[(u64, Option<u64>, u32)]) -> Vec<ShapeRow> {
        list.iter().map(|(seq, parent, depth)| ShapeRow { seq: *seq, parent: *parent, depth: *depth }).collect()
    }

    #[test]
    fn a_branch_is_a_range_of_rows_and_nodes() {
        // 1 ─ 2 ─ 4 ─ 6
        //   └ 3   └ 5
        let shape = TreeShape::new(&rows(&[
            (1, None, 0),
            (2, Some(1), 1),
            (3, Some(1), 1),
            (4, Some(2), 2),
            (5, Some(2), 2),
            (9, Some(8), 2),
            (6, Some(4), 3),
        ]));
        assert_eq!(shape.len(), 6, "a node whose parent is not shown is left out");
        let order: Vec<u64> = (0..6).map(|node| shape.seq(node)).collect();
        assert_eq!(order, [1, 2, 4, 6, 5, 3]);
        assert_eq!((shape.nodes(0), shape.leaves(0), shape.deepest(0)), (6, 3, 3));
        assert_eq!((shape.nodes(1), shape.row(1), shape.middle(1)), (4, 0, 2));
        assert_eq!(shape.find(5).map(|node| (node, shape.row(node), shape.parent(node))), Some((4, 1, Some(1))));
        assert_eq!(shape.run_end(2), 3);
        let at = |depth, row| shape.at(depth, row).map(|node| shape.seq(node));
        assert_eq!([at(0, 2), at(2, 1), at(9, 0), at(1, 2), at(0, 3)], [Some(1), Some(5), Some(6), Some(3), None]);
    }

    #[test]
    fn a_shape_that_grew_is_the_shape_of_the_grown_tree() {
        let mut seed = 11_u64;
        let mut next = |most: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % most
        };
        let mut nodes = vec![(1, None, 0)];
        let mut grown = TreeShape::new(&rows(&nodes));
        for seq in 2..200 {
            let (parent, _, depth) = nodes[usize::try_from(next(seq - 1)).unwrap()];
            nodes.push((seq, Some(parent), depth + 1));
            grown.append(seq, parent);
            let mut levels = nodes.clone();
            levels.sort_by_key(|(seq, parent, depth)| (*depth, *parent, *seq));
            assert_eq!(grown, TreeShape::new(&rows(&levels)), "{seq} after {parent}");
        }
        grown.append(900, 800);
        assert_eq!(grown.len(), 199, "what continues a hidden node is not shown");
    }
}
