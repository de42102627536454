//! The tree pane: an outline with guides.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Modifier, Style},
    text::{Line, Span},
};

use super::{put, row};
use crate::{
    recall,
    tui::{
        model::ScreenModel,
        outline::{OutlineRow, RowKind},
        path_layout::sign,
        screen_query::ScreenData,
        text,
        theme::ColorRole,
    },
};

/// Columns of a level of branches.
const LEVEL: usize = 3;
/// Columns that guides leave to words.
const WORDS: usize = 18;
/// Levels that are let go of at once, so that not every step moves everything.
const LET_GO: usize = 4;

/// The line of the window that is the first on the screen.
pub(crate) fn first_row(model: &ScreenModel) -> Option<usize> {
    let sight = model.sight.as_ref()?;
    Some(sight.window.here.saturating_sub(model.row))
}

/// Levels on the left that are not shown.
fn hidden_levels(sight: &ScreenData, width: usize) -> usize {
    let room = (width.saturating_sub(WORDS) / LEVEL).max(1);
    let here = sight.window.rows.get(sight.window.here).map_or(0, |row| row.levels.len());
    here.saturating_sub(room).div_ceil(LET_GO) * LET_GO
}

pub(super) fn draw(model: &ScreenModel, area: Rect, buffer: &mut Buffer) {
    let (Some(sight), Some(first)) = (&model.sight, first_row(model)) else { return };
    let hidden = hidden_levels(sight, usize::from(area.width));
    let shown = sight.window.rows.iter().enumerate().skip(first).take(usize::from(area.height));
    for (at, (index, line)) in shown.enumerate() {
        let place = row(area, at);
        let here = index == sight.window.here;
        if here {
            buffer.set_style(place, model.palette.style(ColorRole::Cursor));
        }
        let on_path = sight.window.path.get(index).copied().unwrap_or(false);
        put(&drawn(model, sight, line, (hidden, usize::from(area.width)), here, on_path), place, buffer);
    }
}

fn drawn(
    model: &ScreenModel,
    sight: &ScreenData,
    row: &OutlineRow,
    (hidden, width): (usize, usize),
    here: bool,
    on_path: bool,
) -> Line<'static> {
    let palette = model.palette;
    let guide = palette.style(ColorRole::Guide);
    let RowKind::Node { node, place, folded } = &row.what else {
        return Line::styled("  ⋮", guide);
    };
    let mut spans = vec![Span::styled(guides(row, hidden), guide)];
    let words_style = if here {
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
    if sight.pins.contains(&node.id) {
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
    for other in sight.others.iter().filter(|other| other.at == node.id || other.at == *place) {
        tail.push(Span::styled(format!(" ◂{}", text::cut(&other.name, 12)), palette.style(ColorRole::Accent)));
    }
    let tail_width: usize = tail.iter().map(|span| text::width(&span.content)).sum();
    let used: usize = spans.iter().map(|span| text::width(&span.content)).sum();
    let room = width.saturating_sub(used + tail_width + 1);
    let words = if node.purged_at.is_some() { "(purged)".to_owned() } else { text::cut(plain(&node.content), room) };
    let words = if words.is_empty() { text::cut(&recall::calls(node).join(" · "), room) } else { words };
    let words = if words.is_empty() { "(empty)".to_owned() } else { words };
    spans.push(Span::styled(words, words_style));
    spans.extend(tail);
    Line::from(spans)
}

/// The words of a text without the marks that Markdown begins lines with.
fn plain(text: &str) -> &str {
    text.trim_start().trim_start_matches(['#', '>', '*', '`']).trim_start()
}

fn guides(row: &OutlineRow, hidden: usize) -> String {
    let mut guides = String::from(if hidden > 0 { "‹" } else { " " });
    let levels = row.levels.len();
    for (at, last) in row.levels.iter().enumerate().skip(hidden) {
        let own = row.opens && at + 1 == levels;
        guides.push_str(match (own, last) {
            (true, false) => "├─ ",
            (true, true) => "└─ ",
            (false, false) => "│  ",
            (false, true) => "   ",
        });
    }
    guides
}
