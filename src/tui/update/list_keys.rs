//! Keys of lists, pages and dialogs.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{input_keys, tree_keys, write};
use crate::{
    tui::{
        message::{ItemAction, ScreenEffect, ScreenLookup},
        model::{ConfirmPanel, ListKind, ScreenMode, ScreenModel},
    },
    types::{literal, literal_line},
};

pub(super) fn key(model: &mut ScreenModel, key: &KeyEvent) -> Vec<ScreenEffect> {
    let rows = usize::from(model.height).saturating_sub(6).max(1);
    let ScreenMode::List(list) = &mut model.mode else { return Vec::new() };
    let shown = list.visible_items().len();
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let last = shown.saturating_sub(1);
    match key.code {
        KeyCode::Esc => {
            model.mode = ScreenMode::Tree;
            return model.load_screen();
        }
        KeyCode::Up => list.selected = list.selected.checked_sub(1).unwrap_or(last),
        KeyCode::Down => list.selected = if list.selected >= last { 0 } else { list.selected + 1 },
        KeyCode::Char('p') if control => list.selected = list.selected.checked_sub(1).unwrap_or(last),
        KeyCode::Char('n') if control => list.selected = if list.selected >= last { 0 } else { list.selected + 1 },
        KeyCode::PageUp => list.selected = list.selected.saturating_sub(rows),
        KeyCode::PageDown => list.selected = (list.selected + rows).min(last),
        KeyCode::Home if list.kind == ListKind::Context => list.selected = 0,
        KeyCode::End if list.kind == ListKind::Context => list.selected = last,
        KeyCode::Enter => return choose(model),
        KeyCode::Tab => {
            if let ListKind::Search(scope) = list.kind {
                list.kind = ListKind::Search(scope.next());
                return search(model);
            }
        }
        KeyCode::Char(c) if list.kind == ListKind::Context => return context_key(model, c),
        _ => {
            let before = list.filter.text().to_owned();
            list.filter.key(key);
            if list.filter.text() != before {
                list.selected = 0;
                return search(model);
            }
        }
    }
    Vec::new()
}

/// Runs the search for the typed text, if the list is a search.
pub(super) fn search(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let ScreenMode::List(list) = &mut model.mode else { return Vec::new() };
    let ListKind::Search(scope) = list.kind else { return Vec::new() };
    if list.filter.text().trim().is_empty() {
        list.items.clear();
        list.awaits = None;
        return Vec::new();
    }
    let lookup = ScreenLookup::Search(list.filter.text().to_owned(), scope);
    list.awaits = Some(lookup.clone());
    vec![ScreenEffect::Query(lookup)]
}

pub(super) fn choose(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let ScreenMode::List(list) = &mut model.mode else { return Vec::new() };
    let (kind, then, typed) = (list.kind, list.selected_action(), list.filter.text().trim().to_owned());
    let Some(then) = then.or((kind == ListKind::Models && !typed.is_empty()).then_some(ItemAction::ToggleModel(typed)))
    else {
        return Vec::new();
    };
    // The list stays open, to select several models.
    if kind == ListKind::Models {
        return input_keys::run_item_action(model, then);
    }
    model.mode = ScreenMode::Tree;
    input_keys::run_item_action(model, then)
}

/// Keys of the context view: they pin or exclude the selected node.
fn context_key(model: &mut ScreenModel, c: char) -> Vec<ScreenEffect> {
    let ScreenMode::List(list) = &mut model.mode else { return Vec::new() };
    let last = list.items.len().saturating_sub(1);
    let node = match list.selected_action() {
        Some(ItemAction::ContextPart(node)) => node,
        _ => None,
    };
    match (c, node) {
        ('j', _) => list.selected = (list.selected + 1).min(last),
        ('k', _) => list.selected = list.selected.saturating_sub(1),
        ('q' | 'c', _) => {
            model.mode = ScreenMode::Tree;
            return model.load_screen();
        }
        ('P', Some((node, _))) => return tree_keys::pin(model, node),
        ('X', Some((node, is_excluded))) => return write(super::exclusion(node, !is_excluded)),
        ('P' | 'X', None) => model.notify("this section is not a node of the path"),
        _ => model.notify("P pins, X excludes or includes, enter goes there, esc closes"),
    }
    Vec::new()
}

pub(super) fn page_key(model: &mut ScreenModel, key: &KeyEvent) -> Vec<ScreenEffect> {
    let rows = usize::from(model.height).saturating_sub(4).max(1);
    let ScreenMode::Page(page) = &mut model.mode else { return Vec::new() };
    let max_scroll = page.lines.len().saturating_sub(rows);
    match key.code {
        KeyCode::Up | KeyCode::Char('k') => page.scroll = page.scroll.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => page.scroll = (page.scroll + 1).min(max_scroll),
        KeyCode::PageUp | KeyCode::Char('b') => page.scroll = page.scroll.saturating_sub(rows),
        KeyCode::PageDown | KeyCode::Char(' ' | 'f') => page.scroll = (page.scroll + rows).min(max_scroll),
        KeyCode::Home => page.scroll = 0,
        KeyCode::End => page.scroll = max_scroll,
        _ => {
            model.mode = ScreenMode::Tree;
            return model.load_screen();
        }
    }
    Vec::new()
}

/// Shows the next approval request unless the user types or chooses.
pub(super) fn show_next_approval(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    if !matches!(model.mode, ScreenMode::Tree | ScreenMode::Generating) {
        return Vec::new();
    }
    let Some((number, approval)) = model.approvals.pop_front() else { return Vec::new() };
    let width = usize::from(model.width).saturating_sub(10).clamp(20, 90);
    let long = literal_line(&approval.summary).chars().count() > 2 * width;
    let all = if long {
        format!("{}\n{}", literal_line(&approval.summary), approval.details)
    } else {
        approval.details.clone()
    };
    let detail = crate::tui::markdown::plain(&literal(&all), width, ratatui::style::Style::new());
    model.mode = ScreenMode::Confirm(Box::new(ConfirmPanel {
        text: if long {
            approval.tool.clone()
        } else {
            format!("{}: {}", approval.tool, literal_line(&approval.summary))
        },
        detail: if all.is_empty() { Vec::new() } else { detail },
        scroll: 0,
        yes: ScreenEffect::AnswerApproval(number, true, false),
        no: Some(ScreenEffect::AnswerApproval(number, false, false)),
        always: (!approval.subject.is_empty()).then_some(ScreenEffect::AnswerApproval(number, true, true)),
        previous_mode: Box::new(std::mem::take(&mut model.mode)),
    }));
    Vec::new()
}

/// Withdraws an approval request and shows the next one.
pub(super) fn withdraw_approval(model: &mut ScreenModel, number: u64) -> Vec<ScreenEffect> {
    model.approvals.retain(|(other, _)| *other != number);
    if !matches!(&model.mode, ScreenMode::Confirm(confirm) if matches!(confirm.yes, ScreenEffect::AnswerApproval(other, ..) if other == number))
    {
        return Vec::new();
    }
    if let ScreenMode::Confirm(confirm) = std::mem::take(&mut model.mode) {
        restore_mode(model, *confirm.previous_mode);
    }
    model.load_screen()
}

/// Restores the mode before the dialog; its columns may be gone.
fn restore_mode(model: &mut ScreenModel, before: ScreenMode) {
    model.mode = if matches!(before, ScreenMode::Generating) && model.generation_panel.is_none() {
        ScreenMode::Tree
    } else {
        before
    };
}

pub(super) fn confirm_key(model: &mut ScreenModel, key: &KeyEvent) -> Vec<ScreenEffect> {
    let ScreenMode::Confirm(confirm) = &mut model.mode else { return Vec::new() };
    let from_agent = confirm.no.is_some();
    let page = confirm.page(model.width, model.height);
    let max_scroll = confirm.detail.len().saturating_sub(page);
    if !confirm.is_read(model.width, model.height)
        && (matches!(key.code, KeyCode::Char('y' | 'Y')) || key.code == KeyCode::Char('A') && confirm.always.is_some())
    {
        model.notify("↓ shows the rest; y is accepted at its end");
        return Vec::new();
    }
    let answer = match key.code {
        KeyCode::Char('y' | 'Y') => Some(confirm.yes.clone()),
        // Enter is too frequent a key to approve an agent's request.
        KeyCode::Enter if !from_agent => Some(confirm.yes.clone()),
        // Lower-case `a` annotates: the user may have pressed it as the dialog opened.
        KeyCode::Char('A') if confirm.always.is_some() => confirm.always.clone(),
        KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => confirm.no.clone(),
        KeyCode::Up | KeyCode::Char('k') | KeyCode::PageUp => {
            confirm.scroll = confirm.scroll.saturating_sub(if key.code == KeyCode::PageUp { page } else { 1 });
            return Vec::new();
        }
        KeyCode::Down | KeyCode::Char('j') | KeyCode::PageDown => {
            confirm.scroll = (confirm.scroll + if key.code == KeyCode::PageDown { page } else { 1 }).min(max_scroll);
            return Vec::new();
        }
        _ => return Vec::new(),
    };
    let ScreenMode::Confirm(confirm) = std::mem::take(&mut model.mode) else { return Vec::new() };
    restore_mode(model, *confirm.previous_mode);
    let mut effects = model.load_screen();
    match answer {
        Some(ScreenEffect::Write(request)) => effects.extend(write(request)),
        Some(other) => effects.push(other),
        None => {}
    }
    effects
}
