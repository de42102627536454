//! The drawing of a tree: the abbreviated path to a node and, below it, one line for each branch. Only the nodes shown
//! are read, and their number is bounded. The cost does not depend on the size of the tree.

use std::fmt::Write as _;

use super::{
    Answer, AnswerResult, Executor, Position,
    escape::{count, gist, id, mention, quoted},
};
use crate::{
    arrow::NodeRef,
    id::NodeId,
    store::{ChildFilter, Snapshot},
    tools::ToolError,
    types::{EdgeKind, Node, Tree, one_line},
};

/// Levels that are drawn if the command sets none.
const DEFAULT_LEVELS: u32 = 8;
/// The maximum number of branches drawn at one branch point.
const MAX_BRANCHES: usize = 24;
/// The maximum number of lines of a drawing.
const MAX_LINES: usize = 200;
/// The number of nodes from which a run is abbreviated.
const MAX_RUN_NODES: usize = 4;
/// The maximum number of bookmarks in a summary.
const MAX_NAMED_NODES: usize = 5;

impl Executor<'_> {
    pub(super) fn tree(&self, here: &Position, from: Option<&NodeRef>, depth: Option<u32>) -> AnswerResult {
        let top = self.node(here, from)?;
        let mut text = format!("Tree: {} ({})\n", quoted(&here.tree.title), sizes(&here.tree));
        let trail = self.trail(&top, &here.session.versions, 1)?;
        let (last, above) = trail.split_last().map_or((None, &[][..]), |(last, above)| (last.as_ref(), above));
        let mut line = String::new();
        for step in above {
            line.push_str(&step.as_ref().map_or_else(|| "…".to_owned(), id));
            line.push_str(" → ");
        }
        let indent = " ".repeat(line.chars().count() + 2);
        let drawn = last.unwrap_or(&top);
        line.push_str(&id(drawn));
        if drawn.id == here.position.id {
            line.push_str("* (you are here)");
        }
        if drawn.state.continuations == 0 {
            line.push_str(" (leaf)");
        }
        text.push_str(&line);
        let snapshot = self.loom.snapshot()?;
        let levels = depth.unwrap_or(DEFAULT_LEVELS);
        let mut drawing = TreeDrawing { snapshot: &*snapshot, here: here.position.id, text: &mut text, lines: 0 };
        drawing.branches(drawn, &indent, levels)?;
        Ok(Answer::about(text, drawn.local.as_str()))
    }

    /// Summarizes the tree in counts and bookmarks.
    pub(super) fn tree_summary(&self, here: &Position) -> AnswerResult {
        let (tree, counts) = (&here.tree, &here.tree.counts);
        let mut text = format!("Tree: {} ({} mode)\n", quoted(&tree.title), tree.mode);
        let points = count(counts.branch_points, "branch point");
        let _ = write!(text, "{} · {points} · depth: {}", sizes(tree).replace(", ", " · "), counts.max_depth);
        for words in [tree.description.clone(), self.tree_description(tree)?].into_iter().flatten() {
            let _ = write!(text, "\n{}", quoted(&words));
        }
        if let Some(root) = tree.root {
            let root = self.loom.node(root)?;
            let _ = write!(text, "\nRoot: {} {} · {}", id(&root), root.author_type, gist(&root));
        }
        let at = &here.position;
        let _ = write!(text, "\nPosition: {} {} · depth:{} · {}", id(at), at.author_type, at.depth, gist(at));
        let snapshot = self.loom.snapshot()?;
        let marked = snapshot.bookmarks(tree.id)?;
        if !marked.is_empty() {
            let _ = write!(text, "\nBookmarks ({}):", marked.len());
        }
        for node in marked.iter().rev().take(MAX_NAMED_NODES) {
            let label = one_line(node.state.bookmark.as_deref().unwrap_or(""));
            let _ = write!(text, "\n  {} {}", id(node), if label.is_empty() { gist(node) } else { label });
        }
        let pruned = snapshot.pruned(tree.id)?.len();
        if pruned > 0 {
            let _ = write!(text, "\nPruned: {}", count(pruned as u64, "branch"));
        }
        Ok(text.into())
    }
}

fn sizes(tree: &Tree) -> String {
    format!("{}, {}", count(tree.counts.nodes, "node"), count(tree.counts.leaves, "branch"))
}

struct TreeDrawing<'a> {
    snapshot: &'a dyn Snapshot,
    here: NodeId,
    text: &'a mut String,
    lines: usize,
}

impl TreeDrawing<'_> {
    /// Draws the branches below a node, one line each, recursively.
    fn branches(&mut self, above: &Node, indent: &str, levels: u32) -> Result<(), ToolError> {
        let children = self.children(above)?;
        if levels == 0 && !children.is_empty() {
            return Ok(());
        }
        let more = (above.state.continuations as usize).saturating_sub(MAX_BRANCHES);
        let last = children.len().min(MAX_BRANCHES);
        for (at, child) in children.into_iter().take(MAX_BRANCHES).enumerate() {
            if self.lines >= MAX_LINES {
                let _ = write!(self.text, "\n{indent}└→ … (→ tree from:{} shows more)", mention(above));
                return Ok(());
            }
            self.lines += 1;
            let ends = at + 1 == last && more == 0;
            let _ = write!(self.text, "\n{indent}{} ", if ends { "└→" } else { "├→" });
            let (run, left) = self.run(child, levels - 1)?;
            self.push_run(&run);
            let Some(end) = run.last() else { continue };
            match (end.state.continuations, left) {
                (0, _) => self.text.push_str(" (leaf)"),
                (_, 0) => self.text.push_str(" → …"),
                (_, left) => self.branches(end, &format!("{indent}{}  ", if ends { " " } else { "│" }), left)?,
            }
        }
        if more > 0 {
            let _ = write!(self.text, "\n{indent}└→ … {more} more (→ list {} continuations)", mention(above));
        }
        Ok(())
    }

    /// Returns the nodes from `first` to the next branch point or leaf, and the levels that remain there.
    fn run(&self, first: Node, mut levels: u32) -> Result<(Vec<Node>, u32), ToolError> {
        let mut run = vec![first];
        while levels > 0
            && let Some(end) = run.last().filter(|end| end.state.continuations == 1)
            && let Some(next) = self.children(end)?.into_iter().next()
        {
            levels -= 1;
            run.push(next);
        }
        Ok((run, levels))
    }

    /// Draws a run on one line. A long run shows its ends, and the position if it is inside.
    fn push_run(&mut self, run: &[Node]) {
        let shown = |at: usize, node: &Node| {
            run.len() <= MAX_RUN_NODES || at == 0 || at + 1 == run.len() || node.id == self.here
        };
        let mut folded = 0;
        for (at, node) in run.iter().enumerate() {
            if !shown(at, node) {
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
            self.text.push_str(&id(node));
            if node.id == self.here {
                self.text.push_str("* (you are here)");
            }
        }
    }

    fn children(&self, of: &Node) -> Result<Vec<Node>, ToolError> {
        if of.state.continuations == 0 {
            return Ok(Vec::new());
        }
        let most = u32::try_from(MAX_BRANCHES).unwrap_or(u32::MAX);
        let filter = ChildFilter { kind: Some(EdgeKind::Continuation), pruned: false, limit: most };
        Ok(self.snapshot.children(of.id, &filter)?)
    }
}
