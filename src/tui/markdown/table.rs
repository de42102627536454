//! Table rendering: columns shrink to the available width and cells wrap.

use pulldown_cmark::Alignment;
use ratatui::{
    style::{Modifier, Style},
    text::{Line, Span},
};

use super::MarkdownPage;
use crate::tui::{
    line_wrap::{Piece, wrap},
    text,
    theme::ColorRole,
};

/// Table under construction: rows of cells of pieces.
pub(super) struct MarkdownTable {
    pub(super) alignments: Vec<Alignment>,
    pub(super) rows: Vec<Vec<Vec<Piece>>>,
}

impl MarkdownPage<'_> {
    pub(super) fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        let columns = table.rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns == 0 {
            return;
        }
        let words = |cell: &Vec<Piece>| cell.iter().map(|(text, _)| text::width(text)).sum::<usize>();
        let max_columns = self.inner().saturating_sub(3 * (columns - 1));
        let mut widths: Vec<usize> = (0..columns)
            .map(|at| table.rows.iter().filter_map(|row| row.get(at)).map(words).max().unwrap_or(0))
            .collect();
        // Shrinks the widest column until all fit.
        while widths.iter().sum::<usize>() > max_columns {
            let Some(widest) = widths.iter_mut().max() else { break };
            if *widest <= 3 {
                break;
            }
            *widest -= 1;
        }
        let bar = self.palette.style(ColorRole::Guide);
        for (index, row) in table.rows.iter().enumerate() {
            self.table_row(row, &widths, &table.alignments, index == 0);
            if index == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                let mut spans: Vec<Span<'static>> = self.prefix_spans();
                spans.push(Span::styled(rule.join("─┼─"), bar));
                self.lines.push(Line::from(spans));
            }
        }
        self.gap = true;
    }

    fn prefix_spans(&self) -> Vec<Span<'static>> {
        self.prefix.iter().map(|(text, style)| Span::styled(text.clone(), *style)).collect()
    }

    /// Renders a row; cells that do not fit wrap in their column.
    fn table_row(&mut self, row: &[Vec<Piece>], widths: &[usize], alignments: &[Alignment], head: bool) {
        let bar = self.palette.style(ColorRole::Guide);
        let bold = if head { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
        let cells: Vec<Vec<Line<'static>>> = widths
            .iter()
            .enumerate()
            .map(|(at, width)| wrap(row.get(at).map_or(&[][..], Vec::as_slice), *width, &[], &[]))
            .collect();
        for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            let mut spans = self.prefix_spans();
            for (at, width) in widths.iter().enumerate() {
                if at > 0 {
                    spans.push(Span::styled(" │ ", bar));
                }
                let cell = cells[at].get(line).cloned().unwrap_or_default();
                let free = width.saturating_sub(text::line_width(&cell));
                let left = match alignments.get(at) {
                    Some(Alignment::Right) => free,
                    Some(Alignment::Center) => free / 2,
                    _ => 0,
                };
                spans.push(Span::raw(" ".repeat(left)));
                spans.extend(cell.spans.into_iter().map(|span| span.patch_style(bold)));
                spans.push(Span::raw(" ".repeat(free - left)));
            }
            self.lines.push(Line::from(spans));
        }
    }
}
