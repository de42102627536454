//! Keys of a buffer tree's text editor. Changes become versions when the user saves or leaves.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::write;
use crate::tui::{
    buffer_editor::BufferEditor,
    keys::KeyAction,
    message::{ScreenEffect, WriteRequest},
    model::{ScreenMode, ScreenModel, SubmittedText},
    screen_query::ScreenData,
};

/// Opens the text of the path for editing.
pub(super) fn open(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let Some(screen) = &model.screen else { return Vec::new() };
    // What could not be saved is opened where it was written.
    let unsaved = model.unsaved_prose.take_if(|(at, _)| *at == model.cursor).map(|(_, buffer)| buffer);
    let cut = screen.first_open_node().map(|node| node.local.to_string());
    model.mode = ScreenMode::Buffer(unsaved.unwrap_or_else(|| editor_of(screen)));
    model.scroll = 0;
    if let Some(first) = cut {
        model.notify(format!("the text opens at {first}; the text before it is too long to be edited with it"));
    }
    Vec::new()
}

fn editor_of(screen: &ScreenData) -> BufferEditor {
    BufferEditor::open(&screen.parts, screen.current == screen.node.id)
}

pub(super) fn key(model: &mut ScreenModel, key: &KeyEvent) -> Vec<ScreenEffect> {
    let page = usize::from(model.areas().text.height).saturating_sub(2).max(1);
    let ScreenMode::Buffer(buffer) = &mut model.mode else { return Vec::new() };
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Esc => leave(model),
        KeyCode::Char('s') if control => save(model),
        // Selects another version of the cursor's node.
        KeyCode::Char(c @ ('.' | ',' | '>' | '<')) if alt => {
            if buffer.is_changed() {
                model.notify("ctrl-s saves first; then alt-. and alt-, go through the versions");
                return Vec::new();
            }
            let Some(node) = buffer.node_at_cursor() else { return Vec::new() };
            let at = model.cursor;
            buffer.awaits_version = true;
            write(WriteRequest::CycleVersion(at, node, matches!(c, '.' | '>')))
        }
        // Saves and generates continuations at the end of the path.
        KeyCode::Enter if alt => {
            let effects = leave(model);
            if model.unsaved_prose.as_ref().is_none_or(|(at, _)| *at != model.cursor) {
                model.type_ahead.push_action(KeyAction::Generate);
            }
            effects
        }
        KeyCode::Enter => {
            buffer.edit(|editor| editor.insert("\n"));
            Vec::new()
        }
        KeyCode::PageUp | KeyCode::PageDown => {
            buffer.editor.vertical(key.code == KeyCode::PageUp, page);
            Vec::new()
        }
        _ => {
            buffer.edit(|editor| editor.key(key));
            Vec::new()
        }
    }
}

/// Saves changes and closes the editor, which opens again if that fails. A text whose save has failed before, or that has
/// no change to save, is kept.
pub(super) fn leave(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let is_refused = matches!(&model.mode, ScreenMode::Buffer(buffer)
        if buffer.is_changed() && buffer.refused_text.as_deref() == Some(buffer.editor.text()));
    let mut effects = if is_refused { Vec::new() } else { save(model) };
    let ScreenMode::Buffer(buffer) = std::mem::take(&mut model.mode) else { return Vec::new() };
    if buffer.saving_text.is_some() {
        // Its save is the last write: the one of these effects, or one that ctrl-s has begun.
        model.submitted = Some((model.pending_writes + effects.len(), SubmittedText::Buffer(buffer)));
    } else if buffer.is_changed() {
        model.unsaved_prose = Some((model.cursor, buffer));
        model.notify("not saved; e opens the text again here");
    }
    effects.extend(model.load_screen());
    effects
}

/// Keeps a text whose save failed, until it is saved or left.
pub(super) fn refuse(buffer: &mut BufferEditor) {
    if let Some(text) = buffer.saving_text.take() {
        buffer.refused_text = Some(text);
    }
}

/// Saves changes; the cursor stays.
fn save(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let at = model.cursor;
    let ScreenMode::Buffer(buffer) = &mut model.mode else { return Vec::new() };
    let edit = buffer.changes();
    if buffer.saving_text.is_some() || edit.edits.is_empty() && edit.appended.is_none() {
        return Vec::new();
    }
    buffer.saving_text = Some(buffer.editor.text().to_owned());
    write(WriteRequest::SaveBuffer(at, edit))
}

/// Shows newly loaded text unless that would lose changes. If the last node has another current version, moves to it.
pub(super) fn refresh(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let Some(screen) = &model.screen else { return Vec::new() };
    let ScreenMode::Buffer(buffer) = &mut model.mode else { return Vec::new() };
    let is_kept = buffer.is_changed() && buffer.saving_text.as_deref() != Some(buffer.editor.text());
    if model.pending_writes > 0 || is_kept {
        return Vec::new();
    }
    let (was_current, before) = (buffer.is_current, std::mem::replace(buffer, editor_of(screen)));
    // Earlier nodes that no longer fit are cut off.
    let cut = before.editor.text().strip_suffix(buffer.editor.text()).map_or(0, str::len);
    buffer.editor.set_cursor(before.editor.cursor().saturating_sub(cut));
    if was_current && !buffer.is_current {
        buffer.awaits_version = true;
        let current = screen.current;
        return model.go_to(current);
    }
    Vec::new()
}
