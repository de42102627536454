//! Keys of the prose of a buffer tree: the caret is in the text, and what is changed becomes versions when it is left or
//! saved.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::does;
use crate::tui::{
    buffer_editor::BufferEditor,
    keys::KeyAction,
    message::{ScreenEffect, WriteRequest},
    model::{ScreenMode, ScreenModel},
};

/// Opens the text of the path for writing.
pub(super) fn begin(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let Some(sight) = &model.sight else { return Vec::new() };
    model.mode = ScreenMode::Write(BufferEditor::open(&sight.parts));
    model.scroll = 0;
    Vec::new()
}

pub(super) fn key(model: &mut ScreenModel, key: &KeyEvent) -> Vec<ScreenEffect> {
    let page = usize::from(model.areas().text.height).saturating_sub(2).max(1);
    let ScreenMode::Write(prose) = &mut model.mode else { return Vec::new() };
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Esc => leave(model),
        KeyCode::Char('s') if control => save(model),
        // The caret's place in its next or its previous wording.
        KeyCode::Char(c @ ('.' | ',' | '>' | '<')) if alt => {
            if prose.is_changed() {
                model.say("ctrl-s saves first; then alt-. and alt-, go through the versions");
                return Vec::new();
            }
            let Some(node) = prose.here() else { return Vec::new() };
            let at = model.at;
            prose.turning = true;
            does(WriteRequest::Turn(at, node, matches!(c, '.' | '>')))
        }
        // What was written goes on by a model's words, where the path ends.
        KeyCode::Enter if alt => {
            let effects = leave(model);
            model.ahead.then(KeyAction::Generate);
            effects
        }
        KeyCode::Enter => {
            prose.edit(|editor| editor.insert("\n"));
            Vec::new()
        }
        KeyCode::PageUp | KeyCode::PageDown => {
            prose.editor.vertical(key.code == KeyCode::PageUp, page);
            Vec::new()
        }
        _ => {
            prose.edit(|editor| editor.key(key));
            Vec::new()
        }
    }
}

/// Leaves the text, with what was changed saved.
pub(super) fn leave(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let mut effects = save(model);
    model.mode = ScreenMode::Walk;
    effects.extend(model.look());
    effects
}

/// Saves what was changed; the caret stays.
fn save(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let at = model.at;
    let ScreenMode::Write(prose) = &mut model.mode else { return Vec::new() };
    let written = prose.written();
    if written.edits.is_empty() && written.more.is_none() {
        return Vec::new();
    }
    prose.saving = Some(prose.editor.text().to_owned());
    does(WriteRequest::Write(at, written))
}

/// The text was read anew: it is shown if nothing is lost by that.
pub(super) fn seen(model: &mut ScreenModel) {
    let Some(sight) = &model.sight else { return };
    if let ScreenMode::Write(prose) = &mut model.mode
        && model.unsaved == 0
        && (!prose.is_changed() || prose.saving.as_deref() == Some(prose.editor.text()))
    {
        let at = prose.editor.at();
        *prose = BufferEditor::open(&sight.parts);
        prose.editor.place(at);
    }
}
