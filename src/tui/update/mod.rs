//! What a message comes to: the model changes, and effects come out. Nothing here reads, writes or waits.
//!
//! What a key is for is decided in one place, by what is open: a list, a page, a question, a text being written,
//! continuations that grow, and else the tree.

mod choosing;
mod command;
mod errands;
mod growing;
mod heard;
mod mouse;
mod typing;
mod walking;
mod writing;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::{
    message::{Effect, Message},
    model::{Mode, Model},
};

/// Takes a message in.
pub(crate) fn update(model: &mut Model, message: Message) -> Vec<Effect> {
    match message {
        Message::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
        Message::Key(key) => {
            let mut effects = heard_key(model, key);
            effects.extend(choosing::put(model));
            effects
        }
        Message::Paste(text) => pasted(model, &text),
        Message::Mouse(event) => mouse::happened(model, event),
        Message::Resize(width, height) => {
            (model.width, model.height) = (width, height);
            model.look()
        }
        Message::Report(report) => {
            let mut effects = heard::heard(model, report.0);
            effects.extend(go_on(model));
            effects
        }
    }
}

/// Keys held at most; whoever types more to a screen that does not move has left it.
const HELD: usize = 256;

/// Does what a key says, or holds it: what changes something waits until it is known where the steps before it lead, or it
/// would change what is not on the screen.
fn heard_key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    if !model.held.is_empty() || waits(model, &key) {
        if model.held.len() < HELD {
            model.held.push_back(key);
        }
        return Vec::new();
    }
    pressed(model, &key)
}

fn waits(model: &Model, key: &KeyEvent) -> bool {
    let walks = model.keys.action(key).is_some_and(walking::is_step);
    matches!(model.mode, Mode::Walk) && model.is_stepping() && !walks
}

/// Does what the keys say that were held, as far as nothing is in their way again.
fn go_on(model: &mut Model) -> Vec<Effect> {
    let mut effects = Vec::new();
    while let Some(key) = model.held.front().copied().filter(|key| !waits(model, key)) {
        model.held.pop_front();
        effects.extend(pressed(model, &key));
    }
    effects
}

fn pressed(model: &mut Model, key: &KeyEvent) -> Vec<Effect> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    // These three are the same wherever one is.
    match key.code {
        KeyCode::Char('z') if control => return vec![Effect::Suspend],
        KeyCode::Char('l') if control => return vec![Effect::Redraw],
        KeyCode::Char('c') if control => return interrupted(model),
        _ => {}
    }
    match &model.mode {
        Mode::Walk => walking::key(model, key),
        Mode::Type(_) => typing::key(model, key),
        Mode::Choose(_) => choosing::key(model, key),
        Mode::Read(_) => choosing::read(model, key),
        Mode::Ask(_) => choosing::answer(model, key),
        Mode::Grow => growing::key(model, key),
        Mode::Write(_) => writing::key(model, key),
    }
}

/// Ctrl-C: what is open closes, what runs is stopped; where nothing is and nothing does, the program ends.
fn interrupted(model: &mut Model) -> Vec<Effect> {
    let running = model.growth.as_ref().filter(|growth| growth.running).map(|growth| growth.job.number);
    if let Some(job) = running {
        return vec![Effect::Cancel(job, None)];
    }
    if let Some(stop) = errands::stop(model) {
        return stop;
    }
    match model.mode {
        Mode::Walk => return walking::quit(model),
        Mode::Write(_) => return writing::leave(model),
        // An agent waits for an answer.
        Mode::Ask(_) => return choosing::answer(model, &KeyCode::Esc.into()),
        _ => {}
    }
    model.mode = Mode::Walk;
    model.look()
}

fn pasted(model: &mut Model, text: &str) -> Vec<Effect> {
    match &mut model.mode {
        Mode::Type(typing) => {
            typing.editor.insert(text);
            Vec::new()
        }
        Mode::Choose(list) => {
            list.filter.insert(&text.replace(['\n', '\r'], " "));
            list.at = 0;
            choosing::searched(model)
        }
        // Whoever pastes over the tree wants to say it, and can look at it first.
        Mode::Walk => {
            let effects = typing::begin(model, super::message::Purpose::Say, "");
            if let Mode::Type(typing) = &mut model.mode {
                typing.editor.insert(text);
            }
            effects
        }
        Mode::Write(prose) => {
            prose.edit(|editor| editor.insert(text));
            Vec::new()
        }
        _ => Vec::new(),
    }
}
