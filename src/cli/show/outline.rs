//! A tree as an outline. Only branch points indent, and long runs without a branch are folded. Only nodes that are
//! shown or folded are read, and both are bounded, so a tree of a million nodes is drawn as fast as a small one. `▸`
//! marks omitted nodes.

mod run;

use std::{
    cmp::Reverse,
    collections::{HashMap, VecDeque},
};

use loomtree::{
    id::NodeId,
    ops::{parts_to, selected_version},
    store::{ChildFilter, SiblingCursor, Snapshot},
    types::{EdgeKind, Node},
};

use self::run::RunDrawer;
use super::outline_line::{LineKind, OutlineLine};
use crate::cli::error::Result;

/// The size and contents of an outline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutlineOptions {
    /// True to include pruned branches.
    pub(crate) pruned: bool,
    /// True to include notes, sources, thoughts and tool results.
    pub(crate) notes: bool,
    /// True to show all nodes of long runs.
    pub(crate) full: bool,
    /// Maximum depth below the first node.
    pub(crate) depth: Option<u32>,
    /// Approximate maximum of lines; 0: all.
    pub(crate) lines: usize,
    /// Line width, in columns.
    pub(crate) width: usize,
}

/// A receiver of lines.
type EmitLine<'a> = &'a mut dyn FnMut(OutlineLine) -> Result<()>;

/// An outline that is ready to be drawn. Lines are emitted while nodes are read, so that its length does not matter.
pub(crate) struct Outline<'a> {
    /// The number of nodes above the first line.
    pub(crate) above: u32,
    start: Option<Node>,
    walker: OutlineWalker<'a>,
}

/// Branches shown at a branch point.
const MAX_BRANCHES: usize = 24;
/// Nodes read at most for an outline with limited length.
const MAX_NODES_READ: usize = 5_000;
/// Nodes of the path above the position at which an outline may start.
const MAX_PATH_ABOVE: u32 = 40;
/// Columns that guides leave for the text.
const MIN_TEXT_COLUMNS: usize = 52;
/// Maximum levels of branches, even in an unlimited outline.
const MAX_LEVELS: usize = 200;
/// Branches of a branch point that an unlimited outline reads at once.
const PAGE_BRANCHES: u32 = 256;

impl<'a> Outline<'a> {
    /// Prepares the outline of the branch at `start`; without it, of the tree, or of the part around a deep position.
    pub(crate) fn of(
        snapshot: &'a dyn Snapshot,
        start: Option<Node>,
        root: Option<NodeId>,
        position: &Node,
        versions: &[NodeId],
        options: &'a OutlineOptions,
    ) -> Result<Self> {
        let path = snapshot.path_back(position.id, versions, MAX_PATH_ABOVE)?;
        let levels = if options.lines == 0 {
            MAX_LEVELS
        } else {
            (options.width.saturating_sub(MIN_TEXT_COLUMNS) / 3).clamp(4, 30)
        };
        let named = start.as_ref().map(|node| node.id);
        let start = match start {
            Some(node) => Some(node),
            None if options.lines == 0 => root.map(|id| snapshot.node(id)).transpose()?.flatten(),
            None => outline_start(&path, levels).cloned().or_else(|| Some(position.clone())),
        };
        // Counts and children belong to the original version; the walk selects the version to show.
        let versions: Vec<NodeId> = named.into_iter().chain(versions.iter().copied()).collect();
        let start = start.map(|node| snapshot.original(&node)).transpose()?;
        let above = start.as_ref().map_or(0, |node| node.depth);
        let path = path.into_iter().map(|node| (node.id, node)).collect();
        let (position, lines) = (position.id, LineQueue::default());
        let walker = OutlineWalker { snapshot, options, versions, path, position, levels, top: above, reads: 0, lines };
        Ok(Self { above, start, walker })
    }

    /// Emits the lines.
    pub(crate) fn draw(mut self, emit: EmitLine<'_>) -> Result<()> {
        let Some(start) = self.start else { return Ok(()) };
        let room = if self.walker.options.lines == 0 { usize::MAX } else { self.walker.options.lines };
        let nodes = self.walker.read(start)?;
        self.walker.branch(nodes, String::new(), "", room, 0, emit)?;
        self.walker.lines.last.map_or(Ok(()), emit)
    }
}

/// The lines of an outline: all but the last one are emitted.
#[derive(Default)]
struct LineQueue {
    /// The last line, which may still be marked as cut.
    last: Option<OutlineLine>,
    len: usize,
}

impl LineQueue {
    fn push(&mut self, line: OutlineLine, emit: EmitLine<'_>) -> Result<()> {
        self.len += 1;
        self.last.replace(line).map_or(Ok(()), emit)
    }
}

/// Returns the first node of the path from which the position is few enough levels down.
fn outline_start(path: &[Node], levels: usize) -> Option<&Node> {
    let mut branch_points = 0;
    let mut from = path.len().checked_sub(1)?;
    for (index, node) in path.iter().enumerate().rev().skip(1) {
        branch_points += usize::from(node.state.continuations > 1);
        if branch_points > levels.saturating_sub(2) {
            break;
        }
        from = index;
    }
    path.get(from)
}

struct OutlineWalker<'a> {
    snapshot: &'a dyn Snapshot,
    options: &'a OutlineOptions,
    versions: Vec<NodeId>,
    /// The end of the path to the position. These branches are always shown.
    path: HashMap<NodeId, Node>,
    position: NodeId,
    levels: usize,
    top: u32,
    reads: usize,
    lines: LineQueue,
}

/// The continuations of a node.
struct OutlineNext {
    nodes: VecDeque<Node>,
    /// The node and the last continuation read, if there may be further ones to read.
    unread: Option<(NodeId, u64)>,
    /// The number of omitted continuations; `None` if it is unknown.
    more: Option<usize>,
    /// The later parts, if the node is a part with continuations of its own.
    later_parts: Vec<Node>,
}

impl Default for OutlineNext {
    fn default() -> Self {
        Self { nodes: VecDeque::new(), unread: None, more: Some(0), later_parts: Vec::new() }
    }
}

/// Returns where reading continues after a page of continuations.
fn unread(of: NodeId, page: &VecDeque<Node>) -> Option<(NodeId, u64)> {
    page.back().filter(|_| page.len() == PAGE_BRANCHES as usize).map(|last| (of, last.seq))
}

impl OutlineWalker<'_> {
    /// Draws nodes that follow each other and their continuations in about `room` lines. `first` are the guides of the
    /// first line, `guides` those of the others.
    fn branch(
        &mut self,
        mut nodes: Vec<Node>,
        first: String,
        guides: &str,
        room: usize,
        level: usize,
        emit: EmitLine<'_>,
    ) -> Result<()> {
        let begin = self.lines.len;
        let mut run = RunDrawer::new(guides, first, begin.saturating_add(room.max(1)));
        // Nodes up to the next branch point or leaf, then its continuations.
        let (cut, next) = loop {
            let mut next = self.next_of_run(&mut nodes)?;
            let alone =
                next.nodes.len() == 1 && next.more == Some(0) && next.unread.is_none() && next.later_parts.is_empty();
            if self.draw_run(&mut run, nodes, !alone, emit)? {
                break (true, next);
            }
            match next.nodes.pop_front() {
                Some(only) if alone => nodes = self.read(only)?,
                first => {
                    first.into_iter().for_each(|first| next.nodes.push_front(first));
                    break (false, next);
                }
            }
        };
        let left = room.saturating_sub(self.lines.len - begin);
        let many = next.nodes.len() + usize::from(!next.later_parts.is_empty()) > 1;
        if cut || !many || left < 2 || level >= self.levels {
            if (cut || many || next.more != Some(0))
                && let Some(LineKind::Node(_, more)) = self.lines.last.as_mut().map(|line| &mut line.what)
            {
                *more = true;
            }
            return Ok(());
        }
        self.draw_branches(next, guides, left, level + 1, emit)
    }

    fn draw_branches(
        &mut self,
        mut next: OutlineNext,
        guides: &str,
        mut room: usize,
        level: usize,
        emit: EmitLine<'_>,
    ) -> Result<()> {
        let most = room.min(if self.options.lines == 0 { usize::MAX } else { MAX_BRANCHES });
        if next.nodes.len() > most {
            let hidden = next.nodes.split_off(most);
            next.more = next.more.map(|more| more + hidden.len());
            // The branch of the position is always shown.
            if let (Some(node), Some(last)) =
                (hidden.into_iter().find(|n| self.path.contains_key(&n.id)), next.nodes.back_mut())
            {
                *last = node;
            }
        }
        loop {
            let nodes = match std::mem::take(&mut next.later_parts) {
                half if !half.is_empty() => half,
                _ => match next.nodes.pop_front() {
                    Some(node) => self.read(node)?,
                    None => break,
                },
            };
            self.read_more(&mut next)?;
            let last = next.nodes.is_empty() && next.more == Some(0);
            let (turn, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let mut share = (room / (next.nodes.len() + 1)).max(1);
            if nodes.iter().any(|node| self.path.contains_key(&node.id)) {
                share = share.max(room / 2);
            }
            let begin = self.lines.len;
            self.branch(nodes, format!("{guides}{turn}"), &format!("{guides}{below}"), share, level, emit)?;
            room = room.saturating_sub(self.lines.len - begin);
        }
        if next.more != Some(0) {
            let what = LineKind::Siblings(next.more);
            self.lines.push(OutlineLine { guides: format!("{guides}└─ "), what }, emit)?;
        }
        Ok(())
    }

    /// Reads the next page of continuations after the previous one was drawn.
    fn read_more(&mut self, next: &mut OutlineNext) -> Result<()> {
        if let (true, Some((of, after))) = (next.nodes.is_empty(), next.unread) {
            next.nodes = self.snapshot.continuations(of, SiblingCursor::After(after), PAGE_BRANCHES)?.into();
            next.unread = unread(of, &next.nodes);
        }
        Ok(())
    }

    /// Returns the version of a node to show, preceded by the other parts if the version is the last one.
    fn read(&mut self, node: Node) -> Result<Vec<Node>> {
        let shown = self.shown_version(&node)?;
        // A version has its original's parent, or is below the root; a later part is below an earlier one.
        if shown.parent.is_none_or(|parent| Some(parent) == node.parent || parent == node.id) {
            return Ok(vec![shown]);
        }
        let mut selected: Vec<&Node> = self.path.values().filter(|node| node.kind == EdgeKind::Version).collect();
        // Parts are versions of one place: the last one leads to the others.
        selected.sort_unstable_by_key(|node| Reverse(node.depth));
        let selected: Vec<NodeId> =
            selected.into_iter().map(|node| node.id).chain(self.versions.iter().copied()).collect();
        let mut parts = parts_to(self.snapshot, &shown, &selected)?;
        // The version shows the counts of its place.
        parts.pop();
        parts.push(shown);
        Ok(parts)
    }

    /// Returns the version of an original node to show.
    fn shown_version(&mut self, node: &Node) -> Result<Node> {
        self.reads += node.state.versions as usize;
        Ok(selected_version(self.snapshot, node, &self.versions)?)
    }

    /// Returns the continuations of the last node. A part that has continuations of its own is the last one, and the nodes
    /// behind it are the later parts.
    fn next_of_run(&mut self, nodes: &mut Vec<Node>) -> Result<OutlineNext> {
        for at in 1..nodes.len() {
            let mut next = self.next(&nodes[at - 1])?;
            if !next.nodes.is_empty() || next.more != Some(0) {
                next.later_parts = nodes.split_off(at);
                return Ok(next);
            }
        }
        nodes.last().map_or_else(|| Ok(OutlineNext::default()), |last| self.next(last))
    }

    fn next(&mut self, node: &Node) -> Result<OutlineNext> {
        let total = node.state.continuations as usize;
        if total == 0 && !self.options.pruned {
            return Ok(OutlineNext::default());
        }
        let too_deep = self.options.depth.is_some_and(|depth| node.depth.saturating_sub(self.top) >= depth);
        if too_deep || self.options.lines > 0 && self.reads > MAX_NODES_READ {
            return Ok(OutlineNext { more: Some(total), ..OutlineNext::default() });
        }
        let limited = self.options.lines > 0;
        if !limited && !self.options.pruned {
            let nodes = self.snapshot.continuations(node.id, SiblingCursor::First, PAGE_BRANCHES)?.into();
            return Ok(OutlineNext { unread: unread(node.id, &nodes), nodes, ..OutlineNext::default() });
        }
        let limit = if limited { MAX_BRANCHES + 1 } else { 0 };
        let filter = ChildFilter {
            kind: Some(EdgeKind::Continuation),
            pruned: self.options.pruned,
            limit: u32::try_from(limit).unwrap_or(0),
        };
        let mut nodes: VecDeque<Node> = self.snapshot.children(node.id, &filter)?.into();
        self.reads += nodes.len();
        let all = limit == 0 || nodes.len() < limit;
        // The branch of the position may be beyond the limit.
        let on_path = self.path.values().find(|n| n.parent == Some(node.id) && n.kind == EdgeKind::Continuation);
        if let Some(on_path) = on_path.filter(|on| !all && nodes.iter().all(|n| n.id != on.id)) {
            nodes.push_back(on_path.clone());
        }
        let more = match all {
            true => Some(0),
            false if self.options.pruned => None,
            false => Some(total.saturating_sub(nodes.len())),
        };
        Ok(OutlineNext { nodes, more, ..OutlineNext::default() })
    }
}
