//! Popups over the panes: lists, pages, dialogs.

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
    style::{Modifier, Style},
    text::{Line, Span},
};

use super::rows::{put, row};
use crate::tui::{
    line_wrap,
    model::{ConfirmPanel, ListKind, ListPanel, PagePanel, ScreenModel},
    text,
    theme::ColorRole,
};

/// Columns of a popup, at most.
const MAX_POPUP_COLUMNS: u16 = 100;

/// Returns the columns of a popup on a screen of this width.
pub(crate) fn width(screen: u16) -> u16 {
    if screen < 60 { screen } else { (screen - 4).min(MAX_POPUP_COLUMNS) }
}

/// Returns the area of a list. Its height fits all items, whatever the filter; a search uses the full height.
pub(crate) fn list_area(list: &ListPanel, screen: Rect) -> Rect {
    let full_area = area(screen);
    let needed = match list.kind {
        ListKind::Search(_) => full_area.height,
        _ => u16::try_from(list.items.len()).unwrap_or(u16::MAX).saturating_add(3 + detail_rows(list, full_area)),
    };
    Rect { height: needed.clamp(full_area.height.min(10), full_area.height), ..full_area }
}

/// Returns the largest area of a popup, its frame included.
fn area(screen: Rect) -> Rect {
    let width = width(screen.width);
    let height = screen.height.saturating_sub(2).max(screen.height.min(3));
    let (x, y) = ((screen.width - width) / 2, (screen.height - height) / 2);
    Rect { x, y, width, height }
}

/// Rows below the hits of a search, for the neighbours of the selected one.
const SEARCH_DETAIL_ROWS: u16 = 2;

/// Returns the rows below the items of a list in an area; a small area has none.
fn detail_rows(list: &ListPanel, area: Rect) -> u16 {
    let rows = match list.kind {
        ListKind::Search(_) => SEARCH_DETAIL_ROWS,
        _ => u16::from(list.items.iter().any(|item| !item.detail.is_empty())),
    };
    if area.height > 8 { rows } else { 0 }
}

/// Returns the first visible item of a list.
pub(crate) fn first_item(list: &ListPanel, area: Rect) -> usize {
    let rows = usize::from(area.height.saturating_sub(4 + detail_rows(list, area))).max(1);
    (list.selected + 1).saturating_sub(rows)
}

/// Clears an area and draws a frame with a title; returns the inside.
fn frame(model: &ScreenModel, area: Rect, title: &str, buffer: &mut Buffer) -> Rect {
    let style = model.palette.style(ColorRole::Guide);
    let area = area.intersection(*buffer.area());
    for position in area.positions() {
        buffer[position].reset();
    }
    if area.width < 4 || area.height < 3 {
        return Rect { width: 0, height: 0, ..area };
    }
    let across = "─".repeat(usize::from(area.width) - 2);
    put(&Line::styled(format!("╭{across}╮"), style), row(area, 0), buffer);
    for at in 1..usize::from(area.height) - 1 {
        put(&Line::styled("│", style), row(area, at), buffer);
        put(&Line::styled("│", style), Rect { x: area.right() - 1, width: 1, ..row(area, at) }, buffer);
    }
    put(&Line::styled(format!("╰{across}╯"), style), row(area, usize::from(area.height) - 1), buffer);
    let title = format!(" {} ", text::truncate(title, usize::from(area.width).saturating_sub(6)));
    let bold = model.palette.style(ColorRole::Accent).add_modifier(Modifier::BOLD);
    put(&Line::styled(title, bold), Rect { x: area.x + 2, width: area.width - 3, ..row(area, 0) }, buffer);
    Rect { x: area.x + 2, y: area.y + 1, width: area.width - 4, height: area.height - 2 }
}

/// Draws a list with its filter; returns the cursor.
pub(super) fn list(model: &ScreenModel, list: &ListPanel, screen: Rect, buffer: &mut Buffer) -> Position {
    let palette = model.palette;
    let full_area = list_area(list, screen);
    let title = match list.kind {
        ListKind::Search(scope) => format!("search {} · tab: elsewhere", scope.name()),
        _ => list.title.clone(),
    };
    let inner = frame(model, full_area, &title, buffer);
    let width = usize::from(inner.width);
    let context = list.kind == ListKind::Context;
    let typed = text::truncate(list.filter.text(), width.saturating_sub(3));
    let line = if context {
        Line::styled("P pins · X excludes · enter goes", palette.style(ColorRole::Dim))
    } else {
        Line::from(vec![Span::styled("› ", palette.style(ColorRole::Accent)), Span::raw(typed)])
    };
    put(&line, inner, buffer);
    let shown = list.visible_items();
    let details = detail_rows(list, full_area);
    let body = Rect { y: inner.y + inner.height.min(1), height: inner.height.saturating_sub(1 + details), ..inner };
    if shown.is_empty() {
        let message = match (list.awaits.is_some(), list.kind, list.filter.text().is_empty()) {
            (true, ..) => "…",
            (false, ListKind::Search(_), true) => "type to search",
            (_, _, false) if !matches!(list.kind, ListKind::Search(_) | ListKind::Models) => "no match",
            _ => list.empty,
        };
        put(&Line::styled(message, palette.style(ColorRole::Dim)), body, buffer);
    }
    let first = first_item(list, full_area);
    for (at, (index, item)) in shown.iter().enumerate().skip(first).take(usize::from(body.height)).enumerate() {
        let place = row(body, at);
        put(&item.line, place, buffer);
        if index == list.selected {
            let bar = Rect { x: place.x.saturating_sub(1), width: place.width + 2, ..place };
            buffer.set_style(bar.intersection(*buffer.area()), palette.style(ColorRole::Cursor));
        }
    }
    let detail = shown.get(list.selected).map_or(&[][..], |item| &item.detail);
    for (at, line) in detail.iter().take(usize::from(details)).enumerate() {
        put(line, row(inner, usize::from(inner.height - details) + at), buffer);
    }
    let before = &list.filter.text()[..list.filter.cursor()];
    let column = if context { 0 } else { (2 + text::width(before)).min(width) };
    Position::new(inner.x + u16::try_from(column).unwrap_or(0), inner.y)
}

/// Draws a page with its scroll percentage.
pub(super) fn page(model: &ScreenModel, page: &PagePanel, screen: Rect, buffer: &mut Buffer) {
    let full_area = area(screen);
    // A short page covers only the rows that it needs.
    let needed =
        u16::try_from(page.lines.len() + 2).unwrap_or(u16::MAX).clamp(full_area.height.min(6), full_area.height);
    let inner = frame(model, Rect { height: needed, ..full_area }, &page.title, buffer);
    let rows = usize::from(inner.height);
    let first = page.scroll.min(page.lines.len().saturating_sub(rows));
    for (at, line) in page.lines.iter().skip(first).take(rows).enumerate() {
        put(line, row(inner, at), buffer);
    }
    if page.lines.len() > rows && inner.width > 12 {
        let percent = 100 * (first + rows).min(page.lines.len()) / page.lines.len();
        let message = Line::styled(format!(" {percent}% "), model.palette.style(ColorRole::Dim));
        let place = Rect { x: inner.right().saturating_sub(6), y: inner.bottom(), width: 6, height: 1 };
        put(&message, place, buffer);
    }
}

/// Draws a dialog in the center, with its details.
pub(super) fn confirm(model: &ScreenModel, confirm: &ConfirmPanel, screen: Rect, buffer: &mut Buffer) {
    let max_width = if confirm.detail.is_empty() { 64 } else { MAX_POPUP_COLUMNS };
    let width = screen.width.saturating_sub(4).clamp(screen.width.min(20), max_width);
    let lines =
        line_wrap::wrap(&[(confirm.text.clone(), Style::new())], usize::from(width).saturating_sub(4), &[], &[]);
    let gap = usize::from(!confirm.detail.is_empty());
    let height = u16::try_from(lines.len() + gap + confirm.detail.len() + 4).unwrap_or(u16::MAX).min(screen.height);
    let area = Rect { x: (screen.width - width) / 2, y: (screen.height - height) / 2, width, height };
    let title = if confirm.no.is_some() { "allow it?" } else { "?" };
    let inner = frame(model, area, title, buffer);
    let rows = usize::from(inner.height).saturating_sub(2);
    let shown = confirm.detail.iter().skip(confirm.scroll);
    let blank = Line::default();
    let all = lines.iter().chain(std::iter::repeat_n(&blank, gap)).chain(shown);
    for (at, line) in all.take(rows).enumerate() {
        put(line, row(inner, at), buffer);
    }
    let key = |text: &str| Span::styled(text.to_owned(), model.palette.style(ColorRole::Id));
    let dim = |text: &str| Span::styled(text.to_owned(), model.palette.style(ColorRole::Dim));
    let mut keys = vec![key("n"), dim(" no   ")];
    if confirm.is_read(screen.width, screen.height) {
        keys.splice(0..0, [key("y"), dim(" yes   ")]);
        if confirm.always.is_some() {
            keys.extend([key("A"), dim(" always   ")]);
        }
        if lines.len() + gap + confirm.detail.len() > rows {
            keys.extend([key("↓ ↑"), dim(" all of it")]);
        }
    } else {
        keys.extend([key("↓ ↑"), dim(" read to the end to answer yes")]);
    }
    put(&Line::from(keys), row(inner, usize::from(inner.height).saturating_sub(1)), buffer);
}
