//! Keys of a text being written.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{command, command_jobs, does, generation};
use crate::tui::{
    message::{InputPurpose, ItemAction, ScreenEffect, WriteRequest},
    model::{MOST, ScreenMode, ScreenModel, TextInput},
};

/// Begins to write, or goes on with what was left for the same purpose.
pub(super) fn begin(model: &mut ScreenModel, purpose: InputPurpose, text: impl Into<String>) -> Vec<ScreenEffect> {
    let left = model.left.take_if(|left| left.purpose == purpose);
    model.mode = ScreenMode::Type(left.unwrap_or_else(|| TextInput::new(purpose, text)));
    Vec::new()
}

/// Whether enter ends the text; else it is a line feed, and ctrl-s ends it.
fn one_line(purpose: &InputPurpose) -> bool {
    !matches!(purpose, InputPurpose::Edit(_) | InputPurpose::Merge(_))
}

pub(super) fn key(model: &mut ScreenModel, key: &KeyEvent) -> Vec<ScreenEffect> {
    let ScreenMode::Type(typing) = &mut model.mode else { return Vec::new() };
    let held = key.modifiers & (KeyModifiers::ALT | KeyModifiers::SHIFT | KeyModifiers::CONTROL);
    let done = match key.code {
        KeyCode::Enter if held.is_empty() => one_line(&typing.purpose),
        KeyCode::Char('s') if held == KeyModifiers::CONTROL => true,
        KeyCode::Esc => return left(model),
        KeyCode::Char('g') if held == KeyModifiers::CONTROL => {
            let typing = std::mem::replace(&mut model.mode, ScreenMode::Walk);
            let ScreenMode::Type(typing) = typing else { return Vec::new() };
            return vec![ScreenEffect::Editor(typing.editor.text().to_owned(), typing.purpose)];
        }
        _ => false,
    };
    if done {
        return finish(model);
    }
    if matches!(typing.purpose, InputPurpose::Split(_)) {
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
    let remembers = matches!(typing.purpose, InputPurpose::Say | InputPurpose::Command);
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
fn recall(model: &mut ScreenModel, older: bool) {
    let ScreenMode::Type(typing) = &mut model.mode else { return };
    let commands = typing.purpose == InputPurpose::Command;
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
pub(super) fn left(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    if let ScreenMode::Type(typing) = std::mem::take(&mut model.mode) {
        let text = typing.editor.text();
        match typing.purpose {
            _ if text.trim().is_empty() || text == typing.began => {}
            InputPurpose::Say => {
                model.record(text);
                model.say("not said; ↑ in the input brings it back");
            }
            InputPurpose::Command | InputPurpose::Count | InputPurpose::Split(_) => {}
            _ => {
                model.left = Some(typing);
                model.say("not saved; the same key here goes on with it");
            }
        }
    }
    model.look()
}

fn finish(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let ScreenMode::Type(typing) = std::mem::take(&mut model.mode) else { return Vec::new() };
    let (text, at) = (typing.editor.text().to_owned(), typing.editor.at());
    let mut effects = model.look();
    effects.extend(written(model, typing.purpose, text, at));
    effects
}

/// What a text comes to that was written to its end.
pub(super) fn written(model: &mut ScreenModel, purpose: InputPurpose, text: String, at: usize) -> Vec<ScreenEffect> {
    if text.trim().is_empty() && !matches!(purpose, InputPurpose::Label(_)) {
        return Vec::new();
    }
    match purpose {
        InputPurpose::Say => {
            model.record(&text);
            if crate::arrow::is_command(&text) {
                return command_jobs::begin(model, text);
            }
            let after = model.at;
            does(WriteRequest::Say(after, text))
        }
        InputPurpose::Command => {
            model.record(&format!(":{text}"));
            command::run(model, &text)
        }
        InputPurpose::Count => match text.trim().parse() {
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
        InputPurpose::Annotate(node) => does(WriteRequest::Annotate(node, text)),
        InputPurpose::Label(node) => does(WriteRequest::Bookmark(node, Some(text.trim().to_owned()))),
        InputPurpose::Edit(node) => {
            let same = model.node().is_some_and(|now| now.id == node && now.content == text);
            if same {
                model.say("nothing was changed");
                return Vec::new();
            }
            does(WriteRequest::Edit(node, text))
        }
        InputPurpose::Merge(nodes) => {
            model.marked.clear();
            does(WriteRequest::Merge(nodes, text))
        }
        InputPurpose::Split(node) => {
            let characters = text[..at].chars().count();
            does(WriteRequest::Split(node, characters))
        }
    }
}

/// What choosing comes to that is more than going somewhere.
pub(super) fn taken(model: &mut ScreenModel, then: ItemAction) -> Vec<ScreenEffect> {
    match then {
        ItemAction::Go(tree, node) if tree == model.tree => model.go(node),
        ItemAction::Go(tree, node) => does(WriteRequest::Enter(tree, Some(node))),
        ItemAction::Tree(tree) if tree == model.tree => model.look(),
        ItemAction::Tree(tree) => does(WriteRequest::Enter(tree, None)),
        ItemAction::Resume(session) => does(WriteRequest::Resume(session)),
        ItemAction::Restore(node) => does(WriteRequest::Restore(node)),
        ItemAction::Document(id) => vec![ScreenEffect::Ask(crate::tui::message::ScreenLookup::Document(id))],
        ItemAction::Model(reference) => {
            generation::toggle(model, &reference);
            Vec::new()
        }
        ItemAction::Part(Some(node)) => model.go(node),
        ItemAction::Part(None) => Vec::new(),
    }
}
