//! Keys and pastes: which handler gets one, and what an interrupt does.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{buffer_keys, command_jobs, generation, input_keys, list_keys, tree_keys};
use crate::tui::{
    message::{InputPurpose, ScreenEffect},
    model::{ScreenMode, ScreenModel},
    type_ahead::QueuedInput,
};

pub(super) fn queue_input(model: &mut ScreenModel, input: QueuedInput) -> Vec<ScreenEffect> {
    match model.queue_input(input) {
        Some(now) => handle_input(model, now),
        None => Vec::new(),
    }
}

pub(super) fn handle_input(model: &mut ScreenModel, input: QueuedInput) -> Vec<ScreenEffect> {
    model.fit_inputs();
    match input {
        QueuedInput::Key(key) => handle_key(model, &key),
        QueuedInput::Paste(text) => paste(model, &text),
        QueuedInput::Action(action) => tree_keys::act(model, action),
    }
}

pub(super) fn is_interrupt(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// True for the key that cancels work while no input, list or page is open.
pub(super) fn is_escape(model: &ScreenModel, key: &KeyEvent) -> bool {
    key.code == KeyCode::Esc && matches!(model.mode, ScreenMode::Tree)
}

fn handle_key(model: &mut ScreenModel, key: &KeyEvent) -> Vec<ScreenEffect> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    // Keys of every mode.
    match key.code {
        KeyCode::Char('z') if control => return vec![ScreenEffect::Suspend],
        KeyCode::Char('l') if control => return vec![ScreenEffect::Redraw],
        _ => {}
    }
    match &model.mode {
        ScreenMode::Tree => tree_keys::key(model, key),
        ScreenMode::Input(_) => input_keys::key(model, key),
        ScreenMode::List(_) => list_keys::key(model, key),
        ScreenMode::Page(_) => list_keys::page_key(model, key),
        ScreenMode::Confirm(_) => list_keys::confirm_key(model, key),
        ScreenMode::Generating => generation::key(model, key),
        ScreenMode::Buffer(_) => buffer_keys::key(model, key),
    }
}

/// Handles ctrl-c: quits if that is asked, cancels what runs, else closes what is open, else quits.
pub(super) fn interrupt(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    // The question whether to quit is answered by it.
    if matches!(&model.mode, ScreenMode::Confirm(confirm) if matches!(confirm.yes, ScreenEffect::Quit)) {
        return list_keys::confirm_key(model, &KeyCode::Char('y').into());
    }
    let running = model
        .generation_panel
        .as_ref()
        .filter(|generation_panel| generation_panel.running)
        .map(|generation_panel| generation_panel.job.number);
    if let Some(job) = running {
        return vec![ScreenEffect::Cancel(job, None)];
    }
    if let Some(stop) = command_jobs::cancel_latest(model) {
        return stop;
    }
    match model.mode {
        ScreenMode::Tree => return tree_keys::quit(model),
        ScreenMode::Buffer(_) => return buffer_keys::leave(model),
        ScreenMode::Input(_) => return input_keys::leave(model),
        // The agent gets a refusal.
        ScreenMode::Confirm(_) => return list_keys::confirm_key(model, &KeyCode::Esc.into()),
        _ => {}
    }
    model.mode = ScreenMode::Tree;
    model.load_screen()
}

fn paste(model: &mut ScreenModel, text: &str) -> Vec<ScreenEffect> {
    match &mut model.mode {
        ScreenMode::Input(text_input) => {
            text_input.editor.insert(text);
            Vec::new()
        }
        ScreenMode::List(list) => {
            list.filter.insert(&text.replace(['\n', '\r'], " "));
            list.selected = 0;
            list_keys::search(model)
        }
        // A paste over the tree opens an input, so that the user can check it.
        ScreenMode::Tree => {
            let effects = input_keys::open(model, InputPurpose::Append, "");
            if let ScreenMode::Input(text_input) = &mut model.mode {
                text_input.editor.insert(text);
            }
            effects
        }
        ScreenMode::Buffer(buffer) => {
            buffer.edit(|editor| editor.insert(text));
            Vec::new()
        }
        _ => Vec::new(),
    }
}
