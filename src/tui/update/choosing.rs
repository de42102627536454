//! Keys of lists, pages and questions.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{typing, walking};
use crate::tui::{
    message::{Deed, Effect, Question, Then},
    model::{Kind, Mode, Model},
};

pub(super) fn key(model: &mut Model, key: &KeyEvent) -> Vec<Effect> {
    let rows = usize::from(model.height).saturating_sub(6).max(1);
    let Mode::Choose(list) = &mut model.mode else { return Vec::new() };
    let shown = list.shown().len();
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let last = shown.saturating_sub(1);
    match key.code {
        KeyCode::Esc => {
            model.mode = Mode::Walk;
            return model.look();
        }
        KeyCode::Up => list.at = list.at.checked_sub(1).unwrap_or(last),
        KeyCode::Down => list.at = if list.at >= last { 0 } else { list.at + 1 },
        KeyCode::Char('p') if control => list.at = list.at.checked_sub(1).unwrap_or(last),
        KeyCode::Char('n') if control => list.at = if list.at >= last { 0 } else { list.at + 1 },
        KeyCode::PageUp => list.at = list.at.saturating_sub(rows),
        KeyCode::PageDown => list.at = (list.at + rows).min(last),
        KeyCode::Home if list.kind == Kind::Context => list.at = 0,
        KeyCode::End if list.kind == Kind::Context => list.at = last,
        KeyCode::Enter => return chosen(model),
        KeyCode::Tab => {
            if let Kind::Search(scope) = list.kind {
                list.kind = Kind::Search(scope.next());
                return searched(model);
            }
        }
        KeyCode::Char(c) if list.kind == Kind::Context => return context(model, c),
        _ => {
            let before = list.filter.text().to_owned();
            list.filter.key(key);
            if list.filter.text() != before {
                list.at = 0;
                return searched(model);
            }
        }
    }
    Vec::new()
}

/// Looks for what was typed, if the list is a search.
pub(super) fn searched(model: &mut Model) -> Vec<Effect> {
    let Mode::Choose(list) = &mut model.mode else { return Vec::new() };
    let Kind::Search(scope) = list.kind else { return Vec::new() };
    if list.filter.text().trim().is_empty() {
        list.items.clear();
        list.waiting = false;
        return Vec::new();
    }
    list.waiting = true;
    vec![Effect::Ask(Question::Search(list.filter.text().to_owned(), scope))]
}

fn chosen(model: &mut Model) -> Vec<Effect> {
    let Mode::Choose(list) = &model.mode else { return Vec::new() };
    let (kind, then, typed) = (list.kind, list.chosen(), list.filter.text().trim().to_owned());
    let Some(then) = then.or((kind == Kind::Models && !typed.is_empty()).then_some(Then::Model(typed))) else {
        return Vec::new();
    };
    // Several models can be picked one after another.
    if kind == Kind::Models {
        return typing::taken(model, then);
    }
    model.mode = Mode::Walk;
    typing::taken(model, then)
}

/// Keys of the context view: a part is pinned or kept out from where it is seen.
fn context(model: &mut Model, c: char) -> Vec<Effect> {
    let Mode::Choose(list) = &mut model.mode else { return Vec::new() };
    let last = list.items.len().saturating_sub(1);
    let node = match list.chosen() {
        Some(Then::Part(node)) => node,
        _ => None,
    };
    match (c, node) {
        ('j', _) => list.at = (list.at + 1).min(last),
        ('k', _) => list.at = list.at.saturating_sub(1),
        ('q' | 'c', _) => {
            model.mode = Mode::Walk;
            return model.look();
        }
        ('P', Some(node)) => return walking::pin(model, node),
        ('X', Some(node)) => {
            let words = list.shown().get(list.at).map(|item| item.words.clone()).unwrap_or_default();
            return walking::does(model, Deed::Exclude(node, !words.contains("excluded")));
        }
        ('P' | 'X', None) => model.say("this part is no node of the path"),
        _ => model.say("P pins, X keeps out or lets in, enter goes there, esc closes"),
    }
    Vec::new()
}

pub(super) fn read(model: &mut Model, key: &KeyEvent) -> Vec<Effect> {
    let rows = usize::from(model.height).saturating_sub(4).max(1);
    let Mode::Read(page) = &mut model.mode else { return Vec::new() };
    let most = page.lines.len().saturating_sub(rows);
    match key.code {
        KeyCode::Up | KeyCode::Char('k') => page.scroll = page.scroll.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => page.scroll = (page.scroll + 1).min(most),
        KeyCode::PageUp | KeyCode::Char('b') => page.scroll = page.scroll.saturating_sub(rows),
        KeyCode::PageDown | KeyCode::Char(' ' | 'f') => page.scroll = (page.scroll + rows).min(most),
        KeyCode::Home => page.scroll = 0,
        KeyCode::End => page.scroll = most,
        _ => {
            model.mode = Mode::Walk;
            return model.look();
        }
    }
    Vec::new()
}

pub(super) fn answer(model: &mut Model, key: &KeyEvent) -> Vec<Effect> {
    match key.code {
        KeyCode::Char('y' | 'Y') | KeyCode::Enter => {
            let Mode::Ask(ask) = std::mem::take(&mut model.mode) else { return Vec::new() };
            let mut effects = model.look();
            match ask.yes {
                Effect::Do(deed) => effects.extend(walking::does(model, deed)),
                other => effects.push(other),
            }
            effects
        }
        KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => {
            model.mode = Mode::Walk;
            model.look()
        }
        _ => Vec::new(),
    }
}
