//! Continuations side by side.

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
    style::{Modifier, Style},
    text::{Line, Span},
};

use super::rows::{put, row};
use crate::{
    tui::{
        line_wrap,
        model::{GenerationColumn, GenerationPanel, ScreenModel},
        text,
        theme::ColorRole,
    },
    types::{ceil_char_boundary, truncate_bytes},
};

/// Minimum screen columns of a continuation; fewer are shown at once below that.
const MIN_COLUMN_WIDTH: u16 = 26;
/// Bytes at the end of a streaming continuation that are laid out.
const TAIL_BYTES: usize = 6_000;

/// Areas of the visible continuations, with their indexes.
fn areas(generation_panel: &GenerationPanel, area: Rect) -> Vec<(usize, Rect)> {
    let count = generation_panel.columns.len().max(1);
    let fits = usize::from((area.width / MIN_COLUMN_WIDTH).max(1)).min(count);
    let first = (generation_panel.selected + 1).saturating_sub(fits).min(count - fits);
    let column_width = area.width / u16::try_from(fits).unwrap_or(1);
    (0..fits)
        .map(|at| {
            let x = area.x + column_width * u16::try_from(at).unwrap_or(0);
            let width = if at + 1 == fits { area.right() - x } else { column_width };
            (first + at, Rect { x, width, ..area })
        })
        .collect()
}

/// Returns the continuation at a screen position.
pub(crate) fn column_at(model: &ScreenModel, at: Position) -> Option<usize> {
    let generation_panel = model.generation_panel.as_ref()?;
    let layout = model.areas();
    let area = layout.tree.union(layout.text).union(layout.rule);
    let found = areas(generation_panel, below(area)).into_iter().find(|(_, column)| column.contains(at))?;
    Some(found.0).filter(|index| *index < generation_panel.columns.len())
}

/// Returns the area below the line with the continued node.
fn below(area: Rect) -> Rect {
    Rect { y: area.y + area.height.min(2), height: area.height.saturating_sub(2), ..area }
}

pub(super) fn draw(model: &ScreenModel, area: Rect, buffer: &mut Buffer) {
    let Some(generation_panel) = &model.generation_panel else { return };
    let palette = model.palette;
    let before = model
        .screen
        .as_ref()
        .and_then(|screen| screen.path.iter().rev().find(|node| node.id == generation_panel.job.from));
    if let Some(node) = before {
        let max_columns = usize::from(area.width).saturating_sub(4);
        let words = last_line(&node.content, max_columns);
        put(&Line::styled(format!(" {words}"), palette.style(ColorRole::Dim)), area, buffer);
    }
    let area = below(area);
    if generation_panel.columns.is_empty() {
        put(&Line::styled(" waiting for the model…", palette.style(ColorRole::Dim)), area, buffer);
        return;
    }
    let full_width = area.width;
    for (index, area) in areas(generation_panel, area) {
        if let Some(column) = generation_panel.columns.get(index) {
            draw_column(model, generation_panel, (index, column), (area, full_width), buffer);
        }
    }
}

fn draw_column(
    model: &ScreenModel,
    generation_panel: &GenerationPanel,
    (index, column): (usize, &GenerationColumn),
    (area, full_width): (Rect, u16),
    buffer: &mut Buffer,
) {
    let palette = model.palette;
    let is_selected = index == generation_panel.selected;
    let has_several = generation_panel.columns.len() > 1;
    let (sign, role) = match column {
        GenerationColumn { error: Some(_), .. } => ("✗", ColorRole::Error),
        GenerationColumn { ended: true, .. } => ("✓", ColorRole::Good),
        _ => ("…", ColorRole::Dim),
    };
    let name_style = if is_selected && has_several {
        palette.style(ColorRole::Accent).add_modifier(Modifier::BOLD)
    } else {
        palette.style(ColorRole::Dim)
    };
    let mut head =
        vec![Span::styled(if is_selected && has_several { "▸" } else { " " }, palette.style(ColorRole::Accent))];
    if has_several {
        let count = generation_panel.columns.len();
        let all = usize::from(full_width / MIN_COLUMN_WIDTH).max(1) >= count;
        let number = if all { format!("{} ", index + 1) } else { format!("{}/{count} ", index + 1) };
        head.push(Span::styled(number, name_style));
    }
    head.push(Span::styled(text::truncate(&column.model, usize::from(area.width).saturating_sub(8)), name_style));
    head.push(Span::styled(format!(" {sign}"), palette.style(role)));
    put(&Line::from(head), area, buffer);
    let rule =
        if is_selected && has_several { palette.style(ColorRole::Accent) } else { palette.style(ColorRole::Guide) };
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    put(&Line::styled("─".repeat(usize::from(inner.width)), rule), row(inner, 1), buffer);
    let body = Rect { y: inner.y + 2, height: inner.height.saturating_sub(2), ..inner };
    if area.height < 3 {
        return;
    }
    let mut lines = layout_lines(column, usize::from(body.width), palette.style(ColorRole::ModelWords));
    if let Some(error) = &column.error {
        lines.extend(line_wrap::wrap(
            &[(error.clone(), palette.style(ColorRole::Error))],
            usize::from(body.width),
            &[],
            &[],
        ));
    }
    let rows = usize::from(body.height);
    // Streaming text shows its end; finished text its beginning.
    let max_first = lines.len().saturating_sub(rows);
    let first = if column.ended { generation_panel.scroll.min(max_first) } else { max_first };
    for (at, line) in lines.iter().skip(first).take(rows).enumerate() {
        put(line, row(body, at), buffer);
    }
}

fn layout_lines(column: &GenerationColumn, width: usize, style: Style) -> Vec<Line<'static>> {
    let from = if column.ended { 0 } else { column.text.len().saturating_sub(TAIL_BYTES) };
    let text = &column.text[ceil_char_boundary(&column.text, from)..];
    let words = truncate_bytes(text, 8 * TAIL_BYTES).trim_start_matches('\n').to_owned();
    line_wrap::wrap(&[(words, style)], width, &[], &[])
}

/// Returns the end of a text on one line.
fn last_line(words: &str, max_columns: usize) -> String {
    let from = ceil_char_boundary(words, words.len().saturating_sub(max_columns * 4));
    let end = words[from..].split_whitespace().collect::<Vec<_>>().join(" ");
    if text::width(&end) <= max_columns && from == 0 {
        return text::truncate(&end, max_columns);
    }
    let mut words_shown: Vec<&str> = Vec::new();
    let mut used = 1;
    for word in end.split(' ').rev() {
        used += text::width(word) + 1;
        if used > max_columns {
            break;
        }
        words_shown.push(word);
    }
    words_shown.reverse();
    text::truncate(&format!("… {}", words_shown.join(" ")), max_columns)
}
