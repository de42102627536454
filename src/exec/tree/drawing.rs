//! Lines of a drawn tree.

use std::{collections::HashMap, fmt::Write as _};

use crate::{
    exec::{
        AuthorNames,
        node_format::{self, id, mention},
    },
    id::NodeId,
    store::{ChildFilter, Snapshot},
    tools::ToolError,
    types::{EdgeKind, Node, first_words, one_line},
};

/// The maximum number of branches drawn at one branch point.
const MAX_BRANCHES: usize = 24;
/// The number of nodes from which a run is abbreviated.
const MAX_RUN_NODES: usize = 3;
/// Nodes whose children are read for one drawing.
const MAX_READS: usize = 600;
/// Branch points of the path that are drawn with their siblings: the last ones.
const MAX_PATH_POINTS: usize = 10;
/// Words at the end of a node that are not cut off.
const MAX_LAST_WORDS: usize = 6;
/// Nodes below the drawn levels that are counted.
const MAX_COUNTED_NODES: usize = 50;
/// Characters of a node for each of its words.
const MAX_CHARS_PER_WORD: usize = 8;

/// Extent of a drawing.
#[derive(Debug, Clone, Copy)]
pub(super) struct DrawingLimits {
    pub(super) lines: usize,
    pub(super) levels: u32,
    /// Words of a node.
    pub(super) words: usize,
    /// True if branches beside the path to the position are not followed.
    pub(super) on_path: bool,
}

/// Drawing of a part of a tree.
pub(super) struct TreeDrawing<'a> {
    snapshot: &'a dyn Snapshot,
    names: &'a AuthorNames,
    here: NodeId,
    path: &'a [Node],
    standing: &'a HashMap<NodeId, Vec<String>>,
    limits: DrawingLimits,
    pub(super) text: String,
    lines: usize,
    nodes: usize,
    reads: usize,
    is_cut: bool,
}

/// Continuations of a node.
struct Continuations {
    visible: Vec<Node>,
    hidden: usize,
}

impl<'a> TreeDrawing<'a> {
    pub(super) fn new(
        snapshot: &'a dyn Snapshot,
        names: &'a AuthorNames,
        here: NodeId,
        (path, standing): (&'a [Node], &'a HashMap<NodeId, Vec<String>>),
        limits: DrawingLimits,
    ) -> Self {
        Self {
            snapshot,
            names,
            here,
            path,
            standing,
            limits,
            text: String::new(),
            lines: 0,
            nodes: 0,
            reads: 0,
            is_cut: false,
        }
    }

    /// True if nodes were omitted because of the number of lines.
    pub(super) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The number of nodes with words.
    pub(super) const fn nodes(&self) -> usize {
        self.nodes
    }

    /// Draws a node and what is below it.
    pub(super) fn draw(&mut self, top: &Node) -> Result<(), ToolError> {
        self.push_node(top, None);
        self.lines += 1;
        let below = self.continuations(top)?;
        if below.visible.is_empty() && below.hidden == 0 {
            self.text.push_str(" (leaf)");
        }
        self.branches(top, below, "", self.limits.levels)
    }

    /// Draws the branches below a node, one line each, recursively.
    fn branches(&mut self, above: &Node, below: Continuations, indent: &str, levels: u32) -> Result<(), ToolError> {
        let Continuations { visible, hidden } = below;
        if levels == 0 && !visible.is_empty() {
            let is_here = visible.iter().any(|node| self.on_path(node).is_some());
            let below = self.count_below(visible)?;
            let _ = write!(self.text, " → … ({below} below{})", if is_here { " * you are among them" } else { "" });
            return Ok(());
        }
        let more = (above.state.continuations as usize).saturating_sub(visible.len());
        let last = visible.len();
        for (at, child) in visible.into_iter().enumerate() {
            if self.lines >= self.limits.lines || self.reads >= MAX_READS {
                self.is_cut = true;
                let _ = write!(self.text, "\n{indent}└→ … (→ tree from:{} shows more)", mention(above));
                return Ok(());
            }
            self.lines += 1;
            let ends = at + 1 == last && more == 0 && hidden == 0;
            let _ = write!(self.text, "\n{indent}{} ", if ends { "└→" } else { "├→" });
            if !self.is_followed(&child) {
                self.push_node(&child, None);
                self.text.push_str(if child.state.continuations == 0 { " (leaf)" } else { " → …" });
                continue;
            }
            let (run, below, left) = self.run(child, levels.saturating_sub(1))?;
            self.push_run(&run);
            let Some(end) = run.last() else { continue };
            if below.visible.is_empty() && below.hidden == 0 {
                self.text.push_str(" (leaf)");
            }
            self.branches(end, below, &format!("{indent}{}  ", if ends { " " } else { "│" }), left)?;
        }
        if more > 0 {
            let end = if hidden == 0 { "└→" } else { "├→" };
            let _ = write!(self.text, "\n{indent}{end} … {more} more (→ list {} continuations)", mention(above));
        }
        if hidden > 0 {
            let _ = write!(self.text, "\n{indent}└→ {hidden} hidden (→ list pruned)");
        }
        Ok(())
    }

    /// Counts nodes and what is below them: `4`, or `more than 50`.
    fn count_below(&mut self, mut nodes: Vec<Node>) -> Result<String, ToolError> {
        let mut counted = 0;
        while let Some(node) = nodes.pop() {
            counted += 1;
            if counted > MAX_COUNTED_NODES || self.reads >= MAX_READS {
                return Ok(format!("more than {}", counted - 1));
            }
            if node.state.continuations > 0 {
                nodes.extend(self.continuations(&node)?.visible);
            }
        }
        Ok(counted.to_string())
    }

    /// Returns the place of a node on the path to the position.
    fn on_path(&self, node: &Node) -> Option<usize> {
        let first = self.path.first()?.depth;
        let at = node.depth.checked_sub(first)? as usize;
        // Parts of one node make the path longer than the depth.
        let near = self.path.iter().enumerate().skip(at).take(64);
        near.into_iter().find(|(_, on)| on.id == node.id || on.version_of == Some(node.id)).map(|(at, _)| at)
    }

    /// True if the branch at a node is drawn: every one of a whole drawing, else that of the path and what is below it.
    fn is_followed(&self, node: &Node) -> bool {
        let end = self.path.last().map_or(0, |last| last.depth);
        !self.limits.on_path || node.depth > end || self.on_path(node).is_some()
    }

    /// True if a branch point far above the position is drawn without its siblings.
    fn is_passed(&self, node: &Node) -> bool {
        let Some(at) = self.on_path(node).filter(|_| self.limits.on_path) else { return false };
        self.path[at + 1..].iter().filter(|node| node.state.continuations > 1).count() >= MAX_PATH_POINTS
    }

    /// Returns the nodes from `first` to the next branch point or leaf, its continuations, and the remaining levels.
    fn run(&mut self, first: Node, mut levels: u32) -> Result<(Vec<Node>, Continuations, u32), ToolError> {
        let mut run = vec![first];
        loop {
            let Some(end) = run.last() else { return Ok((run, Continuations { visible: vec![], hidden: 0 }, levels)) };
            let passed = self.is_passed(end);
            let next = self.on_path(end).and_then(|at| self.path.get(at + 1)).cloned();
            let mut below = match &next {
                Some(next) if self.limits.on_path && (passed || end.state.continuations == 1) => {
                    Continuations { visible: vec![next.clone()], hidden: 0 }
                }
                _ => self.continuations(end)?,
            };
            if levels == 0 || below.visible.len() != 1 || below.hidden > 0 || self.reads >= MAX_READS {
                return Ok((run, below, levels));
            }
            levels -= 1;
            run.extend(below.visible.pop());
        }
    }

    /// Draws a run on one line. A long run shows its ends and the nodes that are marked.
    fn push_run(&mut self, run: &[Node]) {
        let is_shown = |at: usize, node: &Node| {
            let marked = node.state.bookmark.is_some() || self.standing.contains_key(&node.id);
            run.len() <= MAX_RUN_NODES || at == 0 || at + 1 == run.len() || node.id == self.here || marked
        };
        let shown: Vec<bool> = run.iter().enumerate().map(|(at, node)| is_shown(at, node)).collect();
        let (mut folded, mut before) = (0, None);
        for (at, (node, shown)) in run.iter().zip(shown).enumerate() {
            if !shown {
                folded += 1;
                continue;
            }
            if folded > 0 {
                let _ = write!(self.text, " → … ({folded})");
                folded = 0;
            }
            if at > 0 {
                self.text.push_str(" → ");
            }
            self.push_node(node, before);
            before = Some(node);
        }
    }

    /// Writes a node: id, author unless it is that of the node before, first words, marks, and who is there.
    fn push_node(&mut self, node: &Node, before: Option<&Node>) {
        self.nodes += 1;
        self.text.push_str(&id(node));
        let author = self.names.short(node);
        if before.is_none_or(|before| self.names.short(before) != author) {
            let _ = write!(self.text, " {author}");
        }
        let _ = write!(self.text, " {}", first_words_of(node, self.limits.words));
        if let Some(label) = &node.state.bookmark {
            let _ = write!(self.text, " ★ {}", one_line(label));
        }
        if node.state.annotations > 0 {
            let _ = write!(self.text, " ✎{}", node.state.annotations);
        }
        if node.state.links > 0 {
            let _ = write!(self.text, " ↔{}", node.state.links);
        }
        let here = (node.id == self.here).then_some("* you are here");
        let others = self.standing.get(&node.id).into_iter().flatten().map(String::as_str);
        let standing: Vec<&str> = here.into_iter().chain(others).collect();
        if !standing.is_empty() {
            let _ = write!(self.text, " {}", standing.join(" · "));
        }
    }

    fn continuations(&mut self, of: &Node) -> Result<Continuations, ToolError> {
        self.reads += 1;
        let limit = u32::try_from(MAX_BRANCHES).unwrap_or(u32::MAX);
        let filter = ChildFilter { kind: Some(EdgeKind::Continuation), pruned: true, limit };
        let all = self.snapshot.children(of.id, &filter)?;
        let (visible, hidden): (Vec<Node>, Vec<Node>) =
            all.into_iter().partition(|node| node.state.hidden_by.is_none());
        let chosen = |node: Node| self.on_path(&node).map_or(node, |at| self.path[at].clone());
        Ok(Continuations { visible: visible.into_iter().map(chosen).collect(), hidden: hidden.len() })
    }
}

/// Returns the first words of a node in quotes.
fn first_words_of(node: &Node, words: usize) -> String {
    if let Some(shown) = node_format::wordless(node, (words + MAX_LAST_WORDS) * MAX_CHARS_PER_WORD) {
        return shown;
    }
    let line = one_line(&node.content);
    let mut ends = line.match_indices(' ').map(|(at, _)| at).skip(words.saturating_sub(1));
    let cut = ends.next().filter(|_| ends.nth(MAX_LAST_WORDS - 1).is_some()).unwrap_or(line.len());
    let shown = first_words(&line[..cut], (words + MAX_LAST_WORDS) * MAX_CHARS_PER_WORD);
    let more = if shown.len() < line.len() { " …" } else { "" };
    format!("\"{}{more}\"", shown.trim_end_matches('…'))
}
