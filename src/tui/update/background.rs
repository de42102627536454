//! Handling of background events.

use super::{buffer_keys, command_jobs, generation, input_keys, list_keys, write};
use crate::{
    arrow::Command,
    tui::{
        message::{BackgroundEvent, LookupResult, ScreenEffect, ScreenLookup, WriteRequest, WriteResult},
        model::{ConfirmPanel, ListKind, ListPanel, PagePanel, PanelCost, ScreenMode, ScreenModel},
        screen_query::NavigationStep,
    },
};

pub(super) fn handle(model: &mut ScreenModel, event: BackgroundEvent) -> Vec<ScreenEffect> {
    match event {
        BackgroundEvent::ScreenLoaded(number, loaded) => on_screen_loaded(model, number, loaded),
        BackgroundEvent::QueryDone(lookup, result) => on_query_done(model, lookup, result),
        BackgroundEvent::WriteDone(done) => on_write_done(model, done.map(|result| *result)),
        BackgroundEvent::Generation(number, event) => generation::on_event(model, number, event),
        BackgroundEvent::CommandsDone(number, done) => command_jobs::finish(model, number, done.map(|result| *result)),
        BackgroundEvent::Superseded => Vec::new(),
        BackgroundEvent::FileProgress(done, total) => {
            if let Some(panel) = &mut model.file_panel {
                (panel.done, panel.total) = (done, total);
            }
            Vec::new()
        }
        BackgroundEvent::HighlightReady | BackgroundEvent::StoreChanged => model.load_screen(),
        BackgroundEvent::ApprovalRequested(number, approval) => {
            model.approvals.push_back((number, approval));
            Vec::new()
        }
        BackgroundEvent::ApprovalWithdrawn(number) => list_keys::withdraw_approval(model, number),
        BackgroundEvent::DelegationNotice(line) => {
            model.notify(line);
            Vec::new()
        }
        BackgroundEvent::EditorClosed(purpose, Ok(Some(text))) => {
            model.edited_outside = None;
            model.mode = ScreenMode::Tree;
            let end = text.len();
            let mut effects = model.load_screen();
            effects.extend(input_keys::submit(model, purpose, text, end));
            effects
        }
        BackgroundEvent::EditorClosed(_, unchanged) => {
            if let Some(text_input) = model.edited_outside.take() {
                model.mode = ScreenMode::Input(text_input);
            }
            match unchanged {
                Ok(_) => model.notify("nothing was changed"),
                Err(error) => model.notify_error(error),
            }
            model.load_screen()
        }
    }
}

fn on_screen_loaded(
    model: &mut ScreenModel,
    number: u64,
    loaded: Result<Box<crate::tui::screen_query::ScreenData>, String>,
) -> Vec<ScreenEffect> {
    if number != model.query_number {
        return Vec::new();
    }
    model.is_loading = false;
    let mut version_effects = Vec::new();
    match loaded {
        Ok(screen) => {
            // The cursor moved while the query ran: its result is out of date.
            if !model.cursor_moved {
                if let Some(step) = screen.blocked_step.filter(|_| model.steps.is_empty()) {
                    report_blocked_step(model, step);
                }
                let chosen = (screen.versions != model.versions).then_some(screen.node.id);
                model.apply_screen(screen);
                version_effects.extend(buffer_keys::refresh(model));
                if let Some(version) = chosen {
                    version_effects.push(ScreenEffect::Write(WriteRequest::ChooseVersion(version)));
                }
            }
        }
        Err(error) => {
            model.steps.clear();
            if let ScreenMode::Buffer(buffer) = &mut model.mode {
                (buffer.awaits_version, buffer.saving_text) = (false, None);
            }
            model.notify_error(error);
        }
    }
    let mut effects = if model.needs_reload || !model.steps.is_empty() { model.load_screen() } else { Vec::new() };
    let is_idle = effects.is_empty();
    effects.extend(version_effects);
    let is_cost_known = model.cost.as_ref().is_some_and(|cost| cost.node == model.cursor);
    if is_idle && !is_cost_known {
        effects.push(ScreenEffect::Query(ScreenLookup::Cost(model.cursor)));
    }
    effects
}

fn report_blocked_step(model: &mut ScreenModel, step: NavigationStep) {
    model.notify(match step {
        NavigationStep::Parent => "this is the beginning",
        NavigationStep::Child | NavigationStep::End => "nothing follows yet; space generates, i writes",
        NavigationStep::Sibling(_) => "there is no other branch here",
        NavigationStep::Line(_) => "this is the last line",
        NavigationStep::Root => "this is the root",
        NavigationStep::Bookmark => "no other bookmark; b sets one",
        NavigationStep::Version(_) => "no other version in this direction",
    });
}

fn on_query_done(
    model: &mut ScreenModel,
    lookup: ScreenLookup,
    result: Result<LookupResult, String>,
) -> Vec<ScreenEffect> {
    if !model.type_ahead.accepts(&lookup) {
        return Vec::new();
    }
    let result = match result {
        Ok(result) => result,
        // The user did not request the cost, so its errors are not shown.
        Err(_) if matches!(lookup, ScreenLookup::Cost(_)) => return Vec::new(),
        Err(error) => {
            if list_awaits(model, &lookup) {
                model.mode = ScreenMode::Tree;
            }
            model.notify_error(error);
            return Vec::new();
        }
    };
    match (lookup, result) {
        (ScreenLookup::Cost(node), LookupResult::Cost { tokens, budget, money }) => {
            model.cost = Some(PanelCost { node, tokens, budget, money });
        }
        (lookup, LookupResult::Items(items)) if list_awaits(model, &lookup) => {
            if let ScreenMode::List(list) = &mut model.mode {
                list.items = items;
                list.awaits = None;
                list.selected = list.selected.min(list.visible_items().len().saturating_sub(1));
            }
        }
        (_, LookupResult::Page(title, lines)) => model.mode = ScreenMode::Page(PagePanel { title, lines, scroll: 0 }),
        (ScreenLookup::DescendantCount(node), LookupResult::DescendantCount(count, more)) => {
            let request = WriteRequest::Change(node, Box::new(Command::Prune { node: node.into() }));
            if count == 0 {
                return write(request);
            }
            let many = if more { format!("more than {count}") } else { count.to_string() };
            let text = format!("Prune this node and {many} below it? u undoes it.");
            model.mode = ScreenMode::Confirm(Box::new(ConfirmPanel::plain(text, ScreenEffect::Write(request))));
        }
        (_, LookupResult::Node(node)) => return model.go_to(node),
        (ScreenLookup::Text(_, purpose), LookupResult::Text(text)) => {
            input_keys::open(model, purpose, text);
            if let ScreenMode::Input(text_input) = &mut model.mode
                && text_input.purpose.is_place()
            {
                text_input.editor.set_cursor(0);
            }
        }
        _ => {}
    }
    Vec::new()
}

/// Returns whether the open list waits for this lookup.
fn list_awaits(model: &ScreenModel, lookup: &ScreenLookup) -> bool {
    matches!(&model.mode, ScreenMode::List(list) if list.awaits.as_ref() == Some(lookup))
}

fn on_write_done(model: &mut ScreenModel, done: Result<WriteResult, String>) -> Vec<ScreenEffect> {
    model.pending_writes = model.pending_writes.saturating_sub(1);
    model.type_ahead.write_done();
    if model.pending_writes == 0 {
        model.file_panel = None;
    }
    let is_refused = done.is_err();
    let mut effects = apply_write_result(model, done);
    let left = model.submitted.as_mut().map(|(left, _)| {
        *left = left.saturating_sub(1);
        *left
    });
    if left == Some(0)
        && let Some((_, text)) = model.submitted.take()
        && is_refused
    {
        input_keys::reopen(model, text);
        effects.extend(model.load_screen());
    }
    effects
}

/// Applies the result of a write or command job.
pub(super) fn apply_write_result(model: &mut ScreenModel, done: Result<WriteResult, String>) -> Vec<ScreenEffect> {
    // The prompt's size may have changed, and the session was active after its cursor was shown.
    model.cost = None;
    model.shown_cursor = None;
    let result = match done {
        Ok(result) => result,
        Err(error) => {
            model.answer_after_append = false;
            if let ScreenMode::Buffer(buffer) = &mut model.mode {
                buffer_keys::refuse(buffer);
            }
            model.notify_error(error);
            return model.load_screen();
        }
    };
    if !result.message.is_empty() {
        let undo = model.keys.hint(crate::tui::keys::KeyAction::Undo).to_owned();
        let hint = match &model.mode {
            _ if !result.undoable => String::new(),
            // There the key inserts a letter.
            ScreenMode::Buffer(_) => format!(" · esc, then {undo} undoes it"),
            _ => format!(" · {undo} undoes it"),
        };
        model.notify(format!("{}{hint}", result.message));
    }
    if let Some(session) = result.session {
        model.session = Some(session);
    }
    if let Some(versions) = result.versions {
        model.versions = versions;
    }
    let mut effects = Vec::new();
    if let Some(tree) = result.tree.filter(|tree| *tree != model.tree) {
        model.tree = tree;
        model.seen_entry = None;
        model.back_stack.clear();
        model.marked.clear();
        model.hoist = None;
        model.responder = None;
        model.screen = None;
        model.cursor_row = usize::MAX;
        // Drops the result of the query in progress: it is of the other tree.
        model.query_number += 1;
        model.is_loading = false;
    }
    if let Some(responder) = result.responder {
        model.responder = responder;
    }
    if let Some((title, lines)) = result.page {
        model.mode = ScreenMode::Page(PagePanel { title, lines, scroll: 0 });
    }
    effects.extend(match result.position {
        Some(to) => model.go_to(to),
        None => model.load_screen(),
    });
    if let Some(appended) = result.position.filter(|_| std::mem::take(&mut model.answer_after_append)) {
        effects.extend(generation::start(model, appended, true));
    }
    if let ScreenMode::List(list @ ListPanel { kind: ListKind::Context, .. }) = &mut model.mode {
        let lookup = ScreenLookup::Context(model.cursor);
        list.awaits = Some(lookup.clone());
        effects.push(ScreenEffect::Query(lookup));
    }
    effects
}
