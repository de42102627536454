//! Keys of text inputs.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{buffer_keys, colon_line, command_jobs, generation, write};
use crate::{
    arrow::Command,
    tools::Tool,
    tui::{
        message::{InputPurpose, ItemAction, ScreenEffect, WriteRequest},
        model::{ConfirmPanel, MAX_CONTINUATIONS, ScreenMode, ScreenModel, SubmittedText, TextInput},
    },
};

/// Opens an input, with the unsaved text of the same purpose if there is one.
pub(super) fn open(model: &mut ScreenModel, purpose: InputPurpose, text: impl Into<String>) -> Vec<ScreenEffect> {
    model.notice = None;
    model.input_node = Some(model.cursor);
    let left = model.unsaved_input.take_if(|left| left.purpose == purpose);
    model.mode = ScreenMode::Input(left.unwrap_or_else(|| TextInput::new(purpose, text)));
    Vec::new()
}

/// Returns whether enter submits; else it inserts a line feed and ctrl-s submits.
fn ends_on_enter(purpose: &InputPurpose) -> bool {
    !matches!(purpose.tool(), Some(Tool::Edit | Tool::Merge))
}

pub(super) fn key(model: &mut ScreenModel, key: &KeyEvent) -> Vec<ScreenEffect> {
    let ScreenMode::Input(text_input) = &mut model.mode else { return Vec::new() };
    let held = key.modifiers & (KeyModifiers::ALT | KeyModifiers::SHIFT | KeyModifiers::CONTROL);
    let done = match key.code {
        KeyCode::Enter if held.is_empty() => ends_on_enter(&text_input.purpose),
        KeyCode::Char('s') if held == KeyModifiers::CONTROL => true,
        KeyCode::Esc => return leave(model),
        KeyCode::Char('g') if held == KeyModifiers::CONTROL => {
            let text_input = std::mem::replace(&mut model.mode, ScreenMode::Tree);
            let ScreenMode::Input(text_input) = text_input else { return Vec::new() };
            let open = ScreenEffect::OpenEditor(text_input.editor.text().to_owned(), text_input.purpose.clone());
            model.edited_outside = Some(text_input);
            return vec![open];
        }
        _ => false,
    };
    if done {
        return finish(model);
    }
    if text_input.purpose.is_place() {
        // Only the cursor moves, the text is fixed.
        if matches!(
            key.code,
            KeyCode::Left | KeyCode::Right | KeyCode::Up | KeyCode::Down | KeyCode::Home | KeyCode::End
        ) {
            text_input.editor.key(key);
        }
        return Vec::new();
    }
    if key.code == KeyCode::Enter && held.is_empty() {
        text_input.editor.insert("\n");
        return Vec::new();
    }
    let has_history = matches!(text_input.purpose, InputPurpose::Append | InputPurpose::Command);
    if has_history && matches!(key.code, KeyCode::Up | KeyCode::Down) && held.is_empty() {
        let up = key.code == KeyCode::Up;
        if text_input.editor.at_edge(up) && (up || text_input.history.is_some()) {
            show_history(model, up);
            return Vec::new();
        }
    }
    text_input.editor.key(key);
    Vec::new()
}

/// Shows an older or newer line of the history.
fn show_history(model: &mut ScreenModel, older: bool) {
    let ScreenMode::Input(text_input) = &mut model.mode else { return };
    let commands = text_input.purpose == InputPurpose::Command;
    let lines: Vec<&String> = model.history.iter().rev().filter(|line| line.starts_with(':') == commands).collect();
    let next = match (text_input.history, older) {
        (None, true) => Some(0),
        (Some(at), true) => Some(at + 1),
        (Some(at), false) => at.checked_sub(1),
        (None, false) => None,
    };
    match next {
        None => {
            text_input.history = None;
            let stash = std::mem::take(&mut text_input.stash);
            text_input.editor.set(stash);
        }
        Some(at) => {
            let Some(line) = lines.get(at) else { return };
            if text_input.history.is_none() {
                text_input.stash = text_input.editor.text().to_owned();
            }
            text_input.history = Some(at);
            text_input.editor.set(line.strip_prefix(':').unwrap_or(line));
        }
    }
}

/// Closes the input. Text for the next node goes to the history, other text is stored until the user continues it.
pub(super) fn leave(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    if let ScreenMode::Input(text_input) = std::mem::take(&mut model.mode) {
        let text = text_input.editor.text();
        match text_input.purpose {
            _ if text.trim().is_empty() || text == text_input.initial => {}
            InputPurpose::Append => {
                // The user may only have looked at a line of the history.
                model.has_unsent_message |= !model.history.iter().any(|line| line == text);
                model.record_history(text);
                model.notify("not sent; ↑ in the input brings it back");
            }
            InputPurpose::Command | InputPurpose::Count => {}
            purpose if purpose.is_place() => {}
            _ => {
                model.unsaved_input = Some(text_input);
                model.notify("not saved; the same key here continues it");
            }
        }
    }
    model.load_screen()
}

fn finish(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let ScreenMode::Input(text_input) = std::mem::take(&mut model.mode) else { return Vec::new() };
    let (text, at) = (text_input.editor.text().to_owned(), text_input.editor.cursor());
    let mut effects = model.load_screen();
    effects.extend(submit(model, text_input.purpose, text, at));
    effects
}

/// Submits a text. It is kept until its write has ended.
pub(super) fn submit(model: &mut ScreenModel, purpose: InputPurpose, text: String, at: usize) -> Vec<ScreenEffect> {
    let mut kept = TextInput::new(purpose.clone(), text.clone());
    kept.editor.set_cursor(at);
    let effects = perform(model, purpose, text, at);
    let writes = effects.iter().filter(|effect| matches!(effect, ScreenEffect::Write(_))).count();
    let is_text = matches!(kept.purpose, InputPurpose::Append | InputPurpose::Change(..)) && !kept.purpose.is_place();
    if writes > 0 && is_text {
        model.submitted = Some((model.pending_writes + writes, SubmittedText::Input(kept)));
    }
    effects
}

/// Shows a text again whose save failed.
pub(super) fn reopen(model: &mut ScreenModel, text: SubmittedText) {
    // What was typed ahead was meant for a screen without the text.
    model.type_ahead.clear();
    let is_free = matches!(model.mode, ScreenMode::Tree);
    match text {
        SubmittedText::Buffer(mut buffer) => {
            buffer_keys::refuse(&mut buffer);
            match is_free {
                true => model.mode = ScreenMode::Buffer(buffer),
                false => model.unsaved_prose = Some((model.cursor, buffer)),
            }
        }
        SubmittedText::Input(mut text_input) => {
            // Leaving it unchanged keeps it.
            text_input.initial = String::new();
            let is_message = text_input.purpose == InputPurpose::Append;
            // A line of input would cover the error.
            let hint = match ends_on_enter(&text_input.purpose) {
                false if is_free => {
                    model.mode = ScreenMode::Input(text_input);
                    return;
                }
                _ if is_message => "↑ in the input brings it back",
                _ => {
                    model.unsaved_input = Some(text_input);
                    "the same key here continues it"
                }
            };
            if let Some(notice) = &mut model.notice {
                notice.text = format!("{} · {hint}", notice.text);
            }
            model.has_unsent_message |= is_message;
        }
    }
}

fn perform(model: &mut ScreenModel, purpose: InputPurpose, text: String, at: usize) -> Vec<ScreenEffect> {
    if text.trim().is_empty() && purpose.tool() != Some(Tool::Bookmark) {
        if purpose.tool().is_some() {
            model.notify("the text is empty; nothing was saved");
        }
        return Vec::new();
    }
    match purpose {
        InputPurpose::Append => {
            model.record_history(&text);
            model.has_unsent_message = false;
            if crate::arrow::is_command(&text) {
                return command_jobs::start(model, text);
            }
            // The node may have been pruned since, and then the cursor is elsewhere.
            let after = model.input_node.take().unwrap_or(model.cursor);
            write(WriteRequest::Append(after, text))
        }
        InputPurpose::Command => {
            model.record_history(&format!(":{text}"));
            colon_line::run(model, &text)
        }
        InputPurpose::Count => match text.trim().parse() {
            Ok(count @ 1..=MAX_CONTINUATIONS) => {
                model.count = count;
                model.notify(format!("{count} at a time"));
                Vec::new()
            }
            _ => {
                model.notify_error(format!("a number from 1 to {MAX_CONTINUATIONS}"));
                Vec::new()
            }
        },
        InputPurpose::Change(node, mut command) => {
            match &mut *command {
                Command::Edit { .. } if model.node().is_some_and(|now| now.id == node && now.content == text) => {
                    model.notify("nothing was changed");
                    return Vec::new();
                }
                Command::Bookmark { label, .. } => *label = Some(text.trim().to_owned()),
                Command::Split { at: place, .. } => *place = u32::try_from(text[..at].chars().count()).ok(),
                Command::Annotate { content, .. } | Command::Edit { content, .. } => *content = text,
                Command::Merge { content, .. } => {
                    model.marked.clear();
                    *content = text;
                }
                _ => {}
            }
            write(WriteRequest::Change(node, command))
        }
    }
}

/// Runs the action of a list item.
pub(super) fn run_item_action(model: &mut ScreenModel, then: ItemAction) -> Vec<ScreenEffect> {
    match then {
        ItemAction::GoToNode(tree, node) if tree == model.tree => model.go_to(node),
        ItemAction::GoToNode(tree, node) => write(WriteRequest::OpenTree(tree, Some(node))),
        ItemAction::OpenTree(tree) if tree == model.tree => model.load_screen(),
        ItemAction::OpenTree(tree) => write(WriteRequest::OpenTree(tree, None)),
        ItemAction::ResumeSession(session) => write(WriteRequest::Resume(session)),
        ItemAction::Restore(node) => {
            write(WriteRequest::Change(node, Box::new(Command::Restore { node: node.into() })))
        }
        ItemAction::OfferUndo(agent, question) => {
            let undo = ScreenEffect::Write(WriteRequest::UndoOf(agent));
            model.mode = ScreenMode::Confirm(Box::new(ConfirmPanel::plain(question, undo)));
            Vec::new()
        }
        ItemAction::ShowDocument(id) => vec![ScreenEffect::Query(crate::tui::message::ScreenLookup::Document(id))],
        ItemAction::ToggleModel(reference) => {
            generation::toggle_model(model, &reference);
            Vec::new()
        }
        ItemAction::ContextPart(Some((node, _))) => model.go_to(node),
        ItemAction::ContextPart(None) => Vec::new(),
    }
}
