//! What a message comes to: the model changes, and effects come out. Nothing here reads, writes or waits.
//!
//! What a key is for is decided in one place, by what is open: a list, a page, a question, a text being written,
//! continuations that grow, and else the tree. What is not known to be open yet is waited for (`ahead.rs`).

mod background;
mod buffer_keys;
mod command;
mod command_jobs;
mod generation;
mod input_keys;
mod list_keys;
mod mouse;
mod tree_keys;

pub(crate) use tree_keys::is_step;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::{
    message::{ScreenEffect, ScreenMessage, WriteRequest},
    model::{ScreenMode, ScreenModel},
    type_ahead::QueuedInput,
};

/// Takes a message in.
pub(crate) fn update(model: &mut ScreenModel, message: ScreenMessage) -> Vec<ScreenEffect> {
    let effects = taken_in(model, message);
    // What is written is laid out for the screen as it is now.
    model.fit();
    effects
}

fn taken_in(model: &mut ScreenModel, message: ScreenMessage) -> Vec<ScreenEffect> {
    let mut effects = match message {
        ScreenMessage::Key(key) if key.kind == KeyEventKind::Release => return Vec::new(),
        // Whoever interrupts does not wait for what they interrupt.
        ScreenMessage::Key(key) if is_interrupt(&key) => {
            model.ahead.forget();
            interrupted(model)
        }
        ScreenMessage::Key(key) => typed(model, QueuedInput::Key(key)),
        ScreenMessage::Paste(text) => typed(model, QueuedInput::Paste(text)),
        // What is on the screen may go before what was typed is done.
        ScreenMessage::Mouse(_) if model.ahead.is_busy() => Vec::new(),
        ScreenMessage::Mouse(event) => mouse::happened(model, event),
        ScreenMessage::Resize(width, height) => {
            (model.width, model.height) = (width, height);
            model.look()
        }
        ScreenMessage::Report(report) => background::heard(model, report.0),
    };
    model.expects(&effects);
    while let Some(next) = model.next_typed() {
        let more = act_on(model, next);
        model.expects(&more);
        effects.extend(more);
    }
    // An agent's question is not answered by what was typed before it was asked.
    if !model.ahead.is_busy() {
        effects.extend(list_keys::put(model));
    }
    effects
}

fn typed(model: &mut ScreenModel, typed: QueuedInput) -> Vec<ScreenEffect> {
    match model.typed(typed) {
        Some(now) => act_on(model, now),
        None => Vec::new(),
    }
}

fn act_on(model: &mut ScreenModel, typed: QueuedInput) -> Vec<ScreenEffect> {
    model.fit();
    match typed {
        QueuedInput::Key(key) => pressed(model, &key),
        QueuedInput::Paste(text) => pasted(model, &text),
        QueuedInput::Then(action) => tree_keys::act(model, action),
    }
}

/// Has something done.
fn does(deed: WriteRequest) -> Vec<ScreenEffect> {
    vec![ScreenEffect::Do(deed)]
}

fn is_interrupt(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

fn pressed(model: &mut ScreenModel, key: &KeyEvent) -> Vec<ScreenEffect> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    // These are the same wherever one is.
    match key.code {
        KeyCode::Char('z') if control => return vec![ScreenEffect::Suspend],
        KeyCode::Char('l') if control => return vec![ScreenEffect::Redraw],
        _ => {}
    }
    match &model.mode {
        ScreenMode::Walk => tree_keys::key(model, key),
        ScreenMode::Type(_) => input_keys::key(model, key),
        ScreenMode::Choose(_) => list_keys::key(model, key),
        ScreenMode::Read(_) => list_keys::read(model, key),
        ScreenMode::Ask(_) => list_keys::answer(model, key),
        ScreenMode::Grow => generation::key(model, key),
        ScreenMode::Write(_) => buffer_keys::key(model, key),
    }
}

/// Ctrl-C: what is open closes, what runs is stopped; where nothing is and nothing does, the program ends.
fn interrupted(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let running = model.growth.as_ref().filter(|growth| growth.running).map(|growth| growth.job.number);
    if let Some(job) = running {
        return vec![ScreenEffect::Cancel(job, None)];
    }
    if let Some(stop) = command_jobs::stop(model) {
        return stop;
    }
    match model.mode {
        ScreenMode::Walk => return tree_keys::quit(model),
        ScreenMode::Write(_) => return buffer_keys::leave(model),
        ScreenMode::Type(_) => return input_keys::left(model),
        // An agent waits for an answer.
        ScreenMode::Ask(_) => return list_keys::answer(model, &KeyCode::Esc.into()),
        _ => {}
    }
    model.mode = ScreenMode::Walk;
    model.look()
}

fn pasted(model: &mut ScreenModel, text: &str) -> Vec<ScreenEffect> {
    match &mut model.mode {
        ScreenMode::Type(typing) => {
            typing.editor.insert(text);
            Vec::new()
        }
        ScreenMode::Choose(list) => {
            list.filter.insert(&text.replace(['\n', '\r'], " "));
            list.at = 0;
            list_keys::searched(model)
        }
        // Whoever pastes over the tree wants to say it, and can look at it first.
        ScreenMode::Walk => {
            let effects = input_keys::begin(model, super::message::InputPurpose::Say, "");
            if let ScreenMode::Type(typing) = &mut model.mode {
                typing.editor.insert(text);
            }
            effects
        }
        ScreenMode::Write(prose) => {
            prose.edit(|editor| editor.insert(text));
            Vec::new()
        }
        _ => Vec::new(),
    }
}
