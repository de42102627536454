//! What the background reports.

use super::{buffer_keys, command_jobs, does, generation, input_keys, list_keys};
use crate::tui::{
    message::{BackgroundEvent, InputPurpose, LookupResult, ScreenEffect, ScreenLookup, WriteRequest, WriteResult},
    model::{ConfirmPanel, ListKind, ListPanel, PagePanel, PanelCost, ScreenMode, ScreenModel, TextInput},
    screen_query::LookStep,
};

pub(super) fn heard(model: &mut ScreenModel, heard: BackgroundEvent) -> Vec<ScreenEffect> {
    match heard {
        BackgroundEvent::Seen(number, seen) => saw(model, number, seen),
        BackgroundEvent::Answered(question, answer) => answered(model, question, answer),
        BackgroundEvent::Done(done) => did(model, done.map(|outcome| *outcome)),
        BackgroundEvent::Grew(number, growing) => generation::grew(model, number, growing),
        BackgroundEvent::Ran(number, done) => command_jobs::ended(model, number, done.map(|outcome| *outcome)),
        BackgroundEvent::Passed => Vec::new(),
        BackgroundEvent::Coloured | BackgroundEvent::Changed => model.look(),
        BackgroundEvent::Asking(number, asking) => {
            model.asked.push_back((number, asking));
            Vec::new()
        }
        BackgroundEvent::Withdrawn(number) => list_keys::withdrawn(model, number),
        BackgroundEvent::Edited(purpose, None) => {
            model.say("nothing was changed");
            drop(purpose);
            model.look()
        }
        BackgroundEvent::Edited(purpose, Some(text)) => {
            model.mode = ScreenMode::Walk;
            let end = text.len();
            let mut effects = model.look();
            effects.extend(input_keys::written(model, purpose, text, end));
            effects
        }
    }
}

fn saw(
    model: &mut ScreenModel,
    number: u64,
    seen: Result<Box<crate::tui::screen_query::ScreenData>, String>,
) -> Vec<ScreenEffect> {
    if number != model.looks {
        return Vec::new();
    }
    model.looking = false;
    let mut before = Vec::new();
    match seen {
        Ok(sight) => {
            // Somewhere else was gone to while this was looked at.
            if !model.moved {
                if let Some(step) = sight.stuck.filter(|_| model.steps.is_empty()) {
                    stuck(model, step);
                }
                let chosen = (sight.versions != model.versions).then_some(sight.at.id);
                model.saw(sight);
                buffer_keys::seen(model);
                if let Some(version) = chosen {
                    before.push(ScreenEffect::Do(WriteRequest::Version(version)));
                }
            }
        }
        Err(error) => {
            model.steps.clear();
            if let ScreenMode::Write(prose) = &mut model.mode {
                prose.turning = false;
            }
            model.fail(error);
        }
    }
    let mut effects = if model.stale || !model.steps.is_empty() { model.look() } else { Vec::new() };
    let quiet = effects.is_empty();
    effects.extend(before);
    let told = model.cost.as_ref().is_some_and(|cost| cost.at == model.at);
    if quiet && !told {
        effects.push(ScreenEffect::Ask(ScreenLookup::Cost(model.at)));
    }
    effects
}

fn stuck(model: &mut ScreenModel, step: LookStep) {
    model.say(match step {
        LookStep::Parent => "this is the beginning",
        LookStep::Child | LookStep::End => "nothing follows yet; space has models continue, i writes a line",
        LookStep::Sibling(_) => "there is no other branch here",
        LookStep::Line(_) => "this is the last line",
        LookStep::Root => "this is the root",
        LookStep::Bookmark => "no other bookmark; b sets one",
        LookStep::Version(_) => "no other wording this way",
    });
}

fn answered(
    model: &mut ScreenModel,
    question: ScreenLookup,
    answer: Result<LookupResult, String>,
) -> Vec<ScreenEffect> {
    if !model.ahead.hears(&question) {
        return Vec::new();
    }
    let answer = match answer {
        Ok(answer) => answer,
        // What the next prompt costs is nothing that anybody asked for.
        Err(_) if matches!(question, ScreenLookup::Cost(_)) => return Vec::new(),
        Err(error) => {
            if waits_for(model, &question) {
                model.mode = ScreenMode::Walk;
            }
            model.fail(error);
            return Vec::new();
        }
    };
    match (question, answer) {
        (ScreenLookup::Cost(at), LookupResult::Cost { tokens, budget, money }) => {
            model.cost = Some(PanelCost { at, tokens, budget, money });
        }
        (question, LookupResult::Items(items)) if waits_for(model, &question) => {
            if let ScreenMode::Choose(list) = &mut model.mode {
                list.items = items;
                list.awaits = None;
                list.at = list.at.min(list.shown().len().saturating_sub(1));
            }
        }
        (_, LookupResult::Page(title, lines)) => model.mode = ScreenMode::Read(PagePanel { title, lines, scroll: 0 }),
        (ScreenLookup::Below(node), LookupResult::Below(count, more)) => {
            let deed = WriteRequest::Prune(node);
            if count == 0 {
                return does(deed);
            }
            let many = if more { format!("more than {count}") } else { count.to_string() };
            let text = format!("Prune this node and {many} below it? u takes it back.");
            model.mode = ScreenMode::Ask(Box::new(ConfirmPanel::plain(text, ScreenEffect::Do(deed))));
        }
        (_, LookupResult::Node(node)) => return model.go(node),
        (ScreenLookup::Text(_, purpose), LookupResult::Text(text)) => {
            input_keys::begin(model, purpose, text);
            if let ScreenMode::Type(typing @ TextInput { purpose: InputPurpose::Split(_), .. }) = &mut model.mode {
                typing.editor.place(0);
            }
        }
        _ => {}
    }
    Vec::new()
}

/// Whether a list waits for this answer.
fn waits_for(model: &ScreenModel, question: &ScreenLookup) -> bool {
    matches!(&model.mode, ScreenMode::Choose(list) if list.awaits.as_ref() == Some(question))
}

fn did(model: &mut ScreenModel, done: Result<WriteResult, String>) -> Vec<ScreenEffect> {
    model.unsaved = model.unsaved.saturating_sub(1);
    model.ahead.done();
    came(model, done)
}

/// Takes in what something came to that was done to the store.
pub(super) fn came(model: &mut ScreenModel, done: Result<WriteResult, String>) -> Vec<ScreenEffect> {
    // Marks and words of the path may count differently now.
    model.cost = None;
    let outcome = match done {
        Ok(outcome) => outcome,
        Err(error) => {
            model.answer_after_say = false;
            model.fail(error);
            return model.look();
        }
    };
    if !outcome.said.is_empty() {
        let undo = model.keys.hint(crate::tui::keys::KeyAction::Undo).to_owned();
        let hint = if outcome.undo { format!(" · {undo} takes it back") } else { String::new() };
        model.say(format!("{}{hint}", outcome.said));
    }
    if let Some(session) = outcome.session {
        model.session = Some(session);
    }
    if let Some(versions) = outcome.versions {
        model.versions = versions;
    }
    let mut effects = Vec::new();
    if let Some(tree) = outcome.tree.filter(|tree| *tree != model.tree) {
        model.tree = tree;
        model.back.clear();
        model.marked.clear();
        model.hoist = None;
        model.with = None;
        model.sight = None;
        model.row = usize::MAX;
        // A look under way is of the other tree.
        model.looks += 1;
        model.looking = false;
    }
    if let Some(with) = outcome.with {
        model.with = with;
    }
    if let Some((title, lines)) = outcome.page {
        model.mode = ScreenMode::Read(PagePanel { title, lines, scroll: 0 });
    }
    effects.extend(match outcome.go {
        Some(to) => model.go(to),
        None => model.look(),
    });
    if let Some(said) = outcome.go.filter(|_| std::mem::take(&mut model.answer_after_say)) {
        effects.extend(generation::start(model, said, true));
    }
    if let ScreenMode::Choose(list @ ListPanel { kind: ListKind::Context, .. }) = &mut model.mode {
        let question = ScreenLookup::Context(model.at);
        list.awaits = Some(question.clone());
        effects.push(ScreenEffect::Ask(question));
    }
    effects
}
