//! Outline around the cursor: a window of a tree's lines, read from the cursor outwards. The cost depends on the
//! visible lines, not on the size of the tree.
//!
//! Only branch points indent; nodes without siblings share a column. The order of lines depends only on folds, so
//! moving the cursor scrolls but never moves a line.
//!
//! A node with several versions is one line, which shows the selected version.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use crate::{
    id::NodeId,
    ops::selected_version,
    store::{Result, SiblingCursor, Snapshot},
    types::{EdgeKind, Node},
};

/// Nodes of the path above the cursor that are read.
pub(crate) const MAX_PATH_NODES: u32 = 2_000;
/// Branch levels, from the cursor outwards, whose guides are read.
const MAX_GUIDE_LEVELS: usize = 64;
/// Steps down to the last descendant of the branch above, at most.
const MAX_DESCENT_STEPS: usize = 600;

/// Line of the outline.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OutlineRow {
    /// Content of the line.
    pub(crate) kind: RowKind,
    /// For each branch level of the line: true if its branch is the last there. Distant levels count as last.
    pub(crate) levels: Vec<bool>,
    /// True if the node begins a branch of the last level.
    pub(crate) opens_branch: bool,
}

/// Content of an outline line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RowKind {
    /// A node in its selected version.
    Node {
        /// Selected version of the node.
        node: Box<Node>,
        /// Original node, the parent of continuations.
        place: NodeId,
        /// True if a fold hides continuations.
        folded: bool,
    },
    /// Marks lines that were not read.
    Omitted,
}

impl OutlineRow {
    /// Returns the node of the line; `None` for omitted lines.
    pub(crate) fn node(&self) -> Option<&Node> {
        match &self.kind {
            RowKind::Node { node, .. } => Some(node),
            RowKind::Omitted => None,
        }
    }

    fn omitted() -> Self {
        Self { kind: RowKind::Omitted, levels: Vec::new(), opens_branch: false }
    }
}

/// Branch that contains a line.
#[derive(Debug, Clone)]
struct BranchEdge {
    parent: NodeId,
    /// Sequence number of the branch's first node.
    seq: u64,
    /// True if no sibling branch follows; `None` until read.
    last: Option<bool>,
}

/// Position in the outline.
#[derive(Debug, Clone)]
struct OutlinePosition {
    /// Original node of the position.
    place: Node,
    edges: Vec<BranchEdge>,
    opens_branch: bool,
}

/// Reader of an outline.
pub(crate) struct OutlineReader<'a> {
    pub(crate) snapshot: &'a dyn Snapshot,
    pub(crate) versions: &'a [NodeId],
    pub(crate) folds: &'a HashSet<NodeId>,
    pub(crate) hoist: Option<NodeId>,
}

/// Lines around the cursor.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutlineWindow {
    pub(crate) rows: Vec<OutlineRow>,
    pub(crate) cursor_row: usize,
    /// For each line: true if it is on the path to the cursor.
    pub(crate) path: Vec<bool>,
}

impl OutlineReader<'_> {
    /// Reads the lines around the end of `path`, at most `above` above it and `below` below. Folds on the path itself
    /// are ignored.
    pub(crate) fn around(&self, path: &[Arc<Node>], above: usize, below: usize) -> Result<OutlineWindow> {
        let Some(mut position) = self.position(path)? else { return Ok(OutlineWindow::default()) };
        let top = match self.hoist {
            Some(hoist) => Some(hoist),
            // A truncated path ends the outline at its first node.
            None => match path.first() {
                Some(first) => Some(self.original(first)?).filter(|first| first.parent.is_some()).map(|first| first.id),
                None => None,
            },
        };
        let own = self.row(&mut position)?;
        let mut before = Vec::new();
        let mut up = position.clone();
        while before.len() < above {
            if Some(up.place.id) == top {
                if self.hoist.is_none() {
                    before.push(OutlineRow::omitted());
                }
                break;
            }
            match self.previous(&up)? {
                Some(Ok(next)) => up = next,
                Some(Err(TooDeep)) => {
                    before.push(OutlineRow::omitted());
                    break;
                }
                None => break,
            }
            before.push(self.row(&mut up)?);
        }
        before.reverse();
        let cursor_row = before.len();
        let mut rows = before;
        rows.push(own);
        for _ in 0..below {
            let Some(next) = self.next(&mut position)? else { break };
            position = next;
            rows.push(self.row(&mut position)?);
        }
        let on: HashSet<NodeId> = path.iter().map(|node| node.id).collect();
        let path = rows.iter().map(|row| row.node().is_some_and(|node| on.contains(&node.id))).collect();
        Ok(OutlineWindow { rows, cursor_row, path })
    }

    /// Returns the node on the line after or before the end of `path`.
    pub(crate) fn adjacent(&self, path: &[Arc<Node>], down: bool) -> Result<Option<Node>> {
        let Some(mut position) = self.position(path)? else { return Ok(None) };
        let found = if down {
            self.next(&mut position)?
        } else if Some(position.place.id) == self.hoist {
            None
        } else {
            self.previous(&position)?.and_then(std::result::Result::ok)
        };
        found.map(|position| self.selected_version(&position.place)).transpose()
    }

    /// Position at the end of a path, with its branches.
    fn position(&self, path: &[Arc<Node>]) -> Result<Option<OutlinePosition>> {
        let mut places: Vec<Cow<'_, Node>> = Vec::with_capacity(path.len());
        for node in path {
            let place = self.original(node)?;
            // Parts of one node have the same original.
            if places.last().is_none_or(|last| last.id != place.id) {
                places.push(place);
            }
        }
        if let Some(at) = self.hoist.and_then(|hoist| places.iter().position(|place| place.id == hoist)) {
            places.drain(..at);
        }
        let mut edges: Vec<BranchEdge> = Vec::new();
        let mut opens_branch = false;
        for pair in places.windows(2) {
            opens_branch = pair[0].state.continuations > 1;
            if opens_branch {
                edges.push(BranchEdge { parent: pair[0].id, seq: pair[1].seq, last: None });
            }
        }
        Ok(places.pop().map(|place| OutlinePosition { place: place.into_owned(), edges, opens_branch }))
    }

    fn original<'n>(&self, node: &'n Node) -> Result<Cow<'n, Node>> {
        match node.kind {
            EdgeKind::Version => self.snapshot.original(node).map(Cow::Owned),
            _ => Ok(Cow::Borrowed(node)),
        }
    }

    /// Returns the selected version of an original node, else the newest.
    pub(crate) fn selected_version(&self, place: &Node) -> Result<Node> {
        selected_version(self.snapshot, place, self.versions)
    }

    fn row(&self, position: &mut OutlinePosition) -> Result<OutlineRow> {
        let far = position.edges.len().saturating_sub(MAX_GUIDE_LEVELS);
        for edge in &mut position.edges[far..] {
            if edge.last.is_none() {
                let after = self.snapshot.continuations(edge.parent, SiblingCursor::After(edge.seq), 1)?;
                edge.last = Some(after.is_empty());
            }
        }
        let folded = position.place.state.continuations > 0 && self.folds.contains(&position.place.id);
        let kind =
            RowKind::Node { node: Box::new(self.selected_version(&position.place)?), place: position.place.id, folded };
        let levels = position.edges.iter().map(|edge| edge.last.unwrap_or(true)).collect();
        Ok(OutlineRow { kind, levels, opens_branch: position.opens_branch })
    }

    fn next(&self, position: &mut OutlinePosition) -> Result<Option<OutlinePosition>> {
        if position.place.state.continuations > 0 && !self.folds.contains(&position.place.id) {
            let mut children = self.snapshot.continuations(position.place.id, SiblingCursor::First, 2)?.into_iter();
            if let Some(first) = children.next() {
                let mut edges = position.edges.clone();
                let opens_branch = children.next().is_some();
                if opens_branch {
                    edges.push(BranchEdge { parent: position.place.id, seq: first.seq, last: Some(false) });
                }
                return Ok(Some(OutlinePosition { place: first, edges, opens_branch }));
            }
        }
        let mut edges = position.edges.clone();
        while let Some(mut edge) = edges.pop() {
            if edge.last == Some(true) {
                continue;
            }
            let mut after = self.snapshot.continuations(edge.parent, SiblingCursor::After(edge.seq), 2)?.into_iter();
            if let Some(next) = after.next() {
                edge.seq = next.seq;
                edge.last = Some(after.next().is_none());
                edges.push(edge);
                return Ok(Some(OutlinePosition { place: next, edges, opens_branch: true }));
            }
        }
        Ok(None)
    }

    /// Returns the position of the line above; `Err` if it is too deep to search.
    fn previous(&self, position: &OutlinePosition) -> Result<Option<std::result::Result<OutlinePosition, TooDeep>>> {
        let mut edges = position.edges.clone();
        if let Some(edge) = edges.last_mut().filter(|_| position.opens_branch) {
            if let Some(before) = self.snapshot.continuations(edge.parent, SiblingCursor::Before(edge.seq), 1)?.pop() {
                edge.seq = before.seq;
                edge.last = Some(false);
                return self.last_descendant(OutlinePosition { place: before, edges, opens_branch: true }).map(Some);
            }
            edges.pop();
        }
        let parent = position.place.parent.map(|id| self.snapshot.node(id)).transpose()?.flatten();
        Ok(parent.map(|place| {
            let opens_branch = edges.last().is_some_and(|edge| edge.seq == place.seq);
            Ok(OutlinePosition { place, edges, opens_branch })
        }))
    }

    fn last_descendant(&self, mut position: OutlinePosition) -> Result<std::result::Result<OutlinePosition, TooDeep>> {
        for _ in 0..MAX_DESCENT_STEPS {
            if position.place.state.continuations == 0 || self.folds.contains(&position.place.id) {
                return Ok(Ok(position));
            }
            let Some(last) = self.snapshot.continuations(position.place.id, SiblingCursor::Last, 1)?.pop() else {
                return Ok(Ok(position));
            };
            position.opens_branch = position.place.state.continuations > 1;
            if position.opens_branch {
                position.edges.push(BranchEdge { parent: position.place.id, seq: last.seq, last: Some(true) });
            }
            position.place = last;
        }
        Ok(Err(TooDeep))
    }
}

/// Marker: the search for a branch's last descendant was given up.
struct TooDeep;
