//! Layout of the path in lines: as a transcript or as one text. The query thread computes it, so a frame only copies
//! lines.

use std::sync::Arc;

use ratatui::{
    style::Modifier,
    text::{Line, Span},
};

use super::{
    buffer_editor::{self, ProsePart},
    highlight::HighlightBudget,
    line_wrap::{self, Piece},
    markdown,
    screen_query::{PathBlock, ScreenQuery},
    text,
    theme::{ColorRole, Palette},
};
use crate::{
    exec::{authorship, counts::count},
    id::NodeId,
    ops::Result,
    store::{ChildFilter, Snapshot},
    types::{Agent, AuthorType, EdgeKind, Mode, Node, Timestamp},
};

/// Bytes at the end of a path that are opened for editing, except that the last node is opened whole.
const MAX_BUFFER_BYTES: usize = 48_000;

/// Attached nodes of one kind shown under a node.
const MAX_NOTES: u32 = 8;

/// Layout of a path, with the data it needs.
pub(super) struct PathLayout<'a> {
    pub(super) parts: &'a [ProsePart],
    pub(super) snapshot: &'a dyn Snapshot,
    pub(super) query: &'a ScreenQuery,
    pub(super) agents: &'a [Agent],
    pub(super) now: Timestamp,
    pub(super) cursor: NodeId,
    pub(super) highlight_budget: HighlightBudget,
}

impl PathLayout<'_> {
    /// Lays out the end of a path as turns: the last one, and earlier ones until the rows are filled.
    pub(super) fn transcript(&mut self, path: &[Arc<Node>]) -> Result<Vec<PathBlock>> {
        let (mut blocks, mut above): (Vec<PathBlock>, usize) = (Vec::new(), 0);
        for node in path.iter().rev() {
            if above >= self.query.rows {
                break;
            }
            let block = self.turn(node)?;
            above += if blocks.is_empty() { 0 } else { block.lines.len() };
            blocks.push(block);
        }
        blocks.reverse();
        Ok(blocks)
    }

    fn turn(&mut self, node: &Node) -> Result<PathBlock> {
        let palette = self.query.palette;
        let mut lines = vec![self.header(node)];
        let max_columns = self.query.columns;
        if node.purged_at.is_some() {
            lines.push(Line::styled("(purged)", palette.style(ColorRole::Dim)));
        } else {
            let has_colors = palette != Palette::Plain;
            let highlight_code = |language: &str, code: &str| {
                has_colors.then(|| self.highlight_budget.spend(&self.query.highlighter, language, code)).flatten()
            };
            let words = palette.words(node.author_type);
            lines.extend(markdown::render(&node.content, max_columns, words, palette, &highlight_code));
        }
        if node.state.annotations > 0 || node.raw.is_some() {
            lines.extend(self.attached_lines(node)?);
        }
        lines.push(Line::default());
        Ok(PathBlock { lines })
    }

    /// Header of a turn. In a narrow pane it shortens the number of continuations, then omits the age.
    fn header(&self, node: &Node) -> Line<'static> {
        let count = node.state.continuations;
        let full = if count > 1 { format!("  {count} continuations") } else { String::new() };
        let short = if count > 1 { format!("  {count} cont.") } else { String::new() };
        let age = format!("  {}", node.created_at.age(self.now));
        let fits = |line: &Line<'_>| text::line_width(line) <= self.query.columns;
        let wide = [(&age, &full), (&age, &short)].map(|(age, count)| self.header_line(node, age, count));
        wide.into_iter().find(fits).unwrap_or_else(|| self.header_line(node, "", &short))
    }

    fn header_line(&self, node: &Node, age: &str, continuations: &str) -> Line<'static> {
        let palette = self.query.palette;
        let dim = palette.style(ColorRole::Dim);
        let name = self.agents.iter().find(|agent| agent.id() == node.author).map_or("?", Agent::name);
        let mut spans: Vec<Span<'static>> = Vec::new();
        let mut push = |text: String, style| spans.push(Span::styled(text, style));
        let is_cursor = node.id == self.cursor;
        push(if is_cursor { "▸ ".into() } else { "  ".into() }, palette.style(ColorRole::Accent));
        if node.role.is_some() {
            push(format!("{}, edited by ", node.role()), dim);
        }
        push(text::truncate(name, 24), palette.author(node.author_type).add_modifier(Modifier::BOLD));
        push(format!("  {}", node.local), palette.style(ColorRole::Id));
        push(format!("{age}{continuations}"), dim);
        for mark in marks(node) {
            push(format!("  {mark}"), palette.style(ColorRole::Mark));
        }
        Line::from(spans)
    }

    /// Lays out the nodes attached to a node: notes, thoughts, results of commands.
    fn attached_lines(&self, node: &Node) -> Result<Vec<Line<'static>>> {
        let palette = self.query.palette;
        let mut lines = Vec::new();
        let max_columns = self.query.columns;
        for (kind, sign) in [(EdgeKind::Annotation, "✎ "), (EdgeKind::Thought, "∴ "), (EdgeKind::Tool, "⤷ ")] {
            let filter = ChildFilter { kind: Some(kind), pruned: false, limit: MAX_NOTES };
            for note in self.snapshot.children(node.id, &filter)? {
                // Thoughts and results get one line each; notes are shown in full.
                let words = if kind == EdgeKind::Annotation {
                    note.content.clone()
                } else {
                    text::truncate(&note.content, max_columns.saturating_sub(4))
                };
                let bar = palette.style(ColorRole::Guide);
                let first: [Piece; 2] = [("┊ ".into(), bar), (sign.into(), palette.style(ColorRole::Mark))];
                let rest: [Piece; 2] = [("┊ ".into(), bar), ("  ".into(), bar)];
                let words = [(words, palette.style(ColorRole::Dim))];
                lines.extend(line_wrap::wrap(&words, max_columns, &first, &rest));
            }
        }
        Ok(lines)
    }

    /// Lays out the path as one text, model text in its own color.
    pub(super) fn prose(&mut self, path: &[Arc<Node>]) -> Result<Vec<PathBlock>> {
        let palette = self.query.palette;
        let pieces: Vec<Piece> = path
            .iter()
            .filter(|node| node.purged_at.is_none())
            .flat_map(|node| match self.parts.iter().find(|part| part.id == node.id) {
                Some(part) => buffer_editor::authored_pieces(
                    &part.content,
                    &part.authorship,
                    palette.style(ColorRole::ModelWords),
                    palette.style(ColorRole::Words),
                ),
                None => vec![(node.content.clone(), palette.words(node.author_type))],
            })
            .collect();
        let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len() * 2);
        for (words, style) in pieces {
            let seam = joined.last().is_some_and(|(last, _)| needs_seam(last, &words)) && self.is_dialogue(path);
            if seam {
                joined.push(("\n\n".to_owned(), style));
            }
            joined.push((words, style));
        }
        Ok(vec![PathBlock { lines: line_wrap::wrap(&joined, self.query.columns, &[], &[]) }])
    }

    /// Returns whether the tree is a dialogue: each turn then is a paragraph.
    fn is_dialogue(&self, path: &[Arc<Node>]) -> bool {
        path.first()
            .and_then(|node| self.snapshot.tree(node.tree).ok().flatten())
            .is_none_or(|tree| tree.mode == Mode::Dialogue)
    }
}

fn needs_seam(before: &str, after: &str) -> bool {
    !before.ends_with('\n') && !after.starts_with('\n')
}

/// Short labels of a node's state.
pub(crate) fn marks(node: &Node) -> Vec<String> {
    let state = &node.state;
    let mut marks = Vec::new();
    if let Some(label) = &state.bookmark {
        marks.push(format!("★ {}", text::truncate(label, 24)).trim_end().to_owned());
    }
    if state.annotations > 0 {
        marks.push(count(state.annotations, "note"));
    }
    if state.links > 0 {
        marks.push(count(state.links, "link"));
    }
    if state.versions > 0 {
        marks.push(count(state.versions + 1, "version"));
    }
    let words = [
        (node.edited_from.is_some() && node.kind != EdgeKind::Version, "edited"),
        (state.excluded, "excluded"),
        (node.interrupted, "interrupted"),
        (node.purged_at.is_some(), "purged"),
    ];
    marks.extend(words.iter().filter(|(is, _)| *is).map(|(_, word)| (*word).to_owned()));
    marks
}

/// Sign of an author type in the outline.
pub(crate) fn sign(kind: AuthorType) -> &'static str {
    match kind {
        AuthorType::Human => "○",
        AuthorType::Model => "●",
        AuthorType::Tool => "◇",
        AuthorType::System => "·",
    }
}

/// Parts of the end of a path for the buffer editor, with their authorship: the last node and those that fit before it.
pub(crate) fn parts(snapshot: &dyn Snapshot, path: &[Arc<Node>]) -> Result<Vec<ProsePart>> {
    let mut remaining_bytes = MAX_BUFFER_BYTES;
    let mut parts = Vec::new();
    for node in path.iter().rev().filter(|node| node.purged_at.is_none()) {
        if node.content.len() > remaining_bytes && !parts.is_empty() {
            break;
        }
        remaining_bytes = remaining_bytes.saturating_sub(node.content.len());
        let authorship = authorship::authorship(snapshot, node)?;
        let (id, content, author) = (node.id, node.content.clone(), node.author_type);
        parts.push(ProsePart { id, content, author, authorship });
    }
    parts.reverse();
    Ok(parts)
}
