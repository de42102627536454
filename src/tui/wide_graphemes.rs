//! Redrawing of rows with ambiguous graphemes. Terminals disagree on the width of emoji sequences (families, flags) and
//! may draw over their neighbours. A changed row that contains or contained one is rewritten whole, since changed cells
//! alone would leave remains.

use std::collections::HashMap;

use ratatui::{
    buffer::{Buffer, Cell},
    layout::Position,
};
use unicode_width::UnicodeWidthStr as _;

/// Displayed rows that contain such graphemes.
#[derive(Debug, Default)]
pub(crate) struct WideGraphemeRows(HashMap<u16, Vec<Cell>>);

impl WideGraphemeRows {
    /// Records a drawn frame. Returns the rows to rewrite.
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

/// Returns whether a cell holds a sequence that some terminals do not combine.
fn is_wide_grapheme(cell: &Cell) -> bool {
    let joins = |c| matches!(c, '\u{200d}' | '\u{fe0f}' | '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f3fb}'..='\u{1f3ff}');
    cell.symbol().len() > 4 && cell.symbol().chars().any(joins)
}

/// Cells of a row with their positions, without those covered by a wide one.
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
