//! A tree as an outline. Only branch points indent, and long runs without a branch are folded. Only nodes that are
//! shown or folded are read, and both are bounded, so a tree of a million nodes is drawn as fast as a small one. `▸`
//! marks omitted nodes.

use std::collections::HashMap;

use loomtree::{
    id::NodeId,
    store::{ChildFilter, Result, Snapshot},
    types::{EdgeKind, Node},
};

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

/// One line of an outline.
#[derive(Debug)]
pub(crate) struct OutlineLine {
    /// The branch guides before the text.
    pub(crate) guides: String,
    pub(crate) what: LineKind,
}

/// The content of a line.
#[derive(Debug)]
pub(crate) enum LineKind {
    /// A node; true if its continuations are omitted.
    Node(Box<Node>, bool),
    /// The number of folded nodes of a run.
    Folded(usize),
    /// The number of omitted siblings; `None` if pruned ones may be among them.
    Siblings(Option<usize>),
}

/// The lines of an outline.
#[derive(Debug)]
pub(crate) struct Outline {
    /// The number of nodes above the first line.
    pub(crate) above: u32,
    pub(crate) lines: Vec<OutlineLine>,
}

/// Nodes of a run above which it is folded.
const MAX_UNFOLDED_RUN: usize = 7;
/// Nodes shown at each end of a folded run.
const FOLD_END_NODES: usize = 2;
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

impl Outline {
    /// Builds the outline of the branch at `start`; without it, of the tree, or of the part around a deep position.
    pub(crate) fn build(
        snapshot: &dyn Snapshot,
        start: Option<Node>,
        root: Option<NodeId>,
        position: &Node,
        versions: &[NodeId],
        options: &OutlineOptions,
    ) -> Result<Self> {
        let path = snapshot.path_back(position.id, versions, MAX_PATH_ABOVE)?;
        let levels = if options.lines == 0 {
            MAX_LEVELS
        } else {
            (options.width.saturating_sub(MIN_TEXT_COLUMNS) / 3).clamp(4, 30)
        };
        let start = match start {
            Some(node) => Some(node),
            None if options.lines == 0 => root.map(|id| snapshot.node(id)).transpose()?.flatten(),
            None => outline_start(&path, levels).cloned().or_else(|| Some(position.clone())),
        };
        let Some(start) = start else { return Ok(Self { above: 0, lines: Vec::new() }) };
        // Counts and children belong to the original version; the walk selects the version to show.
        let mut versions = versions.to_vec();
        let original = start.version_of.filter(|_| start.kind == EdgeKind::Version);
        let start = match original.map(|id| snapshot.node(id)).transpose()?.flatten() {
            Some(original) => {
                versions.insert(0, start.id);
                original
            }
            None => start,
        };
        let above = start.depth;
        let path = path.into_iter().map(|node| (node.id, node)).collect();
        let lines = if options.lines == 0 { usize::MAX } else { options.lines };
        let mut walk = OutlineWalker {
            snapshot,
            options,
            versions: &versions,
            path,
            position: position.id,
            levels,
            top: above,
            reads: 0,
            lines: Vec::new(),
        };
        walk.branch(start, String::new(), "", lines, 0)?;
        Ok(Self { above, lines: walk.lines })
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
    versions: &'a [NodeId],
    /// The end of the path to the position. These branches are always shown.
    path: HashMap<NodeId, Node>,
    position: NodeId,
    levels: usize,
    top: u32,
    reads: usize,
    lines: Vec<OutlineLine>,
}

/// The continuations of a node.
struct OutlineNext {
    nodes: Vec<Node>,
    /// The number of omitted continuations; `None` if it is unknown.
    more: Option<usize>,
}

impl OutlineWalker<'_> {
    /// Draws a node and its continuations in about `room` lines. `first` are the guides of the first line, `guides`
    /// those of the others.
    fn branch(&mut self, node: Node, first: String, guides: &str, room: usize, level: usize) -> Result<()> {
        let begin = self.lines.len();
        let (run, next) = self.run(node)?;
        let cut = self.draw_run(run, first, guides, room)?;
        let left = room.saturating_sub(self.lines.len() - begin);
        let many = next.nodes.len() > 1;
        if cut || !many || left < 2 || level >= self.levels {
            if (cut || many || next.more != Some(0))
                && let Some(LineKind::Node(_, more)) = self.lines.last_mut().map(|line| &mut line.what)
            {
                *more = true;
            }
            return Ok(());
        }
        self.draw_branches(next, guides, left, level + 1)
    }

    fn draw_branches(&mut self, mut next: OutlineNext, guides: &str, mut room: usize, level: usize) -> Result<()> {
        let most = room.min(if self.options.lines == 0 { usize::MAX } else { MAX_BRANCHES });
        if next.nodes.len() > most {
            let hidden = next.nodes.split_off(most);
            next.more = next.more.map(|more| more + hidden.len());
            // The branch of the position is always shown.
            if let (Some(node), Some(last)) =
                (hidden.into_iter().find(|n| self.path.contains_key(&n.id)), next.nodes.last_mut())
            {
                *last = node;
            }
        }
        let shown = next.nodes.len();
        for (index, node) in next.nodes.into_iter().enumerate() {
            let last = index + 1 == shown && next.more == Some(0);
            let (turn, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let mut share = (room / (shown - index)).max(1);
            if self.path.contains_key(&node.id) {
                share = share.max(room / 2);
            }
            let begin = self.lines.len();
            self.branch(node, format!("{guides}{turn}"), &format!("{guides}{below}"), share, level)?;
            room = room.saturating_sub(self.lines.len() - begin);
        }
        if next.more != Some(0) {
            self.lines.push(OutlineLine { guides: format!("{guides}└─ "), what: LineKind::Siblings(next.more) });
        }
        Ok(())
    }

    /// Returns the nodes up to the next branch point or leaf, and its continuations.
    fn run(&mut self, node: Node) -> Result<(Vec<Node>, OutlineNext)> {
        let mut run = self.read(node)?;
        loop {
            let Some(last) = run.last() else { return Ok((run, OutlineNext { nodes: Vec::new(), more: Some(0) })) };
            let mut next = self.next(last)?;
            if next.nodes.len() != 1 || next.more != Some(0) {
                return Ok((run, next));
            }
            if let Some(node) = next.nodes.pop() {
                run.extend(self.read(node)?);
            }
        }
    }

    /// Returns the version of a node to show, preceded by the first half if the version was split.
    fn read(&mut self, node: Node) -> Result<Vec<Node>> {
        if node.state.versions == 0 {
            return Ok(vec![node]);
        }
        let mut versions_read = self.snapshot.versions(node.id)?;
        self.reads += versions_read.len();
        let wanted = self.versions.iter().find_map(|id| versions_read.iter().position(|n| n.id == *id));
        let Some(chosen) = wanted.or(versions_read.len().checked_sub(1)) else { return Ok(vec![node]) };
        let mut chosen = versions_read.swap_remove(chosen);
        chosen.state.versions = node.state.versions;
        chosen.state.continuations = node.state.continuations;
        let mut read = vec![chosen];
        // A version has its original's parent; the second half of a split has the first as parent.
        while let Some(parent) =
            read.first().and_then(|n| n.parent).filter(|p| Some(*p) != node.parent && *p != node.id)
            && let Some(half) = self.snapshot.node(parent)?
            && half.kind == EdgeKind::Version
        {
            read.insert(0, half);
        }
        Ok(read)
    }

    fn next(&mut self, node: &Node) -> Result<OutlineNext> {
        let none = OutlineNext { nodes: Vec::new(), more: Some(0) };
        let total = node.state.continuations as usize;
        if total == 0 && !self.options.pruned {
            return Ok(none);
        }
        let too_deep = self.options.depth.is_some_and(|depth| node.depth.saturating_sub(self.top) >= depth);
        if too_deep || self.options.lines > 0 && self.reads > MAX_NODES_READ {
            return Ok(OutlineNext { more: Some(total), ..none });
        }
        let limited = self.options.lines > 0;
        let limit = if limited { MAX_BRANCHES + 1 } else { 0 };
        let filter = ChildFilter {
            kind: Some(EdgeKind::Continuation),
            pruned: self.options.pruned,
            limit: u32::try_from(limit).unwrap_or(0),
        };
        let mut nodes = self.snapshot.children(node.id, &filter)?;
        self.reads += nodes.len();
        let all = limit == 0 || nodes.len() < limit;
        // The branch of the position may be beyond the limit.
        let on_path = self.path.values().find(|n| n.parent == Some(node.id) && n.kind == EdgeKind::Continuation);
        if let Some(on_path) = on_path.filter(|on| !all && nodes.iter().all(|n| n.id != on.id)) {
            nodes.push(on_path.clone());
        }
        let more = match all {
            true => Some(0),
            false if self.options.pruned => None,
            false => Some(total.saturating_sub(nodes.len())),
        };
        Ok(OutlineNext { nodes, more })
    }

    /// Draws a run, folded if it is long. Returns true if the room was too small for it.
    fn draw_run(&mut self, run: Vec<Node>, first: String, guides: &str, room: usize) -> Result<bool> {
        let begin = self.lines.len();
        let length = run.len();
        let fold = !self.options.full && length > MAX_UNFOLDED_RUN;
        let mut folded: Vec<Node> = Vec::new();
        let mut first = Some(first);
        for (index, node) in run.into_iter().enumerate() {
            if fold && index >= FOLD_END_NODES && index + FOLD_END_NODES < length && self.foldable(&node) {
                folded.push(node);
                continue;
            }
            // Folding a single node would save no line.
            let mut drawn = Vec::with_capacity(2);
            if folded.len() > 1 {
                let what = LineKind::Folded(folded.len());
                self.lines.push(OutlineLine { guides: guides.to_owned(), what });
                folded.clear();
            } else {
                drawn.append(&mut folded);
            }
            drawn.push(node);
            for node in drawn {
                if self.lines.len() - begin >= room.max(1) {
                    return Ok(true);
                }
                self.draw_node(node, first.take().unwrap_or_else(|| guides.to_owned()), guides)?;
            }
        }
        Ok(false)
    }

    fn draw_node(&mut self, node: Node, own: String, guides: &str) -> Result<()> {
        let notes = if self.options.notes { self.notes(&node)? } else { Vec::new() };
        self.lines.push(OutlineLine { guides: own, what: LineKind::Node(Box::new(node), false) });
        let beside =
            |note| OutlineLine { guides: format!("{guides}┊ "), what: LineKind::Node(Box::new(note), false) };
        self.lines.extend(notes.into_iter().map(beside));
        Ok(())
    }

    fn foldable(&self, node: &Node) -> bool {
        let state = &node.state;
        node.id != self.position
            && state.bookmark.is_none()
            && state.annotations + state.versions == 0
            && !state.excluded
            && !node.interrupted
            && state.pruned_by != Some(node.id)
    }

    fn notes(&mut self, node: &Node) -> Result<Vec<Node>> {
        let mut notes = Vec::new();
        for kind in EdgeKind::ALL.iter().filter(|k| !matches!(k, EdgeKind::Continuation | EdgeKind::Version)) {
            let filter = ChildFilter { kind: Some(*kind), pruned: self.options.pruned, limit: 20 };
            notes.extend(self.snapshot.children(node.id, &filter)?);
        }
        self.reads += notes.len();
        Ok(notes)
    }
}
