//! Generation: continuations stream side by side; the user takes one and keeps or prunes the others.

use crossterm::event::{KeyCode, KeyEvent};

use super::{command_jobs, write};
use crate::{
    id::NodeId,
    provider::known_providers,
    tui::{
        keys::KeyAction,
        message::{GenerationEvent, GenerationJob, ScreenEffect, WriteRequest},
        model::{GenerationColumn, GenerationPanel, ScreenMode, ScreenModel},
    },
};

/// Starts continuations of the cursor's node, or an agent's turn.
pub(super) fn begin(model: &mut ScreenModel, turn: bool) -> Vec<ScreenEffect> {
    start(model, model.cursor, turn)
}

/// Starts a generation from a node.
pub(super) fn start(model: &mut ScreenModel, from: NodeId, turn: bool) -> Vec<ScreenEffect> {
    if model.generation_panel.is_some() {
        // Existing columns are shown before more are requested.
        model.mode = ScreenMode::Generating;
        return Vec::new();
    }
    model.last_job += 1;
    let job = GenerationJob {
        number: model.last_job,
        from,
        versions: model.versions.clone(),
        models: model.models.clone(),
        n: if turn { 1 } else { model.count },
        turn,
        tools: model.tools,
        responder: model.responder.clone(),
    };
    model.generation_panel =
        Some(GenerationPanel { job: job.clone(), columns: Vec::new(), selected: 0, scroll: 0, running: true });
    model.mode = ScreenMode::Generating;
    model.notice = None;
    vec![ScreenEffect::Generate(job)]
}

/// Returns whether a reference may name a model, without a request to a server.
fn may_name_model(model: &ScreenModel, reference: &str) -> bool {
    let provider = reference.split_once(':').map_or(reference, |(provider, _)| provider);
    model.configured_models.iter().chain(&model.default_model).any(|known| known == reference)
        || ["http", "https", "local", "scripted"].contains(&provider)
        || known_providers().any(|known| known == provider)
}

/// Adds a model to the selection, or removes it.
pub(super) fn toggle_model(model: &mut ScreenModel, reference: &str) {
    if let Some(at) = model.models.iter().position(|name| name == reference) {
        model.models.remove(at);
        model.notify(format!("without {reference}"));
    } else if !may_name_model(model, reference) {
        model.notify_error(format!("unknown model {reference}: write provider:model, a URL or a configured name"));
    } else {
        model.models.push(reference.to_owned());
        model.notify(format!("with {}", model.models.join(", ")));
    }
}

pub(super) fn key(model: &mut ScreenModel, key: &KeyEvent) -> Vec<ScreenEffect> {
    let Some(generation_panel) = &mut model.generation_panel else {
        model.mode = ScreenMode::Tree;
        return model.load_screen();
    };
    let last = generation_panel.columns.len().saturating_sub(1);
    if let KeyCode::Char(digit @ '1'..='9') = key.code
        && key.modifiers.is_empty()
    {
        let index = digit as usize - '1' as usize;
        if index <= last {
            generation_panel.selected = index;
            return choose(model, false);
        }
        return Vec::new();
    }
    match model.keys.action(key) {
        Some(KeyAction::Parent) => generation_panel.selected = generation_panel.selected.checked_sub(1).unwrap_or(last),
        Some(KeyAction::Child) => {
            generation_panel.selected =
                if generation_panel.selected == last { 0 } else { generation_panel.selected + 1 }
        }
        Some(KeyAction::Generate) => return choose(model, false),
        Some(KeyAction::Prune) => return choose(model, true),
        Some(KeyAction::Mark) => {
            let column = generation_panel.selected;
            let open = generation_panel.columns.get(column).is_some_and(|column| !column.ended);
            if open {
                return vec![ScreenEffect::Cancel(generation_panel.job.number, Some(column))];
            }
        }
        Some(KeyAction::Cancel) if generation_panel.running => {
            return vec![ScreenEffect::Cancel(generation_panel.job.number, None)];
        }
        Some(KeyAction::Cancel | KeyAction::Quit) if !generation_panel.running => return close(model),
        Some(KeyAction::Next | KeyAction::PageDown) => generation_panel.scroll += 3,
        Some(KeyAction::Previous | KeyAction::PageUp) => {
            generation_panel.scroll = generation_panel.scroll.saturating_sub(3)
        }
        // The columns stay open; keys navigate the tree meanwhile.
        Some(KeyAction::Say | KeyAction::Quit | KeyAction::Layout) => {
            model.mode = ScreenMode::Tree;
            let key = model.keys.hint(KeyAction::Generate).to_owned();
            model.notify(format!("still writing; {key} shows the columns again"));
            return model.load_screen();
        }
        _ => {}
    }
    Vec::new()
}

/// Moves to the selected continuation. The others stay as branches, or are pruned.
fn choose(model: &mut ScreenModel, prune: bool) -> Vec<ScreenEffect> {
    let Some(generation_panel) = &model.generation_panel else { return Vec::new() };
    let Some(node) =
        generation_panel.columns.get(generation_panel.selected).and_then(|column| column.saved.last().copied())
    else {
        let message = match generation_panel.columns.get(generation_panel.selected) {
            Some(GenerationColumn { error: Some(_), .. }) => "this one failed; it has no text",
            _ => "this one is not ready yet",
        };
        model.notify(message);
        return Vec::new();
    };
    if generation_panel.running {
        model.notify("others are still writing; esc stops them, or choose when they are done");
        return Vec::new();
    }
    let others: Vec<NodeId> = generation_panel
        .columns
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != generation_panel.selected)
        .filter_map(|(_, column)| column.saved.first().copied())
        .collect();
    model.generation_panel = None;
    model.mode = ScreenMode::Tree;
    let mut effects = model.go_to(node);
    if prune && !others.is_empty() {
        effects.extend(write(WriteRequest::PruneAll(others)));
    }
    effects
}

/// Closes the columns; all continuations stay as branches.
fn close(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let message = model
        .generation_panel
        .take()
        .map(|generation_panel| generation_panel.columns.iter().filter(|column| !column.saved.is_empty()).count());
    model.mode = ScreenMode::Tree;
    if let Some(saved @ 1..) = message {
        model.notify(if saved == 1 {
            "it is saved as a branch".to_owned()
        } else {
            format!("all {saved} are saved as branches")
        });
    }
    model.load_screen()
}

/// Applies an event of a generation.
pub(super) fn on_event(model: &mut ScreenModel, number: u64, event: GenerationEvent) -> Vec<ScreenEffect> {
    command_jobs::open_columns(model, number, &event);
    let Some(generation_panel) =
        model.generation_panel.as_mut().filter(|generation_panel| generation_panel.job.number == number)
    else {
        return Vec::new();
    };
    let turn = generation_panel.job.turn;
    let columns = &mut generation_panel.columns;
    match event {
        GenerationEvent::Started(models) => {
            // A command job, with no continuations of its own, names its columns by their lines.
            let is_default = !turn && generation_panel.job.models.is_empty() && generation_panel.job.n > 0;
            if is_default && model.default_model.is_none() {
                model.default_model = models.first().cloned();
            }
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
            return model.load_screen();
        }
        GenerationEvent::CommandRan(index, line, answer) => {
            if let Some(column) = columns.get_mut(index) {
                if !column.text.is_empty() && !column.text.ends_with('\n') {
                    column.text.push('\n');
                }
                column.text.push_str(&format!("{line}\n  ⤷ {answer}\n"));
            }
        }
        GenerationEvent::DelegationNote(index, line) => {
            if let Some(column) = columns.get_mut(index) {
                if !column.text.is_empty() && !column.text.ends_with('\n') {
                    column.text.push('\n');
                }
                column.text.push_str(&format!("{line}\n"));
            }
        }
        GenerationEvent::TodosLeftOpen(index, line) => {
            if let Some(column) = columns.get_mut(index) {
                column.left_open = Some(line);
            }
        }
        GenerationEvent::Failed(index, error, saved) => {
            if let Some(column) = columns.get_mut(index) {
                column.error = Some(error);
                column.saved.extend(saved);
                column.ended = true;
            }
        }
        GenerationEvent::Finished(error, position) => return finish(model, error, position),
    }
    Vec::new()
}

/// Applies the end of a generation. The cursor moves to a single continuation if the user watches.
pub(super) fn finish(model: &mut ScreenModel, error: Option<String>, position: Option<NodeId>) -> Vec<ScreenEffect> {
    let Some(generation_panel) = &mut model.generation_panel else { return Vec::new() };
    generation_panel.running = false;
    for column in &mut generation_panel.columns {
        column.ended = true;
    }
    let saved: Vec<NodeId> =
        generation_panel.columns.iter().filter_map(|column| column.saved.last().copied()).collect();
    let failed = generation_panel.columns.iter().find_map(|column| column.error.clone());
    let watched = matches!(model.mode, ScreenMode::Generating);
    match (saved.as_slice(), error.or(failed)) {
        ([], Some(error)) => {
            model.generation_panel = None;
            if watched {
                model.mode = ScreenMode::Tree;
            }
            model.notify_error(error);
        }
        ([one], failed) if generation_panel.columns.len() <= 1 => {
            let to = position.unwrap_or(*one);
            let from = generation_panel.job.from;
            let left_open = generation_panel.columns.iter().find_map(|column| column.left_open.clone());
            model.generation_panel = None;
            match (failed, left_open) {
                (Some(failed), _) => model.notify_error(failed),
                (None, Some(left_open)) => model.notify(left_open),
                (None, None) => {}
            }
            if watched {
                model.mode = ScreenMode::Tree;
            }
            // The cursor is not moved if the user moved it meanwhile.
            if watched || model.cursor == from {
                return model.go_to(to);
            }
        }
        _ => {}
    }
    model.load_screen()
}
