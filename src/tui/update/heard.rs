//! What the background reports.

use super::{choosing, does, errands, growing, typing, writing};
use crate::tui::{
    look::Step,
    message::{Answer, Deed, Effect, Heard, Outcome, Purpose, Question},
    model::{Ask, Cost, Kind, List, Mode, Model, Page, Typing},
};

pub(super) fn heard(model: &mut Model, heard: Heard) -> Vec<Effect> {
    match heard {
        Heard::Seen(number, seen) => saw(model, number, seen),
        Heard::Answered(question, answer) => answered(model, question, answer),
        Heard::Done(done) => did(model, done.map(|outcome| *outcome)),
        Heard::Grew(number, growing) => growing::grew(model, number, growing),
        Heard::Ran(number, done) => errands::ended(model, number, done.map(|outcome| *outcome)),
        Heard::Passed => Vec::new(),
        Heard::Coloured | Heard::Changed => model.look(),
        Heard::Asking(number, asking) => {
            model.asked.push_back((number, asking));
            Vec::new()
        }
        Heard::Withdrawn(number) => choosing::withdrawn(model, number),
        Heard::Edited(purpose, None) => {
            model.say("nothing was changed");
            drop(purpose);
            model.look()
        }
        Heard::Edited(purpose, Some(text)) => {
            model.mode = Mode::Walk;
            let end = text.len();
            let mut effects = model.look();
            effects.extend(typing::written(model, purpose, text, end));
            effects
        }
    }
}

fn saw(model: &mut Model, number: u64, seen: Result<Box<crate::tui::look::Sight>, String>) -> Vec<Effect> {
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
                writing::seen(model);
                if let Some(version) = chosen {
                    before.push(Effect::Do(Deed::Version(version)));
                }
            }
        }
        Err(error) => {
            model.steps.clear();
            if let Mode::Write(prose) = &mut model.mode {
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
        effects.push(Effect::Ask(Question::Cost(model.at)));
    }
    effects
}

fn stuck(model: &mut Model, step: Step) {
    model.say(match step {
        Step::Parent => "this is the beginning",
        Step::Child | Step::End => "nothing follows yet; space has models continue, i writes a line",
        Step::Sibling(_) => "there is no other branch here",
        Step::Line(_) => "this is the last line",
        Step::Root => "this is the root",
        Step::Bookmark => "no other bookmark; b sets one",
        Step::Version(_) => "no other wording this way",
    });
}

fn answered(model: &mut Model, question: Question, answer: Result<Answer, String>) -> Vec<Effect> {
    if !model.ahead.hears(&question) {
        return Vec::new();
    }
    let answer = match answer {
        Ok(answer) => answer,
        // What the next prompt costs is nothing that anybody asked for.
        Err(_) if matches!(question, Question::Cost(_)) => return Vec::new(),
        Err(error) => {
            if waits_for(model, &question) {
                model.mode = Mode::Walk;
            }
            model.fail(error);
            return Vec::new();
        }
    };
    match (question, answer) {
        (Question::Cost(at), Answer::Cost { tokens, budget, money }) => {
            model.cost = Some(Cost { at, tokens, budget, money });
        }
        (question, Answer::Items(items)) if waits_for(model, &question) => {
            if let Mode::Choose(list) = &mut model.mode {
                list.items = items;
                list.awaits = None;
                list.at = list.at.min(list.shown().len().saturating_sub(1));
            }
        }
        (_, Answer::Page(title, lines)) => model.mode = Mode::Read(Page { title, lines, scroll: 0 }),
        (Question::Below(node), Answer::Below(count, more)) => {
            let deed = Deed::Prune(node);
            if count == 0 {
                return does(deed);
            }
            let many = if more { format!("more than {count}") } else { count.to_string() };
            let text = format!("Prune this node and {many} below it? u takes it back.");
            model.mode = Mode::Ask(Box::new(Ask::plain(text, Effect::Do(deed))));
        }
        (_, Answer::Node(node)) => return model.go(node),
        (Question::Text(_, purpose), Answer::Text(text)) => {
            typing::begin(model, purpose, text);
            if let Mode::Type(typing @ Typing { purpose: Purpose::Split(_), .. }) = &mut model.mode {
                typing.editor.place(0);
            }
        }
        _ => {}
    }
    Vec::new()
}

/// Whether a list waits for this answer.
fn waits_for(model: &Model, question: &Question) -> bool {
    matches!(&model.mode, Mode::Choose(list) if list.awaits.as_ref() == Some(question))
}

fn did(model: &mut Model, done: Result<Outcome, String>) -> Vec<Effect> {
    model.unsaved = model.unsaved.saturating_sub(1);
    model.ahead.done();
    came(model, done)
}

/// Takes in what something came to that was done to the store.
pub(super) fn came(model: &mut Model, done: Result<Outcome, String>) -> Vec<Effect> {
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
        let undo = model.keys.hint(crate::tui::keys::Action::Undo).to_owned();
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
        model.mode = Mode::Read(Page { title, lines, scroll: 0 });
    }
    effects.extend(match outcome.go {
        Some(to) => model.go(to),
        None => model.look(),
    });
    if let Some(said) = outcome.go.filter(|_| std::mem::take(&mut model.answer_after_say)) {
        effects.extend(growing::start(model, said, true));
    }
    if let Mode::Choose(list @ List { kind: Kind::Context, .. }) = &mut model.mode {
        let question = Question::Context(model.at);
        list.awaits = Some(question.clone());
        effects.push(Effect::Ask(question));
    }
    effects
}
