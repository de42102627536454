//! Update: applies a message to the model and returns effects. It does not read, write or wait.
//!
//! The screen's mode decides in one place which handler gets a key. Input waits until the mode it is meant for is open
//! (`type_ahead.rs`).

mod background;
mod buffer_keys;
mod colon_line;
mod command_jobs;
mod generation;
mod input;
mod input_keys;
mod list_keys;
mod mouse;
mod tree_keys;

pub(crate) use tree_keys::step_of;

use crossterm::event::KeyEventKind;

use self::input::{handle_input, interrupt, is_escape, is_interrupt, queue_input};
use super::{
    message::{ScreenEffect, ScreenMessage, WriteRequest},
    model::ScreenModel,
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

fn write(request: WriteRequest) -> Vec<ScreenEffect> {
    vec![ScreenEffect::Write(request)]
}
