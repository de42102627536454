//! Update: applies a message to the model and returns effects. It does not read, write or wait.
//!
//! The screen's mode decides in one place which handler gets a key. Input waits until the mode it is meant for is open
//! (`type_ahead.rs`).

mod background;
mod buffer_keys;
mod command;
mod command_jobs;
mod generation;
mod input_keys;
mod list_keys;
mod mouse;
mod tree_keys;

pub(crate) use tree_keys::step_of;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::{
    message::{ScreenEffect, ScreenMessage, WriteRequest},
    model::{ScreenMode, ScreenModel},
    type_ahead::QueuedInput,
};
use crate::{arrow::Command, id::NodeId};

/// Returns the request to exclude a node from contexts, or to include it.
fn exclusion(node: NodeId, excluded: bool) -> WriteRequest {
    WriteRequest::change(node, |node| if excluded { Command::Exclude { node } } else { Command::Include { node } })
}

/// Applies a message and handles queued input that no longer has to wait.
pub(crate) fn update(model: &mut ScreenModel, message: ScreenMessage) -> Vec<ScreenEffect> {
    let effects = handle(model, message);
    // Inputs are laid out for the current size.
    model.fit_inputs();
    effects
}

fn handle(model: &mut ScreenModel, message: ScreenMessage) -> Vec<ScreenEffect> {
    let mut effects = match message {
        ScreenMessage::Key(key) if key.kind == KeyEventKind::Release => return Vec::new(),
        ScreenMessage::Key(key) if model.file_panel.is_some() && (is_interrupt(&key) || is_escape(model, &key)) => {
            model.type_ahead.clear();
            vec![ScreenEffect::CancelFile]
        }
        // An interrupt does not wait for the work it interrupts.
        ScreenMessage::Key(key) if is_interrupt(&key) => {
            model.type_ahead.clear();
            interrupt(model)
        }
        ScreenMessage::Key(key) => queue_input(model, QueuedInput::Key(key)),
        ScreenMessage::Paste(text) => queue_input(model, QueuedInput::Paste(text)),
        // The screen may change before queued input is handled.
        ScreenMessage::Mouse(_) if model.type_ahead.is_busy() => Vec::new(),
        ScreenMessage::Mouse(event) => mouse::handle(model, event),
        ScreenMessage::Resize(width, height) => {
            (model.width, model.height) = (width, height);
            model.load_screen()
        }
        ScreenMessage::Report(report) => background::handle(model, report.0),
    };
    model.track(&effects);
    while let Some(next) = model.next_input() {
        let more = handle_input(model, next);
        model.track(&more);
        effects.extend(more);
    }
    // Input typed before a dialog opened must not answer it.
    if !model.type_ahead.is_busy() {
        effects.extend(list_keys::show_next_approval(model));
    }
    effects
}

fn queue_input(model: &mut ScreenModel, input: QueuedInput) -> Vec<ScreenEffect> {
    match model.queue_input(input) {
        Some(now) => handle_input(model, now),
        None => Vec::new(),
    }
}

fn handle_input(model: &mut ScreenModel, input: QueuedInput) -> Vec<ScreenEffect> {
    model.fit_inputs();
    match input {
        QueuedInput::Key(key) => handle_key(model, &key),
        QueuedInput::Paste(text) => paste(model, &text),
        QueuedInput::Action(action) => tree_keys::act(model, action),
    }
}

fn write(request: WriteRequest) -> Vec<ScreenEffect> {
    vec![ScreenEffect::Write(request)]
}

fn is_interrupt(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// True for the key that cancels work while no input, list or page is open.
fn is_escape(model: &ScreenModel, key: &KeyEvent) -> bool {
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
fn interrupt(model: &mut ScreenModel) -> Vec<ScreenEffect> {
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
            let effects = input_keys::open(model, super::message::InputPurpose::Append, "");
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
