//! Command jobs: running arrow lines of the user.

use super::{background, generation};
use crate::tui::{
    message::{CommandJob, GenerationEvent, GenerationJob, ScreenEffect, WriteRequest, WriteResult},
    model::{GenerationPanel, ScreenMode, ScreenModel},
};

/// Starts a command job.
pub(super) fn start(model: &mut ScreenModel, text: String) -> Vec<ScreenEffect> {
    model.last_job += 1;
    let command_job = CommandJob { number: model.last_job, from: model.cursor, tools: model.tools, text };
    model.command_jobs.push(command_job.clone());
    vec![ScreenEffect::RunCommands(command_job)]
}

/// Cancels the latest command job; `None` if none runs.
pub(super) fn cancel_latest(model: &ScreenModel) -> Option<Vec<ScreenEffect>> {
    model.command_jobs.last().map(|command_job| vec![ScreenEffect::Cancel(command_job.number, None)])
}

/// Opens columns for the job's first continuation unless others are open. They are shown at once only over the tree.
pub(super) fn open_columns(model: &mut ScreenModel, number: u64, event: &GenerationEvent) {
    let Some(command_job) = model.command_jobs.iter().find(|command_job| command_job.number == number) else { return };
    if model.generation_panel.is_some() || !matches!(event, GenerationEvent::Started(_)) {
        return;
    }
    let (from, versions) = (command_job.from, model.versions.clone());
    let job =
        GenerationJob { number, from, versions, models: Vec::new(), n: 0, turn: false, tools: false, responder: None };
    model.generation_panel = Some(GenerationPanel { job, columns: Vec::new(), selected: 0, scroll: 0, running: true });
    let shown = match &mut model.mode {
        // They appear after the open dialog closes.
        ScreenMode::Confirm(confirm) => &mut *confirm.previous_mode,
        mode => mode,
    };
    if matches!(shown, ScreenMode::Tree) {
        *shown = ScreenMode::Generating;
        model.notice = None;
    }
}

/// Applies the result of a finished job.
pub(super) fn finish(model: &mut ScreenModel, number: u64, result: Result<WriteResult, String>) -> Vec<ScreenEffect> {
    let Some(at) = model.command_jobs.iter().position(|command_job| command_job.number == number) else {
        return Vec::new();
    };
    let command_job = model.command_jobs.remove(at);
    let own_panel = model.generation_panel.as_ref().filter(|generation_panel| generation_panel.job.number == number);
    let nothing_to_choose =
        own_panel.is_some_and(|generation_panel| generation_panel.columns.iter().all(|column| column.saved.is_empty()));
    let shown = own_panel.is_some() && !nothing_to_choose;
    if nothing_to_choose {
        model.generation_panel = None;
        if matches!(model.mode, ScreenMode::Generating) {
            model.mode = ScreenMode::Tree;
        }
    }
    // The cursor is not moved if the user moved it meanwhile.
    let cursor_unmoved = model.cursor == command_job.from;
    let mut effects = Vec::new();
    let result = result.map(|outcome| {
        let outcome = if cursor_unmoved {
            outcome
        } else {
            WriteResult { message: outcome.message, page: outcome.page, ..WriteResult::default() }
        };
        if let Some(session) = outcome.session.filter(|session| Some(*session) != model.session) {
            effects.push(ScreenEffect::Write(WriteRequest::AdoptSession(session)));
        }
        if shown || !matches!(model.mode, ScreenMode::Tree) { shorten(outcome) } else { outcome }
    });
    effects.extend(background::apply_write_result(model, result));
    if shown {
        effects.extend(generation::finish(model, None, None));
    }
    effects
}

/// Reduces a page to its first line, because another panel is open.
fn shorten(outcome: WriteResult) -> WriteResult {
    let first = outcome.page.as_ref().and_then(|(_, lines)| lines.iter().find(|line| !line.spans.is_empty()));
    let message = first.map_or(outcome.message, ToString::to_string);
    WriteResult { message, page: None, ..outcome }
}
