//! Mouse: clicks select, the wheel scrolls the pane under the pointer.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::{list_keys, tree_keys};
use crate::tui::{
    message::ScreenEffect,
    model::{ScreenMode, ScreenModel},
    screen_query::NavigationStep,
    view,
};

/// Lines per step of the wheel.
const WHEEL_LINES: usize = 3;

pub(super) fn handle(model: &mut ScreenModel, event: MouseEvent) -> Vec<ScreenEffect> {
    let at = Position::new(event.column, event.row);
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => click(model, at),
        MouseEventKind::ScrollUp | MouseEventKind::ScrollDown => {
            scroll(model, at, event.kind == MouseEventKind::ScrollUp)
        }
        _ => Vec::new(),
    }
}

fn click(model: &mut ScreenModel, at: Position) -> Vec<ScreenEffect> {
    let areas = model.areas();
    match &mut model.mode {
        ScreenMode::Tree if areas.tree.contains(at) => {
            let line = usize::from(at.y - areas.tree.y);
            let row = view::first_row(model).map(|first| first + line);
            let node = row.zip(model.screen.as_ref()).and_then(|(row, screen)| screen.window.rows.get(row)?.node());
            match node.map(|node| node.id) {
                Some(node) if node == model.cursor => tree_keys::act(model, crate::tui::keys::KeyAction::Fold),
                Some(node) => model.go_to(node),
                None => Vec::new(),
            }
        }
        ScreenMode::List(list) => {
            let inner = view::list_area(list, Rect::new(0, 0, model.width, model.height));
            let line = at.y.checked_sub(inner.y + 2).map(usize::from);
            if let Some(line) = line.filter(|_| inner.contains(at)) {
                let first = view::first_item(list, inner);
                if first + line < list.visible_items().len() {
                    list.selected = first + line;
                    return list_keys::key(model, &crossterm::event::KeyCode::Enter.into());
                }
            }
            Vec::new()
        }
        ScreenMode::Buffer(buffer) if areas.text.contains(at) => {
            let place = view::byte_at(buffer, areas.text, at);
            buffer.editor.set_cursor(place);
            Vec::new()
        }
        ScreenMode::Generating => {
            let index = view::column_at(model, at);
            if let (Some(generation_panel), Some(index)) = (&mut model.generation_panel, index) {
                generation_panel.selected = index;
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn scroll(model: &mut ScreenModel, at: Position, up: bool) -> Vec<ScreenEffect> {
    let areas = model.areas();
    match &mut model.mode {
        ScreenMode::Tree if areas.tree.contains(at) => model.step(NavigationStep::Line(!up)),
        ScreenMode::Tree => tree_keys::scroll(model, WHEEL_LINES, up),
        ScreenMode::Buffer(buffer) => {
            buffer.editor.vertical(up, WHEEL_LINES);
            Vec::new()
        }
        ScreenMode::List(list) => {
            let last = list.visible_items().len().saturating_sub(1);
            list.selected = if up { list.selected.saturating_sub(1) } else { (list.selected + 1).min(last) };
            Vec::new()
        }
        ScreenMode::Page(page) => {
            let most = page.lines.len().saturating_sub(usize::from(model.height).saturating_sub(4));
            page.scroll =
                if up { page.scroll.saturating_sub(WHEEL_LINES) } else { (page.scroll + WHEEL_LINES).min(most) };
            Vec::new()
        }
        _ => Vec::new(),
    }
}
