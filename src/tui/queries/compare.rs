//! Comparison of two branches: node by node, and word by word for similar nodes. Dissimilar nodes are shown as removed
//! and added in full, because interleaved texts are unreadable.

use std::collections::HashMap;

use ratatui::{
    style::{Modifier, Style},
    text::{Line, Span},
};
use unicode_segmentation::UnicodeSegmentation as _;

use super::{LookupRequest, MAX_PATH_NODES};
use crate::{
    exec::word_diff::{WordChange, word_changes},
    id::NodeId,
    ops::Result,
    tui::{
        line_wrap::{self, Piece},
        message::LookupResult,
        text,
        theme::{ColorRole, Palette},
    },
    types::{Agent, Node, one_line},
};

/// Nodes of each branch that are aligned by similarity; later ones are compared by position.
const MAX_ALIGNED_NODES: usize = 64;

impl LookupRequest<'_> {
    /// Compares two branches from their branch point on.
    pub(super) fn diff(&self, one: NodeId, other: NodeId) -> Result<LookupResult> {
        let snapshot = self.loom.snapshot()?;
        let agents = snapshot.agents()?;
        let read = |id| snapshot.path_back(id, &self.context.versions, MAX_PATH_NODES);
        let (left, right) = (read(one)?, read(other)?);
        let common = left.iter().zip(&right).take_while(|(left, right)| left.id == right.id).count();
        let palette = self.context.palette;
        let name = |path: &[Node]| path.last().map(|node| node.local.to_string()).unwrap_or_default();
        let parted = match left.get(common.saturating_sub(1)) {
            Some(node) if common > 0 => format!("they part after {}", node.local),
            _ => "they share no beginning".to_owned(),
        };
        let mut lines = vec![Line::from(vec![
            Span::styled(name(&left), palette.style(ColorRole::Gone).remove_modifier(Modifier::CROSSED_OUT)),
            Span::raw(" → "),
            Span::styled(name(&right), palette.style(ColorRole::Added)),
            self.dim(format!("   {parted}")),
        ])];
        let (left, right) = (&left[common..], &right[common..]);
        if left.iter().map(|node| &node.content).eq(right.iter().map(|node| &node.content)) {
            lines.extend([Line::default(), Line::from(self.dim("there is no difference"))]);
        }
        for (before, after) in align(left, right) {
            lines.push(Line::default());
            lines.extend(self.turn(before, after, &agents));
        }
        Ok(LookupResult::Page("two branches".to_owned(), lines))
    }

    /// Formats one pair of nodes: a header and the compared text.
    fn turn(&self, before: Option<&Node>, after: Option<&Node>, agents: &[Agent]) -> Vec<Line<'static>> {
        let palette = self.context.palette;
        let author = |node: &Node| {
            let agent = agents.iter().find(|agent| agent.id() == node.author);
            text::truncate(agent.map_or("?", Agent::name), 24)
        };
        let head = |sign: &str, role: ColorRole, node: &Node| {
            let style = palette.style(role).remove_modifier(Modifier::CROSSED_OUT);
            vec![
                Span::styled(format!("{sign} "), style),
                Span::styled(author(node), palette.author(node.author_type)),
                Span::styled(format!("  {}", node.local), palette.style(ColorRole::Id)),
            ]
        };
        let whole = |node: &Node, style: Style| (node.content.trim_end().to_owned(), style);
        let (mut spans, pieces) = match (before, after) {
            (Some(before), Some(after)) if before.content == after.content => {
                let same = text::truncate(&one_line(&after.content), self.context.columns);
                (head("=", ColorRole::Dim, after), vec![(same, palette.style(ColorRole::Dim))])
            }
            (Some(before), Some(after)) => {
                let mut spans = head("~", ColorRole::Accent, before);
                spans.push(Span::styled(format!(" → {}", after.local), palette.style(ColorRole::Id)));
                (spans, word_diff(before.content.trim_end(), after.content.trim_end(), palette))
            }
            (Some(gone), None) => {
                let style = palette.style(ColorRole::Gone).remove_modifier(Modifier::CROSSED_OUT);
                (head("-", ColorRole::Gone, gone), vec![whole(gone, style)])
            }
            (None, Some(added)) => {
                (head("+", ColorRole::Added, added), vec![whole(added, palette.style(ColorRole::Added))])
            }
            (None, None) => return Vec::new(),
        };
        spans.retain(|span| !span.content.is_empty());
        let mut lines = vec![Line::from(spans)];
        lines.extend(line_wrap::wrap(&pieces, self.context.columns, &[], &[]));
        lines
    }
}

/// Pairs the nodes of two branches by similarity, in order.
fn align<'n>(left: &'n [Node], right: &'n [Node]) -> Vec<(Option<&'n Node>, Option<&'n Node>)> {
    let (rows, columns) = (left.len().min(MAX_ALIGNED_NODES), right.len().min(MAX_ALIGNED_NODES));
    let words = |nodes: &'n [Node], most: usize| nodes[..most].iter().map(|node| word_counts(&node.content)).collect();
    let (before, after): (Vec<Words<'n>>, Vec<Words<'n>>) = (words(left, rows), words(right, columns));
    // Best total similarity of the nodes from each pair on.
    let mut best = vec![vec![0.0_f64; columns + 1]; rows + 1];
    let likeness: Vec<Vec<f64>> =
        before.iter().map(|one| after.iter().map(|other| similarity(one, other)).collect()).collect();
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            let paired = likeness[row][column].max(0.0) + best[row + 1][column + 1];
            let paired = if likeness[row][column] < MIN_SIMILARITY { 0.0 } else { paired };
            best[row][column] = paired.max(best[row + 1][column]).max(best[row][column + 1]);
        }
    }
    let (mut row, mut column, mut pairs) = (0, 0, Vec::new());
    while row < rows || column < columns {
        let pairs_here = row < rows
            && column < columns
            && likeness[row][column] >= MIN_SIMILARITY
            && best[row][column] <= likeness[row][column] + best[row + 1][column + 1];
        if pairs_here {
            pairs.push((Some(&left[row]), Some(&right[column])));
            (row, column) = (row + 1, column + 1);
        } else if row < rows && (column == columns || best[row + 1][column] >= best[row][column + 1]) {
            pairs.push((Some(&left[row]), None));
            row += 1;
        } else {
            pairs.push((None, Some(&right[column])));
            column += 1;
        }
    }
    let (left, right) = (&left[rows..], &right[columns..]);
    pairs.extend((0..left.len().max(right.len())).map(|at| (left.get(at), right.get(at))));
    pairs
}

/// Share of common words from which two nodes count as versions of one text.
const MIN_SIMILARITY: f64 = 0.4;

/// Words of a text with their counts.
type Words<'t> = HashMap<&'t str, usize>;

fn word_counts(text: &str) -> Words<'_> {
    let mut words = Words::new();
    for word in text.unicode_words() {
        *words.entry(word).or_default() += 1;
    }
    words
}

/// Returns the share of common words of two texts, 0 to 1.
#[allow(clippy::cast_precision_loss)] // a share of what one reads
fn similarity(one: &Words<'_>, other: &Words<'_>) -> f64 {
    let all: usize = one.values().chain(other.values()).sum();
    let common: usize = one.iter().filter_map(|(word, count)| Some((*other.get(word)?).min(*count))).sum();
    if all == 0 { 1.0 } else { 2.0 * common as f64 / all as f64 }
}

/// Merges two texts into pieces: common, removed and added.
fn word_diff(before: &str, after: &str, palette: Palette) -> Vec<Piece> {
    let plain = palette == Palette::Plain;
    let mut pieces: Vec<Piece> = Vec::new();
    for WordChange { same, gone, added } in word_changes(before, after) {
        let both = !gone.is_empty() && !added.is_empty();
        let apart = both && !plain && !gone.ends_with(char::is_whitespace);
        // Without colors, signs mark the kind.
        let marked = |text: String, open, close| if plain { format!("{open}{text}{close}") } else { text };
        pieces.push((same, palette.style(ColorRole::Words)));
        if !gone.is_empty() {
            pieces.push((marked(gone, "[-", "-]"), palette.style(ColorRole::Gone)));
        }
        if apart {
            pieces.push((" ".to_owned(), palette.style(ColorRole::Words)));
        }
        if !added.is_empty() {
            pieces.push((marked(added, "{+", "+}"), palette.style(ColorRole::Added)));
        }
    }
    pieces.retain(|(text, _)| !text.is_empty());
    pieces
}
