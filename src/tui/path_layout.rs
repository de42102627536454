//! The path laid out in lines: as a conversation, turn by turn, or as one text. Done by the reader, so that a frame only
//! copies lines.

use std::sync::Arc;

use ratatui::{
    style::Modifier,
    text::{Line, Span},
};

use super::{
    buffer_editor::{self, ProsePart},
    highlight::HighlightBudget,
    markdown,
    screen_query::{PathBlock, ScreenQuery},
    text::{self, Piece},
    theme::{ColorRole, Palette},
};
use crate::{
    id::NodeId,
    ops::Result,
    store::{ChildFilter, Snapshot},
    types::{Agent, AuthorType, EdgeKind, Mode, Node, Timestamp},
};

/// Notes shown under a node.
const NOTES: u32 = 8;

/// Lays out the path.
pub(super) struct PathLayout<'a> {
    pub(super) parts: &'a [ProsePart],
    pub(super) snapshot: &'a dyn Snapshot,
    pub(super) look: &'a ScreenQuery,
    pub(super) agents: &'a [Agent],
    pub(super) now: Timestamp,
    pub(super) here: NodeId,
    pub(super) purse: HighlightBudget,
}

impl PathLayout<'_> {
    /// The end of a path turn by turn: the last one, and as many before it as there are rows to be filled.
    pub(super) fn talk(&mut self, path: &[Arc<Node>]) -> Result<Vec<PathBlock>> {
        let (mut blocks, mut above): (Vec<PathBlock>, usize) = (Vec::new(), 0);
        for node in path.iter().rev() {
            if above >= self.look.rows {
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
        let palette = self.look.palette;
        let mut lines = vec![self.header(node)];
        let room = self.look.columns;
        if node.purged_at.is_some() {
            lines.push(Line::styled("(purged)", palette.style(ColorRole::Dim)));
        } else {
            let coloured = palette != Palette::Plain;
            let of_code = |language: &str, code: &str| {
                coloured.then(|| self.purse.spend(&self.look.colours, language, code)).flatten()
            };
            let words = palette.words(node.author_type);
            lines.extend(markdown::render(&node.content, room, words, palette, &of_code));
        }
        if node.state.annotations > 0 || node.raw.is_some() {
            lines.extend(self.beside(node)?);
        }
        lines.push(Line::default());
        Ok(PathBlock { lines })
    }

    fn header(&self, node: &Node) -> Line<'static> {
        let palette = self.look.palette;
        let name = self.agents.iter().find(|agent| agent.id() == node.author).map_or("?", Agent::name);
        let mut spans: Vec<Span<'static>> = Vec::new();
        let mut push = |text: String, style| spans.push(Span::styled(text, style));
        let here = node.id == self.here;
        push(if here { "▸ ".into() } else { "  ".into() }, palette.style(ColorRole::Accent));
        if node.role.is_some() {
            push(format!("{}, edited by ", node.role()), palette.style(ColorRole::Dim));
        }
        push(text::cut(name, 24), palette.author(node.author_type).add_modifier(Modifier::BOLD));
        push(format!("  {}", node.local), palette.style(ColorRole::Id));
        push(format!("  {}", node.created_at.age(self.now)), palette.style(ColorRole::Dim));
        if node.state.continuations > 1 {
            push(format!("  {} continuations", node.state.continuations), palette.style(ColorRole::Dim));
        }
        for mark in marks(node) {
            push(format!("  {mark}"), palette.style(ColorRole::Mark));
        }
        Line::from(spans)
    }

    /// What stands beside a node: notes, thoughts, what commands were answered.
    fn beside(&self, node: &Node) -> Result<Vec<Line<'static>>> {
        let palette = self.look.palette;
        let mut lines = Vec::new();
        let room = self.look.columns;
        for (kind, sign) in [(EdgeKind::Annotation, "✎ "), (EdgeKind::Thought, "∴ "), (EdgeKind::Tool, "⤷ ")] {
            let filter = ChildFilter { kind: Some(kind), pruned: false, limit: NOTES };
            for note in self.snapshot.children(node.id, &filter)? {
                // Answers of commands are folded to a line each; context and notes in full.
                let words = if kind == EdgeKind::Annotation {
                    note.content.clone()
                } else {
                    text::cut(&note.content, room.saturating_sub(4))
                };
                let bar = palette.style(ColorRole::Guide);
                let first: [Piece; 2] = [("┊ ".into(), bar), (sign.into(), palette.style(ColorRole::Mark))];
                let rest: [Piece; 2] = [("┊ ".into(), bar), ("  ".into(), bar)];
                let words = [(words, palette.style(ColorRole::Dim))];
                lines.extend(text::wrap(&words, room, &first, &rest));
            }
        }
        Ok(lines)
    }

    /// The path as one text, without seams: a model's words in their colour.
    pub(super) fn prose(&mut self, path: &[Arc<Node>]) -> Result<Vec<PathBlock>> {
        let palette = self.look.palette;
        let pieces: Vec<Piece> = path
            .iter()
            .filter(|node| node.purged_at.is_none())
            .flat_map(|node| match self.parts.iter().find(|part| part.id == node.id) {
                Some(part) => buffer_editor::coloured(
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
            let seam = joined.last().is_some_and(|(last, _)| needs_seam(last, &words)) && self.is_talk(path);
            if seam {
                joined.push(("\n\n".to_owned(), style));
            }
            joined.push((words, style));
        }
        Ok(vec![PathBlock { lines: text::wrap(&joined, self.look.columns, &[], &[]) }])
    }

    /// Whether the path is a conversation: then what each says is a paragraph of its own.
    fn is_talk(&self, path: &[Arc<Node>]) -> bool {
        path.first()
            .and_then(|node| self.snapshot.tree(node.tree).ok().flatten())
            .is_none_or(|tree| tree.mode == Mode::Dialogue)
    }
}

fn needs_seam(before: &str, after: &str) -> bool {
    !before.ends_with('\n') && !after.starts_with('\n')
}

/// What there is to say of a node in a word each.
pub(crate) fn marks(node: &Node) -> Vec<String> {
    let state = &node.state;
    let mut marks = Vec::new();
    if let Some(label) = &state.bookmark {
        marks.push(format!("★ {}", text::cut(label, 24)).trim_end().to_owned());
    }
    let number = |count: u32, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    };
    if state.annotations > 0 {
        marks.push(number(state.annotations, "note"));
    }
    if state.links > 0 {
        marks.push(number(state.links, "link"));
    }
    if state.versions > 0 {
        marks.push(number(state.versions + 1, "version"));
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

/// The sign of an author in the outline.
pub(crate) fn sign(kind: AuthorType) -> &'static str {
    match kind {
        AuthorType::Human => "○",
        AuthorType::Model => "●",
        AuthorType::Tool => "◇",
        AuthorType::System => "·",
    }
}

/// Wordings that are looked at to find out who wrote what.
const WORDINGS: usize = 12;

/// The end of a path as it is written in: each node's words, and whose they are.
pub(crate) fn parts(snapshot: &dyn Snapshot, path: &[Arc<Node>]) -> Result<Vec<ProsePart>> {
    let mut room = buffer_editor::MOST;
    let mut parts = Vec::new();
    for node in path.iter().rev().filter(|node| node.purged_at.is_none()) {
        if node.content.len() > room {
            break;
        }
        room -= node.content.len();
        let authorship = authorship(snapshot, node)?;
        let (id, content, author) = (node.id, node.content.clone(), node.author_type);
        parts.push(ProsePart { id, content, author, authorship });
    }
    parts.reverse();
    Ok(parts)
}

/// Whose the characters of a wording are: what stayed of the wording before it is whose it was there.
fn authorship(snapshot: &dyn Snapshot, node: &Node) -> Result<buffer_editor::Authorship> {
    let mut wordings = vec![node.clone()];
    while wordings.len() < WORDINGS
        && let Some(last) = wordings.last().filter(|last| last.kind == EdgeKind::Version)
        && let Some(before) = last.edited_from.map(|id| snapshot.node(id)).transpose()?.flatten()
    {
        wordings.push(before);
    }
    let mut before: Option<(String, buffer_editor::Authorship)> = None;
    for node in wordings.into_iter().rev() {
        let by_model = node.author_type == AuthorType::Model;
        let whose = match &before {
            None => vec![(node.content.len(), by_model)],
            Some((words, whose)) => buffer_editor::inherited(words, whose, &node.content, by_model),
        };
        before = Some((node.content, whose));
    }
    Ok(before.map(|(_, whose)| whose).unwrap_or_default())
}
