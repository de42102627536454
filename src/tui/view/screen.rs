//! The whole screen: its title, its rule, and the panes and popups of the current mode.

use ratatui::{
    Frame,
    buffer::Buffer,
    layout::Rect,
    style::{Modifier, Style},
    text::{Line, Span},
};

use super::{columns, popup, rows::put, status, text_pane, tree};
use crate::exec::counts::count_grouped;
use crate::tui::{
    model::{ScreenMode, ScreenModel},
    text,
    theme::ColorRole,
};

/// Draws the whole screen.
pub(crate) fn draw(model: &ScreenModel, frame: &mut Frame<'_>) {
    // The terminal was resized, and the event has not been handled yet: the frame after it draws.
    if (frame.area().width, frame.area().height) != (model.width, model.height) {
        return;
    }
    let areas = model.areas();
    let buffer = frame.buffer_mut();
    title(model, areas.title, buffer);
    if matches!(model.mode, ScreenMode::Generating) {
        let whole = areas.tree.union(areas.text).union(areas.rule);
        columns::draw(model, whole, buffer);
    } else {
        tree::draw(model, areas.tree, buffer);
        rule(model, areas.rule, buffer);
        if !matches!(model.mode, ScreenMode::Buffer(_)) {
            text_pane::draw(model, areas.text, buffer);
        }
    }
    let mut cursor = status::input(model, areas.input, buffer);
    if let ScreenMode::Buffer(text) = &model.mode {
        cursor = Some(text_pane::draw_buffer(model, text, areas.text, buffer));
    }
    status::status(model, areas.status, buffer);
    let screen = *buffer.area();
    match &model.mode {
        ScreenMode::List(list) => cursor = Some(popup::list(model, list, screen, buffer)),
        ScreenMode::Page(page) => popup::page(model, page, screen, buffer),
        ScreenMode::Confirm(confirm) => popup::confirm(model, confirm, screen, buffer),
        _ => {}
    }
    if let Some(cursor) = cursor.filter(|cursor| screen.contains(*cursor)) {
        frame.set_cursor_position(cursor);
    }
}

fn rule(model: &ScreenModel, area: Rect, buffer: &mut Buffer) {
    let style = model.palette.style(ColorRole::Guide);
    let upright = area.width == 1;
    for position in area.positions() {
        buffer[position].set_symbol(if upright { "│" } else { "─" }).set_style(style);
    }
}

/// Draws the tree's title, its size and the present agents.
fn title(model: &ScreenModel, area: Rect, buffer: &mut Buffer) {
    let Some(screen) = &model.screen else { return };
    let palette = model.palette;
    let (dim, accent) = (palette.style(ColorRole::Dim), palette.style(ColorRole::Accent));
    let width = usize::from(area.width);
    let mut others: Vec<Span<'_>> = Vec::new();
    for other in screen.others.iter().take(3) {
        let doing = if other.generating { " writes" } else { "" };
        others.push(Span::styled(format!("● {}{doing}  ", text::truncate(&other.name, 16)), accent));
    }
    let others = Line::from(others);
    let taken = text::line_width(&others);
    let counts = &screen.tree.counts;
    let max_columns = width.saturating_sub(taken + 2);
    let title = text::truncate(&screen.tree.title, max_columns);
    let nodes = format!("  {}", count_grouped(counts.messages, "node"));
    let facts = format!("{nodes} · {}", count_grouped(counts.leaves, "branch"));
    // Facts that would shorten the title too much are omitted.
    let left = max_columns.saturating_sub(text::width(&title).min(max_columns.min(16)));
    let fits = [facts, nodes].into_iter().find(|facts| text::width(facts) <= left);
    let facts = fits.unwrap_or_default();
    let title = text::truncate(&title, max_columns.saturating_sub(text::width(&facts)));
    let line = Line::from(vec![
        Span::raw(" "),
        Span::styled(title, Style::new().add_modifier(Modifier::BOLD)),
        Span::styled(facts, dim),
    ]);
    put(&line, Rect { width: area.width.saturating_sub(u16::try_from(taken).unwrap_or(0)), ..area }, buffer);
    let right = area.right().saturating_sub(u16::try_from(taken).unwrap_or(0));
    put(&others, Rect { x: right, width: area.right() - right, ..area }, buffer);
}
