//! Keys of a text being written.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{command, does, errands, growing};
use crate::tui::{
    message::{Deed, Effect, Purpose, Then},
    model::{MOST, Mode, Model, Typing},
};

/// Begins to write, or goes on with what was left for the same purpose.
pub(super) fn begin(model: &mut Model, purpose: Purpose, text: impl Into<String>) -> Vec<Effect> {
    let left = model.left.take_if(|left| left.purpose == purpose);
    model.mode = Mode::Type(left.unwrap_or_else(|| Typing::new(purpose, text)));
    Vec::new()
}

/// Whether enter ends the text; else it is a line feed, and ctrl-s ends it.
fn one_line(purpose: &Purpose) -> bool {
    !matches!(purpose, Purpose::Edit(_) | Purpose::Merge(_))
}

pub(super) fn key(model: &mut Model, key: &KeyEvent) -> Vec<Effect> {
    let Mode::Type(typing) = &mut model.mode else { return Vec::new() };
    let held = key.modifiers & (KeyModifiers::ALT | KeyModifiers::SHIFT | KeyModifiers::CONTROL);
    let done = match key.code {
        KeyCode::Enter if held.is_empty() => one_line(&typing.purpose),
        KeyCode::Char('s') if held == KeyModifiers::CONTROL => true,
        KeyCode::Esc => return left(model),
        KeyCode::Char('g') if held == KeyModifiers::CONTROL => {
            let typing = std::mem::replace(&mut model.mode, Mode::Walk);
            let Mode::Type(typing) = typing else { return Vec::new() };
            return vec![Effect::Editor(typing.editor.text().to_owned(), typing.purpose)];
        }
        _ => false,
    };
    if done {
        return finish(model);
    }
    if matches!(typing.purpose, Purpose::Split(_)) {
        // The text is not changed here, only the place in it.
        if matches!(
            key.code,
            KeyCode::Left | KeyCode::Right | KeyCode::Up | KeyCode::Down | KeyCode::Home | KeyCode::End
        ) {
            typing.editor.key(key);
        }
        return Vec::new();
    }
    if key.code == KeyCode::Enter && held.is_empty() {
        typing.editor.insert("\n");
        return Vec::new();
    }
    let remembers = matches!(typing.purpose, Purpose::Say | Purpose::Command);
    if remembers && matches!(key.code, KeyCode::Up | KeyCode::Down) && held.is_empty() {
        let up = key.code == KeyCode::Up;
        if typing.editor.at_edge(up) && (up || typing.history.is_some()) {
            recall(model, up);
            return Vec::new();
        }
    }
    typing.editor.key(key);
    Vec::new()
}

/// Shows an older or newer line of the history.
fn recall(model: &mut Model, older: bool) {
    let Mode::Type(typing) = &mut model.mode else { return };
    let commands = typing.purpose == Purpose::Command;
    let lines: Vec<&String> = model.history.iter().rev().filter(|line| line.starts_with(':') == commands).collect();
    let next = match (typing.history, older) {
        (None, true) => Some(0),
        (Some(at), true) => Some(at + 1),
        (Some(at), false) => at.checked_sub(1),
        (None, false) => None,
    };
    match next {
        None => {
            typing.history = None;
            let stash = std::mem::take(&mut typing.stash);
            typing.editor.set(stash);
        }
        Some(at) => {
            let Some(line) = lines.get(at) else { return };
            if typing.history.is_none() {
                typing.stash = typing.editor.text().to_owned();
            }
            typing.history = Some(at);
            typing.editor.set(line.strip_prefix(':').unwrap_or(line));
        }
    }
}

/// Stops writing. What was written for the next node is kept in the history, what was written elsewhere until it is gone on
/// with.
pub(super) fn left(model: &mut Model) -> Vec<Effect> {
    if let Mode::Type(typing) = std::mem::take(&mut model.mode) {
        let text = typing.editor.text();
        match typing.purpose {
            _ if text.trim().is_empty() || text == typing.began => {}
            Purpose::Say => {
                model.record(text);
                model.say("not said; ↑ in the input brings it back");
            }
            Purpose::Command | Purpose::Count | Purpose::Split(_) => {}
            _ => {
                model.left = Some(typing);
                model.say("not saved; the same key here goes on with it");
            }
        }
    }
    model.look()
}

fn finish(model: &mut Model) -> Vec<Effect> {
    let Mode::Type(typing) = std::mem::take(&mut model.mode) else { return Vec::new() };
    let (text, at) = (typing.editor.text().to_owned(), typing.editor.at());
    let mut effects = model.look();
    effects.extend(written(model, typing.purpose, text, at));
    effects
}

/// What a text comes to that was written to its end.
pub(super) fn written(model: &mut Model, purpose: Purpose, text: String, at: usize) -> Vec<Effect> {
    if text.trim().is_empty() && !matches!(purpose, Purpose::Label(_)) {
        return Vec::new();
    }
    match purpose {
        Purpose::Say => {
            model.record(&text);
            if crate::arrow::is_command(&text) {
                return errands::begin(model, text);
            }
            let after = model.at;
            does(Deed::Say(after, text))
        }
        Purpose::Command => {
            model.record(&format!(":{text}"));
            command::run(model, &text)
        }
        Purpose::Count => match text.trim().parse() {
            Ok(count @ 1..=MOST) => {
                model.count = count;
                model.say(format!("{count} at a time"));
                Vec::new()
            }
            _ => {
                model.fail(format!("a number from 1 to {MOST}"));
                Vec::new()
            }
        },
        Purpose::Annotate(node) => does(Deed::Annotate(node, text)),
        Purpose::Label(node) => does(Deed::Bookmark(node, Some(text.trim().to_owned()))),
        Purpose::Edit(node) => {
            let same = model.node().is_some_and(|now| now.id == node && now.content == text);
            if same {
                model.say("nothing was changed");
                return Vec::new();
            }
            does(Deed::Edit(node, text))
        }
        Purpose::Merge(nodes) => {
            model.marked.clear();
            does(Deed::Merge(nodes, text))
        }
        Purpose::Split(node) => {
            let characters = text[..at].chars().count();
            does(Deed::Split(node, characters))
        }
    }
}

/// What choosing comes to that is more than going somewhere.
pub(super) fn taken(model: &mut Model, then: Then) -> Vec<Effect> {
    match then {
        Then::Go(tree, node) if tree == model.tree => model.go(node),
        Then::Go(tree, node) => does(Deed::Enter(tree, Some(node))),
        Then::Tree(tree) if tree == model.tree => model.look(),
        Then::Tree(tree) => does(Deed::Enter(tree, None)),
        Then::Resume(session) => does(Deed::Resume(session)),
        Then::Restore(node) => does(Deed::Restore(node)),
        Then::Document(id) => vec![Effect::Ask(crate::tui::message::Question::Document(id))],
        Then::Model(reference) => {
            growing::toggle(model, &reference);
            Vec::new()
        }
        Then::Part(Some(node)) => model.go(node),
        Then::Part(None) => Vec::new(),
    }
}
