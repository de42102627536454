//! The mouse: a click goes to a line, the wheel scrolls what it is over.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::{list_keys, tree_keys};
use crate::tui::{
    message::ScreenEffect,
    model::{ScreenMode, ScreenModel},
    screen_query::LookStep,
    view,
};

/// Lines that the wheel goes at once.
const WHEEL: usize = 3;

pub(super) fn happened(model: &mut ScreenModel, event: MouseEvent) -> Vec<ScreenEffect> {
    let at = Position::new(event.column, event.row);
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => clicked(model, at),
        MouseEventKind::ScrollUp | MouseEventKind::ScrollDown => {
            rolled(model, at, event.kind == MouseEventKind::ScrollUp)
        }
        _ => Vec::new(),
    }
}

fn clicked(model: &mut ScreenModel, at: Position) -> Vec<ScreenEffect> {
    let areas = model.areas();
    match &mut model.mode {
        ScreenMode::Walk if areas.tree.contains(at) => {
            let line = usize::from(at.y - areas.tree.y);
            let wanted = view::first_row(model).map(|first| first + line);
            let node = wanted.zip(model.sight.as_ref()).and_then(|(row, sight)| sight.window.rows.get(row)?.node());
            match node.map(|node| node.id) {
                Some(node) if node == model.at => tree_keys::act(model, crate::tui::keys::KeyAction::Fold),
                Some(node) => model.go(node),
                None => Vec::new(),
            }
        }
        ScreenMode::Choose(list) => {
            let inner = view::list_area(list, Rect::new(0, 0, model.width, model.height));
            let line = at.y.checked_sub(inner.y + 2).map(usize::from);
            if let Some(line) = line.filter(|_| inner.contains(at)) {
                let first = view::first_item(list.at, inner);
                if first + line < list.shown().len() {
                    list.at = first + line;
                    return list_keys::key(model, &crossterm::event::KeyCode::Enter.into());
                }
            }
            Vec::new()
        }
        ScreenMode::Write(prose) if areas.text.contains(at) => {
            let place = view::written_at(prose, areas.text, at);
            prose.editor.place(place);
            Vec::new()
        }
        ScreenMode::Grow => {
            let index = view::column_at(model, at);
            if let (Some(growth), Some(index)) = (&mut model.growth, index) {
                growth.at = index;
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn rolled(model: &mut ScreenModel, at: Position, up: bool) -> Vec<ScreenEffect> {
    let areas = model.areas();
    match &mut model.mode {
        ScreenMode::Walk if areas.tree.contains(at) => model.step(LookStep::Line(!up)),
        ScreenMode::Walk => tree_keys::scroll(model, WHEEL, up),
        ScreenMode::Write(prose) => {
            prose.editor.vertical(up, WHEEL);
            Vec::new()
        }
        ScreenMode::Choose(list) => {
            let last = list.shown().len().saturating_sub(1);
            list.at = if up { list.at.saturating_sub(1) } else { (list.at + 1).min(last) };
            Vec::new()
        }
        ScreenMode::Read(page) => {
            let most = page.lines.len().saturating_sub(usize::from(model.height).saturating_sub(4));
            page.scroll = if up { page.scroll.saturating_sub(WHEEL) } else { (page.scroll + WHEEL).min(most) };
            Vec::new()
        }
        _ => Vec::new(),
    }
}
