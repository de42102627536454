//! The person's own arrow lines while they run.

use super::{background, generation};
use crate::tui::{
    message::{CommandJob, GenerationEvent, GenerationJob, ScreenEffect, WriteRequest, WriteResult},
    model::{GenerationPanel, ScreenMode, ScreenModel},
};

/// Has lines run.
pub(super) fn begin(model: &mut ScreenModel, text: String) -> Vec<ScreenEffect> {
    model.jobs += 1;
    let errand = CommandJob { number: model.jobs, from: model.at, tools: model.tools, text };
    model.errands.push(errand.clone());
    vec![ScreenEffect::Run(errand)]
}

/// Stops the ones that were begun last; `None` if none run.
pub(super) fn stop(model: &ScreenModel) -> Option<Vec<ScreenEffect>> {
    model.errands.last().map(|errand| vec![ScreenEffect::Cancel(errand.number, None)])
}

/// A model was heard of. It gets columns, unless others stand there already; they are shown unless the person is at
/// something else.
pub(super) fn opens(model: &mut ScreenModel, number: u64, growing: &GenerationEvent) {
    let Some(errand) = model.errands.iter().find(|errand| errand.number == number) else { return };
    if model.growth.is_some() || !matches!(growing, GenerationEvent::Began(_)) {
        return;
    }
    let (from, versions) = (errand.from, model.versions.clone());
    let job = GenerationJob { number, from, versions, models: Vec::new(), n: 0, turn: false, tools: false, with: None };
    model.growth = Some(GenerationPanel { job, columns: Vec::new(), at: 0, scroll: 0, running: true });
    let shown = match &mut model.mode {
        // They are seen once the question is answered that came before them.
        ScreenMode::Ask(ask) => &mut *ask.then,
        mode => mode,
    };
    if matches!(shown, ScreenMode::Walk) {
        *shown = ScreenMode::Grow;
        model.notice = None;
    }
}

/// They are done.
pub(super) fn ended(model: &mut ScreenModel, number: u64, done: Result<WriteResult, String>) -> Vec<ScreenEffect> {
    let Some(at) = model.errands.iter().position(|errand| errand.number == number) else { return Vec::new() };
    let errand = model.errands.remove(at);
    let own = model.growth.as_ref().filter(|growth| growth.job.number == number);
    let nothing_to_choose = own.is_some_and(|growth| growth.columns.iter().all(|column| column.saved.is_empty()));
    let shown = own.is_some() && !nothing_to_choose;
    if nothing_to_choose {
        model.growth = None;
        if matches!(model.mode, ScreenMode::Grow) {
            model.mode = ScreenMode::Walk;
        }
    }
    // Whoever went elsewhere meanwhile is not taken away from there.
    let stayed = model.at == errand.from;
    let mut effects = Vec::new();
    let done = done.map(|outcome| {
        let outcome = if stayed {
            outcome
        } else {
            WriteResult { said: outcome.said, page: outcome.page, ..WriteResult::default() }
        };
        if let Some(session) = outcome.session.filter(|session| Some(*session) != model.session) {
            effects.push(ScreenEffect::Do(WriteRequest::Follow(session)));
        }
        if shown || !matches!(model.mode, ScreenMode::Walk) { brief(outcome) } else { outcome }
    });
    effects.extend(background::came(model, done));
    if shown {
        effects.extend(generation::ended(model, None, None));
    }
    effects
}

/// What would be a page is said in its first line: something else is on the screen.
fn brief(outcome: WriteResult) -> WriteResult {
    let first = outcome.page.as_ref().and_then(|(_, lines)| lines.iter().find(|line| !line.spans.is_empty()));
    let said = first.map_or(outcome.said, ToString::to_string);
    WriteResult { said, page: None, ..outcome }
}
