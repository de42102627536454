//! Generating, and what is done with what comes: continuations stream side by side, one is chosen, the others stay or go.

use crossterm::event::{KeyCode, KeyEvent};

use super::{command_jobs, does};
use crate::{
    id::NodeId,
    tui::{
        keys::KeyAction,
        message::{GenerationEvent, GenerationJob, ScreenEffect, WriteRequest},
        model::{GenerationColumn, GenerationPanel, ScreenMode, ScreenModel},
    },
};

/// Has models continue the node, or the collaborator answer it.
pub(super) fn begin(model: &mut ScreenModel, turn: bool) -> Vec<ScreenEffect> {
    start(model, model.at, turn)
}

/// The same, from a node.
pub(super) fn start(model: &mut ScreenModel, from: NodeId, turn: bool) -> Vec<ScreenEffect> {
    if model.growth.is_some() {
        // What is there is looked at before more is asked for.
        model.mode = ScreenMode::Grow;
        return Vec::new();
    }
    model.jobs += 1;
    let job = GenerationJob {
        number: model.jobs,
        from,
        versions: model.versions.clone(),
        models: model.models.clone(),
        n: if turn { 1 } else { model.count },
        turn,
        tools: model.tools,
        with: model.with.clone(),
    };
    model.growth = Some(GenerationPanel { job: job.clone(), columns: Vec::new(), at: 0, scroll: 0, running: true });
    model.mode = ScreenMode::Grow;
    model.notice = None;
    vec![ScreenEffect::Generate(job)]
}

/// Takes a model for generating, or leaves it out.
pub(super) fn toggle(model: &mut ScreenModel, reference: &str) {
    if let Some(at) = model.models.iter().position(|name| name == reference) {
        model.models.remove(at);
        model.say(format!("without {reference}"));
    } else if !reference.is_empty() {
        model.models.push(reference.to_owned());
        model.say(format!("with {}", model.models.join(", ")));
    }
}

pub(super) fn key(model: &mut ScreenModel, key: &KeyEvent) -> Vec<ScreenEffect> {
    let Some(growth) = &mut model.growth else {
        model.mode = ScreenMode::Walk;
        return model.look();
    };
    let last = growth.columns.len().saturating_sub(1);
    if let KeyCode::Char(digit @ '1'..='9') = key.code
        && key.modifiers.is_empty()
    {
        let index = digit as usize - '1' as usize;
        if index <= last {
            growth.at = index;
            return choose(model, false);
        }
        return Vec::new();
    }
    match model.keys.action(key) {
        Some(KeyAction::Parent) => growth.at = growth.at.checked_sub(1).unwrap_or(last),
        Some(KeyAction::Child) => growth.at = if growth.at == last { 0 } else { growth.at + 1 },
        Some(KeyAction::Generate) => return choose(model, false),
        Some(KeyAction::Prune) => return choose(model, true),
        Some(KeyAction::Mark) => {
            let column = growth.at;
            let open = growth.columns.get(column).is_some_and(|column| !column.ended);
            if open {
                return vec![ScreenEffect::Cancel(growth.job.number, Some(column))];
            }
        }
        Some(KeyAction::Cancel) if growth.running => return vec![ScreenEffect::Cancel(growth.job.number, None)],
        Some(KeyAction::Cancel | KeyAction::Quit) if !growth.running => return close(model),
        Some(KeyAction::Next | KeyAction::PageDown) => growth.scroll += 3,
        Some(KeyAction::Previous | KeyAction::PageUp) => growth.scroll = growth.scroll.saturating_sub(3),
        // The columns stay where they are; the keys walk the tree meanwhile.
        Some(KeyAction::Say | KeyAction::Quit | KeyAction::Layout) => {
            model.mode = ScreenMode::Walk;
            let key = model.keys.hint(KeyAction::Generate).to_owned();
            model.say(format!("still writing; {key} shows the columns again"));
            return model.look();
        }
        _ => {}
    }
    Vec::new()
}

/// Goes to the chosen continuation. The others stay as branches, or are pruned.
fn choose(model: &mut ScreenModel, prune: bool) -> Vec<ScreenEffect> {
    let Some(growth) = &model.growth else { return Vec::new() };
    let Some(node) = growth.columns.get(growth.at).and_then(|column| column.saved.last().copied()) else {
        let said = match growth.columns.get(growth.at) {
            Some(GenerationColumn { error: Some(_), .. }) => "this one failed; there is nothing to take",
            _ => "this one is not ready yet",
        };
        model.say(said);
        return Vec::new();
    };
    if growth.running {
        model.say("others are still writing; esc stops them, or choose when they are done");
        return Vec::new();
    }
    let others: Vec<NodeId> = growth
        .columns
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != growth.at)
        .filter_map(|(_, column)| column.saved.first().copied())
        .collect();
    model.growth = None;
    model.mode = ScreenMode::Walk;
    let mut effects = model.go(node);
    if prune && !others.is_empty() {
        effects.extend(does(WriteRequest::PruneAll(others)));
    }
    effects
}

/// Closes the columns; everything that came is there as branches.
fn close(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let said =
        model.growth.take().map(|growth| growth.columns.iter().filter(|column| !column.saved.is_empty()).count());
    model.mode = ScreenMode::Walk;
    if let Some(saved @ 1..) = said {
        model.say(if saved == 1 {
            "it is kept as a branch".to_owned()
        } else {
            format!("all {saved} are kept as branches")
        });
    }
    model.look()
}

/// Takes in what is heard of a generation.
pub(super) fn grew(model: &mut ScreenModel, number: u64, growing: GenerationEvent) -> Vec<ScreenEffect> {
    command_jobs::opens(model, number, &growing);
    let Some(growth) = model.growth.as_mut().filter(|growth| growth.job.number == number) else { return Vec::new() };
    let turn = growth.job.turn;
    let columns = &mut growth.columns;
    match growing {
        GenerationEvent::Began(models) => {
            columns.extend(models.into_iter().map(|model| GenerationColumn { model, ..GenerationColumn::default() }));
        }
        GenerationEvent::Text(index, text) => {
            if let Some(column) = columns.get_mut(index) {
                column.text.push_str(&text);
            }
        }
        GenerationEvent::Saved(index, node, whole) => {
            if let Some(column) = columns.get_mut(index) {
                column.saved.push(node);
                if turn {
                    column.text.push('\n');
                } else {
                    column.text = whole;
                    column.ended = true;
                }
            }
            return model.look();
        }
        GenerationEvent::Ran(index, line, answer) => {
            if let Some(column) = columns.get_mut(index) {
                if !column.text.is_empty() && !column.text.ends_with('\n') {
                    column.text.push('\n');
                }
                column.text.push_str(&format!("{line}\n  ⤷ {answer}\n"));
            }
        }
        GenerationEvent::Noted(index, line) => {
            if let Some(column) = columns.get_mut(index) {
                if !column.text.is_empty() && !column.text.ends_with('\n') {
                    column.text.push('\n');
                }
                column.text.push_str(&format!("{line}\n"));
            }
        }
        GenerationEvent::Failed(index, error, saved) => {
            if let Some(column) = columns.get_mut(index) {
                column.error = Some(error);
                column.saved.extend(saved);
                column.ended = true;
            }
        }
        GenerationEvent::Ended(error, stands) => return ended(model, error, stands),
    }
    Vec::new()
}

/// All have ended. Where there is one and it is watched, the cursor goes to it.
pub(super) fn ended(model: &mut ScreenModel, error: Option<String>, stands: Option<NodeId>) -> Vec<ScreenEffect> {
    let Some(growth) = &mut model.growth else { return Vec::new() };
    growth.running = false;
    for column in &mut growth.columns {
        column.ended = true;
    }
    let saved: Vec<NodeId> = growth.columns.iter().filter_map(|column| column.saved.last().copied()).collect();
    let failed = growth.columns.iter().find_map(|column| column.error.clone());
    let watched = matches!(model.mode, ScreenMode::Grow);
    match (saved.as_slice(), error.or(failed)) {
        ([], Some(error)) => {
            model.growth = None;
            if watched {
                model.mode = ScreenMode::Walk;
            }
            model.fail(error);
        }
        ([one], failed) if growth.columns.len() <= 1 => {
            let to = stands.unwrap_or(*one);
            let from = growth.job.from;
            model.growth = None;
            if let Some(failed) = failed {
                model.fail(failed);
            }
            if watched {
                model.mode = ScreenMode::Walk;
            }
            // Whoever went elsewhere meanwhile is not taken away from there.
            if watched || model.at == from {
                return model.go(to);
            }
        }
        _ => {}
    }
    model.look()
}
