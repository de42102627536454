//! The drawing of a tree from its root: one line for each run of nodes without branches. A tree that is too large for
//! that is drawn along the path to the position, with the siblings at its branch points, and below the position. Only
//! the nodes shown are read, and their number is bounded. The cost does not depend on the size of the tree.

mod drawing;

use std::{collections::HashMap, fmt::Write as _};

use self::drawing::{DrawingLimits, TreeDrawing};
use super::{
    Answer, AnswerResult, Executor, Position,
    counts::count,
    escape::quoted,
    list::positions,
    node_format::{gist, id},
};
use crate::{
    arrow::NodeRef,
    id::NodeId,
    tokens::estimated_tokens,
    tools::ToolError,
    types::{AgentKind, Tree, one_line},
};

/// The maximum number of lines of a drawing, and of one with a given depth.
const MAX_LINES: usize = 60;
const MAX_LINES_TO_DEPTH: usize = 200;
/// Words of a node in a large tree, and in a small one whose drawing has room for them.
const NODE_WORDS: usize = 6;
const MAX_NODE_WORDS: usize = 20;
/// Words of a drawing of so few nodes that each can have more than [`MAX_NODE_WORDS`].
const MAX_DRAWING_WORDS: usize = 800;
/// Nodes of the path to the position that are read.
const MAX_PATH_NODES: u32 = 512;
/// The maximum number of bookmarks in a summary.
const MAX_NAMED_NODES: usize = 5;

impl Executor<'_> {
    pub(super) fn tree(&self, here: &Position, from: Option<&NodeRef>, depth: Option<u32>) -> AnswerResult {
        let snapshot = self.loom.snapshot()?;
        let path = snapshot.path_back(here.position.id, &here.session.versions, MAX_PATH_NODES)?;
        let top = match (from, here.tree.root) {
            (Some(from), _) => self.resolve_node(here, from)?,
            (None, Some(root)) => self.loom.node(root)?,
            (None, None) => here.position.clone(),
        };
        let mut text = format!("Tree: {} ({})\n", quoted(&here.tree.title), sizes(&here.tree));
        if !top.begins_path() {
            let trail = self.trail(&top, &here.session.versions, 2)?;
            let above = trail.iter().take(trail.len().saturating_sub(1));
            let above: Vec<String> = above.map(|step| step.as_ref().map_or_else(|| "…".to_owned(), id)).collect();
            let _ = writeln!(text, "above: {}", above.join(" → "));
        }
        let (names, standing) = (self.author_names()?, self.standing(here)?);
        let draw = |limits: DrawingLimits| {
            let mut drawing = TreeDrawing::new(&*snapshot, &names, here.position.id, (&path, &standing), limits);
            drawing.draw(&top)?;
            Ok::<_, ToolError>(drawing)
        };
        let levels = depth.unwrap_or(u32::MAX);
        let lines = if depth.is_some() { MAX_LINES_TO_DEPTH } else { MAX_LINES };
        let limits = DrawingLimits { lines, levels, words: NODE_WORDS, on_path: false };
        let mut drawing = draw(limits)?;
        let on_path = depth.is_none() && drawing.is_cut() && path.iter().any(|node| node.id == top.id);
        if on_path {
            drawing = draw(DrawingLimits { on_path, ..limits })?;
        }
        let words = self.words_in_room(&text, &drawing);
        if !on_path && words > NODE_WORDS {
            drawing = draw(DrawingLimits { words, ..limits })?;
        }
        text.push_str(&drawing.text);
        if on_path {
            text.push_str("\n(the path to you and what is below; → tree from:ID draws another branch)");
        }
        Ok(Answer::about(text, top.local.as_str()))
    }

    /// Returns the words of a node with which a drawing fits in a reply.
    fn words_in_room(&self, head: &str, drawing: &TreeDrawing<'_>) -> usize {
        let used = estimated_tokens(head) + estimated_tokens(&drawing.text);
        // A word has up to two tokens.
        let room = self.max_reply_tokens.saturating_sub(used) as usize / 2;
        let nodes = drawing.nodes().max(1);
        (NODE_WORDS + room / nodes).min(MAX_NODE_WORDS.max(MAX_DRAWING_WORDS / nodes))
    }

    /// Returns who else is where: the agents' newest positions in the tree.
    fn standing(&self, here: &Position) -> Result<HashMap<NodeId, Vec<String>>, ToolError> {
        let snapshot = self.loom.snapshot()?;
        let agents = snapshot.agents()?;
        let mut standing: HashMap<NodeId, Vec<String>> = HashMap::new();
        for (agent, node) in positions(&*snapshot, here)?.into_iter().filter(|(agent, _)| *agent != self.agent.id()) {
            let Some(agent) = agents.iter().find(|known| known.id() == agent) else { continue };
            let verb = if agent.profile.kind == AgentKind::Human { "reads" } else { "is" };
            standing.entry(node.id).or_default().push(format!("← {} {verb} here", one_line(agent.name())));
        }
        Ok(standing)
    }

    /// Summarizes the tree in counts and bookmarks.
    pub(super) fn tree_summary(&self, here: &Position) -> AnswerResult {
        let (tree, counts) = (&here.tree, &here.tree.counts);
        let mut text = format!("Tree: {} ({} mode)\n", quoted(&tree.title), tree.mode);
        let points = count(counts.branch_points, "branch point");
        let snapshot = self.loom.snapshot()?;
        let depth = snapshot.message_depth(tree.id)?;
        let _ = write!(text, "{} · {points} · depth: {depth}", sizes(tree).replace(", ", " · "));
        for words in [tree.description.clone(), self.tree_description(tree)?].into_iter().flatten() {
            let _ = write!(text, "\n{}", quoted(&words));
        }
        if let Some(root) = tree.root {
            let root = self.loom.node(root)?;
            let _ = write!(text, "\nRoot: {} {} · {}", id(&root), root.author_type, gist(&root));
        }
        let at = &here.position;
        let _ = write!(text, "\nPosition: {} {} · depth:{} · {}", id(at), at.author_type, at.depth, gist(at));
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
    format!("{}, {}", count(tree.counts.messages, "node"), count(tree.counts.leaves, "branch"))
}
