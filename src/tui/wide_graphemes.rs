//! Terminals do not agree on how wide several characters are that make one picture (a family, a flag): some draw each of
//! them, over what stands beside it. A row with such a picture, or one that had some, is written whole whenever something in
//! it changes: the cells alone that changed would leave the rest of what was drawn over them.

use std::collections::HashMap;

use ratatui::{
    buffer::{Buffer, Cell},
    layout::Position,
};
use unicode_width::UnicodeWidthStr as _;

/// The rows with pictures that the terminal shows.
#[derive(Debug, Default)]
pub(crate) struct WideGraphemeRows(HashMap<u16, Vec<Cell>>);

impl WideGraphemeRows {
    /// Takes a frame in that was drawn; returns the rows that are to be written whole.
    pub(crate) fn update(&mut self, frame: &Buffer) -> Vec<(u16, Vec<Cell>)> {
        let width = usize::from(frame.area().width).max(1);
        let mut whole = Vec::new();
        for (row, y) in frame.content.chunks(width).zip(frame.area().top()..) {
            let has = row.iter().any(is_wide_grapheme);
            let same = self.0.get(&y).map(|before| before == row);
            if !has && same.is_none() || same == Some(true) {
                continue;
            }
            whole.push((y, row.to_vec()));
            if has { drop(self.0.insert(y, row.to_vec())) } else { drop(self.0.remove(&y)) }
        }
        whole
    }
}

/// Whether a cell has several characters that not every terminal makes one of.
fn is_wide_grapheme(cell: &Cell) -> bool {
    let joins = |c| matches!(c, '\u{200d}' | '\u{fe0f}' | '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f3fb}'..='\u{1f3ff}');
    cell.symbol().len() > 4 && cell.symbol().chars().any(joins)
}

/// A row's cells with their places, without those that a wide one covers.
pub(crate) fn cells(y: u16, row: &[Cell]) -> impl Iterator<Item = (Position, &Cell)> {
    let mut covered = 0;
    (0..).zip(row).filter_map(move |(x, cell)| {
        if covered > 0 {
            covered -= 1;
            return None;
        }
        covered = cell.symbol().width().saturating_sub(1);
        Some((Position::new(x, y), cell))
    })
}
