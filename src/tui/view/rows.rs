//! Rows of an area: their rectangles, and the drawing of a line into one.

use ratatui::{buffer::Buffer, layout::Rect, text::Line};

/// Draws a line at the top of an area, truncated to its width.
pub(super) fn put(line: &Line<'_>, area: Rect, buffer: &mut Buffer) {
    if area.width > 0 && area.height > 0 && buffer.area().contains(area.as_position()) {
        buffer.set_line(area.x, area.y, line, area.width);
    }
}

/// Returns a row of an area, counted from its top.
pub(super) fn row(area: Rect, at: usize) -> Rect {
    let at = u16::try_from(at).unwrap_or(u16::MAX);
    Rect { y: area.y.saturating_add(at), height: 1, ..area }
}
