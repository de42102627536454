//! Tree pane: an outline with guides.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Modifier, Style},
    text::{Line, Span},
};

use super::rows::{put, row};
use crate::{
    exec::outline::{OutlineRow, RowKind},
    recall,
    tui::{model::ScreenModel, path_layout::sign, screen_query::ScreenData, text, theme::ColorRole},
};

/// Columns of a branch level.
const LEVEL_COLUMNS: usize = 3;
/// Minimum columns of text beside the guides.
const MIN_TEXT_COLUMNS: usize = 18;
/// Levels hidden at once, so that a single step does not shift every row.
const HIDDEN_LEVEL_STEP: usize = 4;

/// Returns the first visible line of the window.
pub(crate) fn first_row(model: &ScreenModel) -> Option<usize> {
    let screen = model.screen.as_ref()?;
    Some(screen.window.cursor_row.saturating_sub(model.cursor_row))
}

/// Returns the number of levels hidden on the left.
fn hidden_levels(screen: &ScreenData, width: usize) -> usize {
    let max_levels = (width.saturating_sub(MIN_TEXT_COLUMNS) / LEVEL_COLUMNS).max(1);
    let cursor_levels = screen.window.rows.get(screen.window.cursor_row).map_or(0, |row| row.levels.len());
    cursor_levels.saturating_sub(max_levels).div_ceil(HIDDEN_LEVEL_STEP) * HIDDEN_LEVEL_STEP
}

pub(super) fn draw(model: &ScreenModel, area: Rect, buffer: &mut Buffer) {
    let (Some(screen), Some(first)) = (&model.screen, first_row(model)) else { return };
    let hidden = hidden_levels(screen, usize::from(area.width));
    let shown = screen.window.rows.iter().enumerate().skip(first).take(usize::from(area.height));
    for (at, (index, line)) in shown.enumerate() {
        let place = row(area, at);
        let is_cursor = index == screen.window.cursor_row;
        if is_cursor {
            buffer.set_style(place, model.palette.style(ColorRole::Cursor));
        }
        let on_path = screen.window.path.get(index).copied().unwrap_or(false);
        put(&row_line(model, screen, line, (hidden, usize::from(area.width)), is_cursor, on_path), place, buffer);
    }
}

fn row_line(
    model: &ScreenModel,
    screen: &ScreenData,
    row: &OutlineRow,
    (hidden, width): (usize, usize),
    is_cursor: bool,
    on_path: bool,
) -> Line<'static> {
    let palette = model.palette;
    let guide = palette.style(ColorRole::Guide);
    let RowKind::Node { node, place, folded } = &row.kind else {
        return Line::styled("  ⋮", guide);
    };
    let mut spans = vec![Span::styled(guides(row, hidden), guide)];
    let words_style = if is_cursor {
        Style::new().add_modifier(Modifier::BOLD)
    } else if on_path {
        Style::new()
    } else {
        palette.style(ColorRole::Dim)
    };
    spans.push(Span::styled(format!("{} ", sign(node.author_type)), palette.author(node.author_type)));
    let mut tail: Vec<Span<'static>> = Vec::new();
    let mark = palette.style(ColorRole::Mark);
    if model.marked.contains(&node.id) {
        tail.push(Span::styled(" ✓", palette.style(ColorRole::Accent)));
    }
    if node.state.bookmark.is_some() {
        tail.push(Span::styled(" ★", mark));
    }
    if screen.pins.contains(&node.id) {
        tail.push(Span::styled(" ⌖", mark));
    }
    if node.state.annotations > 0 {
        tail.push(Span::styled(" ✎", mark));
    }
    if node.state.versions > 0 {
        tail.push(Span::styled(format!(" ≡{}", node.state.versions + 1), mark));
    }
    if node.state.excluded {
        tail.push(Span::styled(" ∅", mark));
    }
    if node.interrupted {
        tail.push(Span::styled(" …", mark));
    }
    if *folded {
        tail.push(Span::styled(" ▸", palette.style(ColorRole::Accent)));
    }
    for other in screen.others.iter().filter(|other| other.node == node.id || other.node == *place) {
        tail.push(Span::styled(format!(" ◂{}", text::truncate(&other.name, 12)), palette.style(ColorRole::Accent)));
    }
    let tail_width: usize = tail.iter().map(|span| text::width(&span.content)).sum();
    let used: usize = spans.iter().map(|span| text::width(&span.content)).sum();
    let max_columns = width.saturating_sub(used + tail_width + 1);
    let words = if node.purged_at.is_some() {
        "(purged)".to_owned()
    } else {
        text::truncate(strip_markers(&node.content), max_columns)
    };
    let words = if words.is_empty() { text::truncate(&recall::calls(node).join(" · "), max_columns) } else { words };
    let words = if words.is_empty() { "(empty)".to_owned() } else { words };
    spans.push(Span::styled(words, words_style));
    spans.extend(tail);
    Line::from(spans)
}

/// Returns a text without leading Markdown markers.
fn strip_markers(text: &str) -> &str {
    text.trim_start().trim_start_matches(['#', '>', '*', '`']).trim_start()
}

fn guides(row: &OutlineRow, hidden: usize) -> String {
    let mut guides = String::from(if hidden > 0 { "‹" } else { " " });
    let levels = row.levels.len();
    for (at, last) in row.levels.iter().enumerate().skip(hidden) {
        let is_own_level = row.opens_branch && at + 1 == levels;
        guides.push_str(match (is_own_level, last) {
            (true, false) => "├─ ",
            (true, true) => "└─ ",
            (false, false) => "│  ",
            (false, true) => "   ",
        });
    }
    guides
}
