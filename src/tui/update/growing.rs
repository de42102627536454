//! Generating, and what is done with what comes: continuations stream side by side, one is chosen, the others stay or go.

use crossterm::event::{KeyCode, KeyEvent};

use super::{does, errands};
use crate::{
    id::NodeId,
    tui::{
        keys::Action,
        message::{Deed, Effect, Growing, Job},
        model::{Column, Growth, Mode, Model},
    },
};

/// Has models continue the node, or the collaborator answer it.
pub(super) fn begin(model: &mut Model, turn: bool) -> Vec<Effect> {
    start(model, model.at, turn)
}

/// The same, from a node.
pub(super) fn start(model: &mut Model, from: NodeId, turn: bool) -> Vec<Effect> {
    if model.growth.is_some() {
        // What is there is looked at before more is asked for.
        model.mode = Mode::Grow;
        return Vec::new();
    }
    model.jobs += 1;
    let job = Job {
        number: model.jobs,
        from,
        versions: model.versions.clone(),
        models: model.models.clone(),
        n: if turn { 1 } else { model.count },
        turn,
        tools: model.tools,
        with: model.with.clone(),
    };
    model.growth = Some(Growth { job: job.clone(), columns: Vec::new(), at: 0, scroll: 0, running: true });
    model.mode = Mode::Grow;
    model.notice = None;
    vec![Effect::Generate(job)]
}

/// Takes a model for generating, or leaves it out.
pub(super) fn toggle(model: &mut Model, reference: &str) {
    if let Some(at) = model.models.iter().position(|name| name == reference) {
        model.models.remove(at);
        model.say(format!("without {reference}"));
    } else if !reference.is_empty() {
        model.models.push(reference.to_owned());
        model.say(format!("with {}", model.models.join(", ")));
    }
}

pub(super) fn key(model: &mut Model, key: &KeyEvent) -> Vec<Effect> {
    let Some(growth) = &mut model.growth else {
        model.mode = Mode::Walk;
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
        Some(Action::Parent) => growth.at = growth.at.checked_sub(1).unwrap_or(last),
        Some(Action::Child) => growth.at = if growth.at == last { 0 } else { growth.at + 1 },
        Some(Action::Generate) => return choose(model, false),
        Some(Action::Prune) => return choose(model, true),
        Some(Action::Mark) => {
            let column = growth.at;
            let open = growth.columns.get(column).is_some_and(|column| !column.ended);
            if open {
                return vec![Effect::Cancel(growth.job.number, Some(column))];
            }
        }
        Some(Action::Cancel) if growth.running => return vec![Effect::Cancel(growth.job.number, None)],
        Some(Action::Cancel | Action::Quit) if !growth.running => return close(model),
        Some(Action::Next | Action::PageDown) => growth.scroll += 3,
        Some(Action::Previous | Action::PageUp) => growth.scroll = growth.scroll.saturating_sub(3),
        // The columns stay where they are; the keys walk the tree meanwhile.
        Some(Action::Say | Action::Quit | Action::Layout) => {
            model.mode = Mode::Walk;
            let key = model.keys.hint(Action::Generate).to_owned();
            model.say(format!("still writing; {key} shows the columns again"));
            return model.look();
        }
        _ => {}
    }
    Vec::new()
}

/// Goes to the chosen continuation. The others stay as branches, or are pruned.
fn choose(model: &mut Model, prune: bool) -> Vec<Effect> {
    let Some(growth) = &model.growth else { return Vec::new() };
    let Some(node) = growth.columns.get(growth.at).and_then(|column| column.saved.last().copied()) else {
        let said = match growth.columns.get(growth.at) {
            Some(Column { error: Some(_), .. }) => "this one failed; there is nothing to take",
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
    model.mode = Mode::Walk;
    let mut effects = model.go(node);
    if prune && !others.is_empty() {
        effects.extend(does(Deed::PruneAll(others)));
    }
    effects
}

/// Closes the columns; everything that came is there as branches.
fn close(model: &mut Model) -> Vec<Effect> {
    let said =
        model.growth.take().map(|growth| growth.columns.iter().filter(|column| !column.saved.is_empty()).count());
    model.mode = Mode::Walk;
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
pub(super) fn grew(model: &mut Model, number: u64, growing: Growing) -> Vec<Effect> {
    errands::opens(model, number, &growing);
    let Some(growth) = model.growth.as_mut().filter(|growth| growth.job.number == number) else { return Vec::new() };
    let turn = growth.job.turn;
    let columns = &mut growth.columns;
    match growing {
        Growing::Began(models) => {
            columns.extend(models.into_iter().map(|model| Column { model, ..Column::default() }));
        }
        Growing::Text(index, text) => {
            if let Some(column) = columns.get_mut(index) {
                column.text.push_str(&text);
            }
        }
        Growing::Saved(index, node, whole) => {
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
        Growing::Ran(index, line, answer) => {
            if let Some(column) = columns.get_mut(index) {
                if !column.text.is_empty() && !column.text.ends_with('\n') {
                    column.text.push('\n');
                }
                column.text.push_str(&format!("{line}\n  ⤷ {answer}\n"));
            }
        }
        Growing::Noted(index, line) => {
            if let Some(column) = columns.get_mut(index) {
                if !column.text.is_empty() && !column.text.ends_with('\n') {
                    column.text.push('\n');
                }
                column.text.push_str(&format!("{line}\n"));
            }
        }
        Growing::Failed(index, error, saved) => {
            if let Some(column) = columns.get_mut(index) {
                column.error = Some(error);
                column.saved.extend(saved);
                column.ended = true;
            }
        }
        Growing::Ended(error, stands) => return ended(model, error, stands),
    }
    Vec::new()
}

/// All have ended. Where there is one and it is watched, the cursor goes to it.
pub(super) fn ended(model: &mut Model, error: Option<String>, stands: Option<NodeId>) -> Vec<Effect> {
    let Some(growth) = &mut model.growth else { return Vec::new() };
    growth.running = false;
    for column in &mut growth.columns {
        column.ended = true;
    }
    let saved: Vec<NodeId> = growth.columns.iter().filter_map(|column| column.saved.last().copied()).collect();
    let failed = growth.columns.iter().find_map(|column| column.error.clone());
    let watched = matches!(model.mode, Mode::Grow);
    match (saved.as_slice(), error.or(failed)) {
        ([], Some(error)) => {
            model.growth = None;
            if watched {
                model.mode = Mode::Walk;
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
                model.mode = Mode::Walk;
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
