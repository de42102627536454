//! Keys of lists, pages and questions.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{does, input_keys, tree_keys};
use crate::{
    tui::{
        message::{ItemAction, ScreenEffect, ScreenLookup, WriteRequest},
        model::{ConfirmPanel, ListKind, ScreenMode, ScreenModel},
    },
    types::{literal, literal_line},
};

pub(super) fn key(model: &mut ScreenModel, key: &KeyEvent) -> Vec<ScreenEffect> {
    let rows = usize::from(model.height).saturating_sub(6).max(1);
    let ScreenMode::Choose(list) = &mut model.mode else { return Vec::new() };
    let shown = list.shown().len();
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let last = shown.saturating_sub(1);
    match key.code {
        KeyCode::Esc => {
            model.mode = ScreenMode::Walk;
            return model.look();
        }
        KeyCode::Up => list.at = list.at.checked_sub(1).unwrap_or(last),
        KeyCode::Down => list.at = if list.at >= last { 0 } else { list.at + 1 },
        KeyCode::Char('p') if control => list.at = list.at.checked_sub(1).unwrap_or(last),
        KeyCode::Char('n') if control => list.at = if list.at >= last { 0 } else { list.at + 1 },
        KeyCode::PageUp => list.at = list.at.saturating_sub(rows),
        KeyCode::PageDown => list.at = (list.at + rows).min(last),
        KeyCode::Home if list.kind == ListKind::Context => list.at = 0,
        KeyCode::End if list.kind == ListKind::Context => list.at = last,
        KeyCode::Enter => return chosen(model),
        KeyCode::Tab => {
            if let ListKind::Search(scope) = list.kind {
                list.kind = ListKind::Search(scope.next());
                return searched(model);
            }
        }
        KeyCode::Char(c) if list.kind == ListKind::Context => return context(model, c),
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
pub(super) fn searched(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let ScreenMode::Choose(list) = &mut model.mode else { return Vec::new() };
    let ListKind::Search(scope) = list.kind else { return Vec::new() };
    if list.filter.text().trim().is_empty() {
        list.items.clear();
        list.awaits = None;
        return Vec::new();
    }
    let question = ScreenLookup::Search(list.filter.text().to_owned(), scope);
    list.awaits = Some(question.clone());
    vec![ScreenEffect::Ask(question)]
}

pub(super) fn chosen(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let ScreenMode::Choose(list) = &mut model.mode else { return Vec::new() };
    let (kind, then, typed) = (list.kind, list.chosen(), list.filter.text().trim().to_owned());
    let Some(then) = then.or((kind == ListKind::Models && !typed.is_empty()).then_some(ItemAction::Model(typed)))
    else {
        return Vec::new();
    };
    // Several models can be picked one after another.
    if kind == ListKind::Models {
        return input_keys::taken(model, then);
    }
    model.mode = ScreenMode::Walk;
    input_keys::taken(model, then)
}

/// Keys of the context view: a part is pinned or kept out from where it is seen.
fn context(model: &mut ScreenModel, c: char) -> Vec<ScreenEffect> {
    let ScreenMode::Choose(list) = &mut model.mode else { return Vec::new() };
    let last = list.items.len().saturating_sub(1);
    let node = match list.chosen() {
        Some(ItemAction::Part(node)) => node,
        _ => None,
    };
    match (c, node) {
        ('j', _) => list.at = (list.at + 1).min(last),
        ('k', _) => list.at = list.at.saturating_sub(1),
        ('q' | 'c', _) => {
            model.mode = ScreenMode::Walk;
            return model.look();
        }
        ('P', Some(node)) => return tree_keys::pin(model, node),
        ('X', Some(node)) => {
            let words = list.shown().get(list.at).map(|item| item.words.clone()).unwrap_or_default();
            return does(WriteRequest::Exclude(node, !words.contains("excluded")));
        }
        ('P' | 'X', None) => model.say("this part is no node of the path"),
        _ => model.say("P pins, X keeps out or lets in, enter goes there, esc closes"),
    }
    Vec::new()
}

pub(super) fn read(model: &mut ScreenModel, key: &KeyEvent) -> Vec<ScreenEffect> {
    let rows = usize::from(model.height).saturating_sub(4).max(1);
    let ScreenMode::Read(page) = &mut model.mode else { return Vec::new() };
    let most = page.lines.len().saturating_sub(rows);
    match key.code {
        KeyCode::Up | KeyCode::Char('k') => page.scroll = page.scroll.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => page.scroll = (page.scroll + 1).min(most),
        KeyCode::PageUp | KeyCode::Char('b') => page.scroll = page.scroll.saturating_sub(rows),
        KeyCode::PageDown | KeyCode::Char(' ' | 'f') => page.scroll = (page.scroll + rows).min(most),
        KeyCode::Home => page.scroll = 0,
        KeyCode::End => page.scroll = most,
        _ => {
            model.mode = ScreenMode::Walk;
            return model.look();
        }
    }
    Vec::new()
}

/// Puts what an agent asks, as soon as nobody writes or chooses.
pub(super) fn put(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    if !matches!(model.mode, ScreenMode::Walk | ScreenMode::Grow) {
        return Vec::new();
    }
    let Some((number, asking)) = model.asked.pop_front() else { return Vec::new() };
    let width = usize::from(model.width).saturating_sub(10).clamp(20, 90);
    let long = literal_line(&asking.summary).chars().count() > 2 * width;
    let all =
        if long { format!("{}\n{}", literal_line(&asking.summary), asking.details) } else { asking.details.clone() };
    let detail = crate::tui::markdown::plain(&literal(&all), width, ratatui::style::Style::new());
    model.mode = ScreenMode::Ask(Box::new(ConfirmPanel {
        text: if long { asking.tool.clone() } else { format!("{}: {}", asking.tool, literal_line(&asking.summary)) },
        detail: if all.is_empty() { Vec::new() } else { detail },
        scroll: 0,
        yes: ScreenEffect::Consent(number, true, false),
        no: Some(ScreenEffect::Consent(number, false, false)),
        always: (!asking.subject.is_empty()).then_some(ScreenEffect::Consent(number, true, true)),
        then: Box::new(std::mem::take(&mut model.mode)),
    }));
    Vec::new()
}

/// Takes a question away that nobody waits for any more, and puts the next one.
pub(super) fn withdrawn(model: &mut ScreenModel, number: u64) -> Vec<ScreenEffect> {
    model.asked.retain(|(other, _)| *other != number);
    if !matches!(&model.mode, ScreenMode::Ask(ask) if matches!(ask.yes, ScreenEffect::Consent(other, ..) if other == number))
    {
        return Vec::new();
    }
    if let ScreenMode::Ask(ask) = std::mem::take(&mut model.mode) {
        back(model, *ask.then);
    }
    model.look()
}

/// To where one was before the question; columns may have gone meanwhile.
fn back(model: &mut ScreenModel, before: ScreenMode) {
    model.mode = if matches!(before, ScreenMode::Grow) && model.growth.is_none() { ScreenMode::Walk } else { before };
}

pub(super) fn answer(model: &mut ScreenModel, key: &KeyEvent) -> Vec<ScreenEffect> {
    let ScreenMode::Ask(ask) = &mut model.mode else { return Vec::new() };
    let agents = ask.no.is_some();
    let page = ask.page(model.width, model.height);
    let most = ask.detail.len().saturating_sub(page);
    if agents
        && ask.scroll < most
        && (matches!(key.code, KeyCode::Char('y' | 'Y')) || key.code == KeyCode::Char('A') && ask.always.is_some())
    {
        model.say("↓ shows the rest; a yes counts at its end");
        return Vec::new();
    }
    let answer = match key.code {
        KeyCode::Char('y' | 'Y') => Some(ask.yes.clone()),
        // What an agent asks is not agreed to by a key that is pressed all the time.
        KeyCode::Enter if !agents => Some(ask.yes.clone()),
        // A small one annotates: somebody may have begun to when the question came.
        KeyCode::Char('A') if ask.always.is_some() => ask.always.clone(),
        KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => ask.no.clone(),
        KeyCode::Up | KeyCode::Char('k') | KeyCode::PageUp => {
            ask.scroll = ask.scroll.saturating_sub(if key.code == KeyCode::PageUp { page } else { 1 });
            return Vec::new();
        }
        KeyCode::Down | KeyCode::Char('j') | KeyCode::PageDown => {
            ask.scroll = (ask.scroll + if key.code == KeyCode::PageDown { page } else { 1 }).min(most);
            return Vec::new();
        }
        _ => return Vec::new(),
    };
    let ScreenMode::Ask(ask) = std::mem::take(&mut model.mode) else { return Vec::new() };
    back(model, *ask.then);
    let mut effects = model.look();
    match answer {
        Some(ScreenEffect::Do(deed)) => effects.extend(does(deed)),
        Some(other) => effects.push(other),
        None => {}
    }
    effects
}
