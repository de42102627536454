//! What a message comes to: the model changes, and effects come out. Nothing here reads, writes or waits.
//!
//! What a key is for is decided in one place, by what is open: a list, a page, a question, a text being written,
//! continuations that grow, and else the tree. What is not known to be open yet is waited for (`ahead.rs`).

mod choosing;
mod command;
mod errands;
mod growing;
mod heard;
mod mouse;
mod typing;
mod walking;
mod writing;

pub(crate) use walking::is_step;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::{
    ahead::Typed,
    message::{Deed, Effect, Message},
    model::{Mode, Model},
};

/// Takes a message in.
pub(crate) fn update(model: &mut Model, message: Message) -> Vec<Effect> {
    let effects = taken_in(model, message);
    // What is written is laid out for the screen as it is now.
    model.fit();
    effects
}

fn taken_in(model: &mut Model, message: Message) -> Vec<Effect> {
    let mut effects = match message {
        Message::Key(key) if key.kind == KeyEventKind::Release => return Vec::new(),
        // Whoever interrupts does not wait for what they interrupt.
        Message::Key(key) if is_interrupt(&key) => {
            model.ahead.forget();
            interrupted(model)
        }
        Message::Key(key) => typed(model, Typed::Key(key)),
        Message::Paste(text) => typed(model, Typed::Paste(text)),
        // What is on the screen may go before what was typed is done.
        Message::Mouse(_) if model.ahead.is_busy() => Vec::new(),
        Message::Mouse(event) => mouse::happened(model, event),
        Message::Resize(width, height) => {
            (model.width, model.height) = (width, height);
            model.look()
        }
        Message::Report(report) => heard::heard(model, report.0),
    };
    model.expects(&effects);
    while let Some(next) = model.next_typed() {
        let more = act_on(model, next);
        model.expects(&more);
        effects.extend(more);
    }
    // An agent's question is not answered by what was typed before it was asked.
    if !model.ahead.is_busy() {
        effects.extend(choosing::put(model));
    }
    effects
}

fn typed(model: &mut Model, typed: Typed) -> Vec<Effect> {
    match model.typed(typed) {
        Some(now) => act_on(model, now),
        None => Vec::new(),
    }
}

fn act_on(model: &mut Model, typed: Typed) -> Vec<Effect> {
    model.fit();
    match typed {
        Typed::Key(key) => pressed(model, &key),
        Typed::Paste(text) => pasted(model, &text),
        Typed::Then(action) => walking::act(model, action),
    }
}

/// Has something done.
fn does(deed: Deed) -> Vec<Effect> {
    vec![Effect::Do(deed)]
}

fn is_interrupt(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

fn pressed(model: &mut Model, key: &KeyEvent) -> Vec<Effect> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    // These are the same wherever one is.
    match key.code {
        KeyCode::Char('z') if control => return vec![Effect::Suspend],
        KeyCode::Char('l') if control => return vec![Effect::Redraw],
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
        Mode::Type(_) => return typing::left(model),
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
