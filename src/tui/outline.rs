//! The outline around the cursor: a window of a tree's lines, read from the cursor outwards, so that a tree of a million
//! nodes costs what is shown of it.
//!
//! It indents at branch points only: what follows without a choice stands in one column. The order of lines depends on
//! what is folded and on nothing else; moving the cursor never moves a line, it only scrolls.
//!
//! A place that has several wordings is one line, which shows the one that is read.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use crate::{
    id::NodeId,
    store::{Result, SiblingCursor, Snapshot},
    types::{EdgeKind, Node},
};

/// Nodes of the path above the cursor that are looked at.
pub(crate) const MAX_PATH_NODES: u32 = 2_000;
/// Levels of branches, from the cursor outwards, whose guides are looked for.
const MAX_GUIDE_LEVELS: usize = 64;
/// Steps down that are taken at most to find the line above one.
const MAX_DESCENT_STEPS: usize = 600;

/// A line of an outline.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OutlineRow {
    /// What the line is about.
    pub(crate) kind: RowKind,
    /// For each level of branches that the line is in, whether its branch is the last there; of far ones it is not known.
    pub(crate) levels: Vec<bool>,
    /// Whether the node begins a branch of the last level.
    pub(crate) opens_branch: bool,
}

/// What a line is about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RowKind {
    /// A node as it is read, the node whose place that is, and whether what follows is folded.
    Node {
        /// The wording that is read.
        node: Box<Node>,
        /// The original, under which things hang.
        place: NodeId,
        /// Whether something follows that is not shown.
        folded: bool,
    },
    /// Lines that were not looked at.
    Omitted,
}

impl OutlineRow {
    /// The node of the line.
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

/// A branch that a line is in.
#[derive(Debug, Clone)]
struct BranchEdge {
    parent: NodeId,
    /// The sequence number of the branch's first place.
    seq: u64,
    /// Whether no branch follows; looked up when it is asked for.
    last: Option<bool>,
}

/// A place in the outline.
#[derive(Debug, Clone)]
struct OutlinePosition {
    /// The original of the place.
    place: Node,
    edges: Vec<BranchEdge>,
    opens_branch: bool,
}

/// Reads an outline.
pub(crate) struct OutlineReader<'a> {
    pub(crate) snapshot: &'a dyn Snapshot,
    pub(crate) versions: &'a [NodeId],
    pub(crate) folds: &'a HashSet<NodeId>,
    pub(crate) hoist: Option<NodeId>,
}

/// The lines around a node, and which of them is its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutlineWindow {
    pub(crate) rows: Vec<OutlineRow>,
    pub(crate) cursor_row: usize,
    /// For each line, whether it is on the path to the cursor.
    pub(crate) path: Vec<bool>,
}

impl OutlineReader<'_> {
    /// The lines around the end of `path`: so many above it and below. Folds on the path itself are looked past.
    pub(crate) fn around(&self, path: &[Arc<Node>], above: usize, below: usize) -> Result<OutlineWindow> {
        let Some(mut position) = self.position(path)? else { return Ok(OutlineWindow::default()) };
        let top = match self.hoist {
            Some(hoist) => Some(hoist),
            // Where the path begins below the root, nobody looked further up.
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

    /// The line after or before the end of `path`.
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

    /// The place at the end of a path, with the branches that it is in.
    fn position(&self, path: &[Arc<Node>]) -> Result<Option<OutlinePosition>> {
        let mut places: Vec<Cow<'_, Node>> = Vec::with_capacity(path.len());
        for node in path {
            let place = self.original(node)?;
            // The halves of a split are one place.
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
        let mut place = Cow::Borrowed(node);
        while place.kind == EdgeKind::Version {
            // A first half that stands for itself hangs above the second; that one names the place.
            let Some(of) = place.version_of.or(place.edited_from) else { break };
            let Some(original) = self.snapshot.node(of)? else { break };
            place = Cow::Owned(original);
        }
        Ok(place)
    }

    /// The wording of a place that is read.
    pub(crate) fn selected_version(&self, place: &Node) -> Result<Node> {
        if place.state.versions == 0 {
            return Ok(place.clone());
        }
        let mut versions = self.snapshot.versions(place.id)?;
        let chosen = self.versions.iter().find_map(|id| versions.iter().position(|node| node.id == *id));
        let Some(at) = chosen.or(versions.len().checked_sub(1)) else { return Ok(place.clone()) };
        let mut chosen = versions.swap_remove(at);
        chosen.state.versions = place.state.versions;
        chosen.state.continuations = place.state.continuations;
        Ok(chosen)
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

    /// The line above; `Err` if it is further down than anybody looks.
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

/// A branch is too deep to look for its end.
struct TooDeep;
