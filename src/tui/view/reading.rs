//! The text pane: the path to the cursor, its node at the end.

use ratatui::{buffer::Buffer, layout::Rect};

use super::{put, row};
use crate::tui::model::Model;

/// Lines above the first that is shown and below the last, when nothing is scrolled.
fn extent(model: &Model) -> (usize, usize, usize) {
    let rows = usize::from(model.areas().text.height);
    let Some(sight) = &model.sight else { return (0, 0, rows) };
    let all: usize = sight.blocks.iter().map(|block| block.lines.len()).sum();
    let last = sight.blocks.last().map_or(0, |block| block.lines.len());
    // The end is shown; but where the node at the cursor is longer than the pane, its beginning is.
    let talk = sight.blocks.len() > 1 || sight.path.len() == 1;
    let top = if talk && last > rows { all - last } else { all.saturating_sub(rows) };
    (top, all, rows)
}

/// How far the text can be scrolled, up and down.
pub(crate) fn scrollable(model: &Model) -> (isize, isize) {
    let (top, all, rows) = extent(model);
    let below = all.saturating_sub(top + rows);
    (isize::try_from(top).unwrap_or(isize::MAX), isize::try_from(below).unwrap_or(isize::MAX))
}

pub(super) fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let Some(sight) = &model.sight else { return };
    let (top, ..) = extent(model);
    let first = top.saturating_add_signed(model.scroll.saturating_neg());
    let inner = Rect { x: area.x + area.width.min(1), width: area.width.saturating_sub(2), ..area };
    let lines = sight.blocks.iter().flat_map(|block| &block.lines).skip(first).take(usize::from(area.height));
    for (at, line) in lines.enumerate() {
        put(line, row(inner, at), buffer);
    }
}
