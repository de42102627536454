//! The two bottom lines: input or notice, and status.

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
    style::Style,
    text::{Line, Span},
    widgets::{Clear, Widget as _},
};

use super::rows::{put, row};
use crate::{
    exec::counts::thousands,
    tools::Tool,
    tui::{
        keys::KeyAction,
        line_wrap,
        message::InputPurpose,
        model::{ScreenMode, ScreenModel, TextInput},
        text,
        theme::ColorRole,
        tour,
    },
};

/// Draws the input, else a notice, the tour or key hints. Returns the cursor.
pub(super) fn input(model: &ScreenModel, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let palette = model.palette;
    if let ScreenMode::Input(text_input) = &model.mode {
        let cursor = draw_input(model, text_input, area, buffer);
        // The input covers the row of notices, and the reason why its text was not saved stands there.
        if let Some(notice) = model.notice.as_ref().filter(|notice| notice.role == ColorRole::Error) {
            let top = Rect { y: buffer.area().top(), ..area };
            draw_notice(&notice.text, palette.style(notice.role), top, buffer);
        }
        return Some(cursor);
    }
    if let Some(panel) = &model.file_panel {
        let line = text::truncate(&panel.line(), usize::from(area.width).saturating_sub(2));
        put(&Line::styled(format!(" {line}"), palette.style(ColorRole::Accent)), area, buffer);
        return None;
    }
    if let Some(notice) = &model.notice {
        draw_notice(&notice.text, palette.style(notice.role), area, buffer);
        return None;
    }
    let line = if let Some(message) = tour::line(model).filter(|_| !matches!(model.mode, ScreenMode::Generating)) {
        Line::from(vec![
            Span::styled(" tour ", palette.style(ColorRole::Accent)),
            Span::raw(text::truncate(&message, usize::from(area.width).saturating_sub(8))),
        ])
    } else {
        hints(model, usize::from(area.width))
    };
    let line = match &model.mode {
        ScreenMode::Buffer(_) => {
            let keys = " ctrl-s saves · esc leaves · alt-enter generates · alt-, alt-. other versions";
            Line::styled(text::truncate(keys, usize::from(area.width)), palette.style(ColorRole::Dim))
        }
        _ => line,
    };
    put(&line, area, buffer);
    None
}

/// Rows of a notice, at most.
const MAX_NOTICE_ROWS: u16 = 4;

/// Draws a notice in as many rows as needed, over the rows above: the layout does not move.
fn draw_notice(message: &str, style: Style, area: Rect, buffer: &mut Buffer) {
    let max_columns = usize::from(area.width).saturating_sub(2).max(1);
    let mut lines = line_wrap::wrap(&[(message.to_owned(), style)], max_columns, &[], &[]);
    let max_rows = MAX_NOTICE_ROWS.min(area.bottom().saturating_sub(buffer.area().top() + 1)).max(1);
    if lines.len() > usize::from(max_rows) {
        lines.truncate(usize::from(max_rows) - 1);
        lines.push(Line::styled("…", style));
    }
    let height = u16::try_from(lines.len()).unwrap_or(max_rows);
    let over = Rect { y: area.bottom().saturating_sub(height), height, ..area }.intersection(*buffer.area());
    Clear.render(over, buffer);
    for (at, line) in lines.iter().enumerate() {
        put(line, row(Rect { x: over.x + 1, width: over.width.saturating_sub(1), ..over }, at), buffer);
    }
}

/// Hints for useful keys, as many as fit.
fn hints(model: &ScreenModel, width: usize) -> Line<'static> {
    let actions: &[(KeyAction, &str)] = match &model.mode {
        ScreenMode::Generating
            if model.generation_panel.as_ref().is_some_and(|generation_panel| generation_panel.running) =>
        {
            &[
                (KeyAction::Cancel, "stops all"),
                (KeyAction::Mark, "stops this one"),
                (KeyAction::Layout, "walk meanwhile"),
            ]
        }
        ScreenMode::Generating => &[
            (KeyAction::Generate, "takes it"),
            (KeyAction::Prune, "takes it, prunes the rest"),
            (KeyAction::Cancel, "keeps all"),
        ],
        _ => &[
            (KeyAction::Generate, "generate"),
            (KeyAction::Say, "write"),
            (KeyAction::Answer, "answer"),
            (KeyAction::Edit, "edit"),
            (KeyAction::Search, "search"),
            (KeyAction::Undo, "undo"),
            (KeyAction::Help, "all keys"),
        ],
    };
    let mut spans = vec![Span::raw(" ")];
    let mut used = 1;
    for (action, what) in actions {
        let key = crate::tui::keys::key_label(model.keys.hint(*action)).to_owned();
        let columns = text::width(&key) + what.len() + 3;
        if used + columns > width {
            break;
        }
        used += columns;
        spans.push(Span::styled(key, model.palette.style(ColorRole::Id)));
        spans.push(Span::styled(format!(" {what}  "), model.palette.style(ColorRole::Dim)));
    }
    Line::from(spans)
}

fn draw_input(model: &ScreenModel, text_input: &TextInput, area: Rect, buffer: &mut Buffer) -> Position {
    let palette = model.palette;
    let InputLabels { prompt, placeholder, .. } = input_labels(&text_input.purpose);
    let left = u16::try_from(text::width(prompt) + 1).unwrap_or(3);
    let inner = Rect { x: area.x + left.min(area.width), width: area.width.saturating_sub(left + 1), ..area };
    let rows = usize::from(area.height).max(1);
    let seen = text_input.editor.rows(rows - 1, rows - 1);
    let (line, column) = seen.cursor;
    // The cursor is in the last row unless the text ends below.
    let first = seen.rows.len().saturating_sub(rows).min(line);
    put(&Line::styled(format!(" {prompt}"), palette.style(ColorRole::Accent)), area, buffer);
    for (at, bytes) in seen.rows.iter().skip(first).take(rows).enumerate() {
        put(&Line::raw(text_input.editor.line(bytes)), row(inner, at), buffer);
    }
    if text_input.editor.text().is_empty() {
        let placeholder = text::truncate(placeholder, usize::from(inner.width));
        put(&Line::styled(placeholder, palette.style(ColorRole::Dim)), inner, buffer);
    }
    let column = u16::try_from(column).unwrap_or(u16::MAX).min(inner.width);
    Position::new(inner.x.saturating_add(column), area.y.saturating_add(u16::try_from(line - first).unwrap_or(0)))
}

/// Words of the screen for an input.
struct InputLabels {
    /// Sign before the text.
    prompt: &'static str,
    /// Placeholder of an empty input.
    placeholder: &'static str,
    /// Labels of the status line.
    status: &'static [&'static str],
}

fn input_labels(purpose: &InputPurpose) -> InputLabels {
    let (prompt, placeholder, status): (_, _, &'static [&'static str]) = match purpose {
        InputPurpose::Append => {
            ("› ", "a message, or → and a command · enter sends it · alt-enter starts a new line", &["message"])
        }
        InputPurpose::Command => (": ", "chat, new, title, model, go … an unknown word lists all", &["command"]),
        InputPurpose::Count => ("# ", "how many continuations, 1 to 9", &["how many"]),
        InputPurpose::Change(_, command) => match command.tool() {
            Tool::Annotate => ("✎ ", "a note on this node", &["a note"]),
            Tool::Bookmark => ("★ ", "a label for the bookmark, or nothing", &["a bookmark"]),
            Tool::Merge => ("⋈ ", "the text of the merging node · ctrl-s saves", &["merging", "ctrl-s saves"]),
            Tool::Split => ("✂ ", "", &["splitting", "arrows move", "enter cuts"]),
            _ => ("≡ ", "new text · ctrl-s saves", &["editing", "ctrl-s saves", "ctrl-g your editor"]),
        },
    };
    InputLabels { prompt, placeholder, status }
}

/// Draws the status line: cursor, cost and state.
pub(super) fn status(model: &ScreenModel, area: Rect, buffer: &mut Buffer) {
    let palette = model.palette;
    let dim = palette.style(ColorRole::Dim);
    let width = usize::from(area.width);
    let mut left = vec![Span::raw(" ")];
    if let Some(screen) = &model.screen {
        left.push(Span::styled(screen.node.local.to_string(), palette.style(ColorRole::Id)));
        left.push(Span::styled(format!(" · depth {}", thousands(screen.node.depth.into())), dim));
        if screen.branch.1 > 1 {
            left.push(Span::styled(format!(" · branch {}/{}", screen.branch.0, screen.branch.1), dim));
        }
        if model.hoist.is_some() {
            left.push(Span::styled(" · hoisted", palette.style(ColorRole::Mark)));
        }
    }
    let left = Line::from(left);
    let right = fit_parts(status_parts(model), width.saturating_sub(text::line_width(&left) + 2), dim);
    let taken = u16::try_from(text::line_width(&right) + 1).unwrap_or(area.width);
    put(&left, area, buffer);
    let x = area.right().saturating_sub(taken);
    put(&right, Rect { x, width: area.right() - x, ..area }, buffer);
}

/// Parts of the right side, each with its rank; low ranks stay if space is short.
fn status_parts(model: &ScreenModel) -> Vec<(u8, Span<'static>)> {
    let palette = model.palette;
    let (dim, accent) = (palette.style(ColorRole::Dim), palette.style(ColorRole::Accent));
    let mode = match &model.mode {
        ScreenMode::Input(text_input) => input_labels(&text_input.purpose).status,
        ScreenMode::Generating
            if model.generation_panel.as_ref().is_some_and(|generation_panel| generation_panel.running) =>
        {
            &["generating"]
        }
        ScreenMode::Generating => &["choose one"],
        ScreenMode::Buffer(_) => &["writing"],
        _ => &[],
    };
    let mut right: Vec<(u8, Span<'static>)> =
        mode.iter().zip(1..).map(|(part, rank)| (rank, Span::styled(*part, accent))).collect();
    if let Some(generation_panel) =
        model.generation_panel.as_ref().filter(|_| !matches!(model.mode, ScreenMode::Generating))
    {
        let message = if generation_panel.running { "writing…" } else { "ready to choose" };
        right.push((1, Span::styled(message, accent)));
    }
    if !model.approvals.is_empty() {
        right.push((1, Span::styled("an agent asks; esc, then answer", palette.style(ColorRole::Mark))));
    }
    if !model.command_jobs.is_empty() && !matches!(model.mode, ScreenMode::Generating) {
        let key = model.keys.hint(KeyAction::Cancel);
        right.push((1, Span::styled(format!("→ running, {key} stops"), accent)));
    }
    if let Some(responder) = &model.responder {
        right.push((
            5,
            Span::styled(format!("with {}", text::truncate(&responder.name, 16)), palette.style(ColorRole::Model)),
        ));
    }
    right.push((6, Span::styled(model_label(model), dim)));
    if let Some(cost) = model.cost.as_ref().filter(|cost| cost.node == model.cursor) {
        let money = cost.money.as_ref().map(|money| format!(" · {money}")).unwrap_or_default();
        let over = cost.tokens > cost.budget;
        let style = palette.style(if over { ColorRole::Error } else { ColorRole::Dim });
        right.push((4, Span::styled(format!("{} tokens{money}", thousands(cost.tokens.into())), style)));
    }
    let saved = match &model.mode {
        _ if model.pending_writes > 0 => ("saving…", ColorRole::Mark),
        ScreenMode::Buffer(buffer) if buffer.is_changed() => ("not saved", ColorRole::Mark),
        _ => ("saved", ColorRole::Good),
    };
    right.push((0, Span::styled(saved.0, palette.style(saved.1))));
    right
}

/// Joins as many parts as fit, in their order, with dots between them.
fn fit_parts(pieces: Vec<(u8, Span<'static>)>, mut max_columns: usize, dots: Style) -> Line<'static> {
    let mut ranked: Vec<(u8, usize)> = pieces.iter().zip(0..).map(|((rank, _), at)| (*rank, at)).collect();
    ranked.sort_unstable();
    let mut fits = vec![false; pieces.len()];
    for (number, (_, at)) in ranked.into_iter().enumerate() {
        let columns = text::width(&pieces[at].1.content) + if number == 0 { 0 } else { 3 };
        if columns > max_columns {
            break;
        }
        max_columns -= columns;
        fits[at] = true;
    }
    let mut shown: Vec<Span<'static>> = Vec::new();
    for (_, (_, span)) in fits.iter().zip(pieces).filter(|(fits, _)| **fits) {
        if !shown.is_empty() {
            shown.push(Span::styled(" · ", dots));
        }
        shown.push(span);
    }
    Line::from(shown)
}

/// Names the selected models and the number of continuations.
fn model_label(model: &ScreenModel) -> String {
    let names = match model.models.as_slice() {
        [] => model.default_model.as_ref().map(|name| format!("{} ", text::truncate(name, 24))).unwrap_or_default(),
        [one] => format!("{} ", text::truncate(one, 24)),
        many => format!("{} models ", many.len()),
    };
    format!("{names}×{}", model.count)
}
