//! Text pane: the path to the cursor, its node at the end.

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};

use super::rows::{put, row};
use crate::tui::{
    buffer_editor::BufferEditor,
    editor_wrap::{self, VisualRows},
    model::ScreenModel,
};

/// Returns the first visible line without scrolling, the number of lines and the rows of the pane.
fn extent(model: &ScreenModel) -> (usize, usize, usize) {
    let rows = usize::from(model.areas().text.height);
    let Some(screen) = &model.screen else { return (0, 0, rows) };
    let all: usize = screen.blocks.iter().map(|block| block.lines.len()).sum();
    let last = screen.blocks.last().map_or(0, |block| block.lines.len());
    // Shows the end; but a cursor node longer than the pane shows its beginning.
    let talk = screen.blocks.len() > 1 || screen.path.len() == 1;
    let top = if talk && last > rows { all - last } else { all.saturating_sub(rows) };
    (top, all, rows)
}

/// Returns the lines that the text can be scrolled up and down.
pub(crate) fn scrollable(model: &ScreenModel) -> (isize, isize) {
    let (top, all, rows) = extent(model);
    let below = all.saturating_sub(top + rows);
    (isize::try_from(top).unwrap_or(isize::MAX), isize::try_from(below).unwrap_or(isize::MAX))
}

pub(super) fn draw(model: &ScreenModel, area: Rect, buffer: &mut Buffer) {
    let Some(screen) = &model.screen else { return };
    let (top, ..) = extent(model);
    let first = top.saturating_add_signed(model.scroll.saturating_neg());
    let inner = Rect { x: area.x + area.width.min(1), width: area.width.saturating_sub(2), ..area };
    let lines = screen.blocks.iter().flat_map(|block| &block.lines).skip(first).take(usize::from(area.height));
    for (at, line) in lines.enumerate() {
        put(line, row(inner, at), buffer);
    }
}

/// Returns the rows of the edited text, and the first visible one.
fn page(buffer: &BufferEditor, area: Rect) -> (VisualRows, usize) {
    let height = usize::from(area.height).max(1);
    let seen = buffer.editor.rows(height, height);
    // The cursor stays in the lower part, so that earlier text is visible.
    let first = (seen.cursor.0 + 1).saturating_sub(height * 3 / 4).min(seen.rows.len().saturating_sub(height));
    (seen, first)
}

/// Draws the edited text; returns the cursor.
pub(super) fn draw_buffer(model: &ScreenModel, text: &BufferEditor, area: Rect, buffer: &mut Buffer) -> Position {
    let inner = Rect { x: area.x + area.width.min(1), width: area.width.saturating_sub(2), ..area };
    let (seen, first) = page(text, area);
    for (at, bytes) in seen.rows.iter().skip(first).take(usize::from(inner.height)).enumerate() {
        put(&text.line(bytes, model.palette), row(inner, at), buffer);
    }
    let (line, column) = seen.cursor;
    let column = u16::try_from(column).unwrap_or(u16::MAX).min(inner.width);
    Position::new(inner.x.saturating_add(column), inner.y.saturating_add(u16::try_from(line - first).unwrap_or(0)))
}

/// Returns the byte position of the edited text at a screen position.
pub(crate) fn byte_at(buffer: &BufferEditor, area: Rect, at: Position) -> usize {
    let (seen, first) = page(buffer, area);
    let row = (first + usize::from(at.y.saturating_sub(area.y))).min(seen.rows.len() - 1);
    let column = usize::from(at.x.saturating_sub(area.x + 1));
    editor_wrap::byte_at_column(buffer.editor.text(), &seen.rows[row], column)
}
