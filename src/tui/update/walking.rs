//! Keys of the tree.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent};

use super::{does, errands, growing, typing, writing};
use crate::{
    model::Mode as TreeMode,
    tui::{
        keys::{Action, Group, KEYS},
        look::{Reading, Step},
        message::{Deed, Effect, Purpose, Question, Scope},
        model::{Ask, Kind, Layout, List, MOST, Mode, Model, Page},
        text,
        theme::Role,
        tour, view,
    },
};

pub(super) fn key(model: &mut Model, key: &KeyEvent) -> Vec<Effect> {
    if let KeyCode::Char(digit @ '1'..='9') = key.code
        && key.modifiers.is_empty()
        && model.keys.action(key).is_none()
    {
        let number = digit as usize - '0' as usize;
        model.count = number;
        model.say(format!("{number} at a time"));
        return Vec::new();
    }
    let Some(action) = model.keys.action(key) else {
        let help = model.keys.hint(Action::Help).to_owned();
        model.say(format!("that key does nothing here; {help} shows those that do"));
        return Vec::new();
    };
    tour::pressed(model, action);
    act(model, action)
}

/// Whether it steps to another node, and so may follow another step at once.
pub(crate) const fn is_step(action: Action) -> bool {
    use Action::{Child, End, LineDown, LineUp, Next, NextBookmark, Parent, Previous, Root, Version, VersionBack};
    matches!(
        action,
        Parent | Child | Next | Previous | LineDown | LineUp | Root | End | NextBookmark | Version | VersionBack
    )
}

/// Does what a key of the tree says.
pub(super) fn act(model: &mut Model, action: Action) -> Vec<Effect> {
    match action {
        Action::Parent => model.step(Step::Parent),
        Action::Child => model.step(Step::Child),
        Action::Next => model.step(Step::Sibling(true)),
        Action::Previous => model.step(Step::Sibling(false)),
        Action::LineDown => model.step(Step::Line(true)),
        Action::LineUp => model.step(Step::Line(false)),
        Action::Root => model.step(Step::Root),
        Action::End => model.step(Step::End),
        Action::NextBookmark => model.step(Step::Bookmark),
        Action::Version => model.step(Step::Version(true)),
        Action::VersionBack => model.step(Step::Version(false)),
        Action::Back => back(model),
        Action::PageDown | Action::PageUp => read_on(model, action == Action::PageUp),
        Action::Fold => fold(model),
        Action::Hoist => hoist(model),
        // In a buffer tree one writes where the text is.
        Action::Say | Action::Edit if is_buffer(model) => writing::begin(model),
        Action::Say => typing::begin(model, Purpose::Say, ""),
        Action::Generate => growing::begin(model, false),
        Action::Answer => growing::begin(model, true),
        Action::Count => typing::begin(model, Purpose::Count, ""),
        Action::Command => typing::begin(model, Purpose::Command, ""),
        Action::Annotate => typing::begin(model, Purpose::Annotate(model.at), ""),
        Action::Edit => vec![Effect::Ask(Question::Text(model.at, Purpose::Edit(model.at)))],
        Action::Split => vec![Effect::Ask(Question::Text(model.at, Purpose::Split(model.at)))],
        Action::EditOutside => match model.node() {
            Some(node) => vec![Effect::Editor(node.content.clone(), Purpose::Edit(node.id))],
            None => Vec::new(),
        },
        Action::Bookmark => bookmark(model),
        Action::Mark => mark(model),
        Action::Merge => merge(model),
        Action::CopyHere | Action::MoveHere => branch(model, action == Action::MoveHere),
        Action::Prune => vec![Effect::Ask(Question::Below(model.at))],
        Action::Undo => does(Deed::Undo),
        Action::Redo => does(Deed::Redo),
        Action::Pin => pin(model, model.at),
        Action::Exclude => exclude(model),
        Action::Diff => diff(model),
        Action::Search => open(
            model,
            "search",
            Kind::Search(Scope::default()),
            Question::Search(String::new(), Scope::default()),
            "nothing found",
        ),
        Action::Bookmarks => open(model, "bookmarks", Kind::Plain, Question::Bookmarks, "no bookmarks; b sets one"),
        Action::Restore => open(model, "pruned branches", Kind::Plain, Question::Pruned, "nothing is pruned"),
        Action::Trees => open(model, "trees", Kind::Plain, Question::Trees, "no trees"),
        Action::Sessions => open(model, "sessions", Kind::Plain, Question::Sessions, "nothing has been said yet"),
        Action::Documents => {
            open(model, "documents", Kind::Plain, Question::Documents, "no documents; `loom docs new` makes one")
        }
        Action::Models => open(
            model,
            "models: enter takes one, or leaves it out",
            Kind::Models,
            Question::Models,
            "enter takes what you wrote, such as ollama:llama3.2",
        ),
        Action::Context => open(model, "context", Kind::Context, Question::Context(model.at), "nothing"),
        Action::Reading => {
            model.reading = if model.reading == Reading::Talk { Reading::Prose } else { Reading::Talk };
            model.look()
        }
        Action::Layout => {
            model.layout = match model.layout {
                Layout::Both => Layout::Text,
                Layout::Text => Layout::Tree,
                Layout::Tree => Layout::Both,
            };
            model.look()
        }
        Action::Help => {
            model.mode = Mode::Read(help(model));
            Vec::new()
        }
        Action::Cancel => cancel(model),
        Action::Redraw => vec![Effect::Redraw],
        Action::Suspend => vec![Effect::Suspend],
        Action::Quit => quit(model),
    }
}

fn is_buffer(model: &Model) -> bool {
    model.sight.as_ref().is_some_and(|sight| sight.tree.mode == TreeMode::Buffer)
}

fn open(model: &mut Model, title: &str, kind: Kind, question: Question, empty: &'static str) -> Vec<Effect> {
    let mut list = List::new(title, kind, empty);
    // One searches for what is written then.
    let asks = !matches!(kind, Kind::Search(_));
    list.awaits = asks.then(|| question.clone());
    model.mode = Mode::Choose(list);
    if asks { vec![Effect::Ask(question)] } else { Vec::new() }
}

fn back(model: &mut Model) -> Vec<Effect> {
    let Some(before) = model.back.pop() else {
        model.say("there is nowhere to go back to");
        return Vec::new();
    };
    let effects = model.go(before);
    // Going back is no way to somewhere.
    model.back.pop();
    effects
}

/// Scrolls the text by most of a screen.
pub(super) fn read_on(model: &mut Model, up: bool) -> Vec<Effect> {
    let rows = usize::from(model.areas().text.height);
    scroll(model, rows.saturating_sub(2).max(1), up)
}

/// Scrolls the text by so many lines.
pub(super) fn scroll(model: &mut Model, lines: usize, up: bool) -> Vec<Effect> {
    let (above, below) = view::scrollable(model);
    let lines = isize::try_from(lines).unwrap_or(isize::MAX);
    if up {
        model.scroll = model.scroll.saturating_add(lines).min(above);
        return model.look();
    }
    model.scroll = model.scroll.saturating_sub(lines).max(-below);
    Vec::new()
}

fn fold(model: &mut Model) -> Vec<Effect> {
    let Some(sight) = &model.sight else { return Vec::new() };
    let place = sight.place;
    if sight.at.state.continuations == 0 && !model.folds.contains(&place) {
        model.say("nothing follows that could be folded");
        return Vec::new();
    }
    let folds = Arc::make_mut(&mut model.folds);
    if !folds.remove(&place) {
        folds.insert(place);
    }
    model.look()
}

fn hoist(model: &mut Model) -> Vec<Effect> {
    let place = model.sight.as_ref().map(|sight| sight.place);
    if model.hoist.take().is_none() {
        model.hoist = place;
        let key = model.keys.hint(Action::Hoist).to_owned();
        model.say(format!("this branch alone; {key} shows all again"));
    }
    model.look()
}

fn bookmark(model: &mut Model) -> Vec<Effect> {
    let Some(node) = model.node() else { return Vec::new() };
    let (id, marked) = (node.id, node.state.bookmark.is_some());
    if marked {
        return does(Deed::Bookmark(id, None));
    }
    typing::begin(model, Purpose::Label(id), "")
}

fn mark(model: &mut Model) -> Vec<Effect> {
    let at = model.at;
    if let Some(index) = model.marked.iter().position(|node| *node == at) {
        model.marked.remove(index);
    } else {
        model.marked.push(at);
    }
    match model.marked.len() {
        0 => model.say("nothing is marked"),
        1 => model.say("one is marked: d compares with it, Y copies, V moves it here"),
        many => model.say(format!("{many} are marked: M merges them")),
    }
    Vec::new()
}

fn merge(model: &mut Model) -> Vec<Effect> {
    let mut nodes = model.marked.clone();
    if !nodes.contains(&model.at) {
        nodes.push(model.at);
    }
    if nodes.len() < 2 {
        model.fail("mark another node with x first; a merge draws on two or more");
        return Vec::new();
    }
    typing::begin(model, Purpose::Merge(nodes), "")
}

fn branch(model: &mut Model, moves: bool) -> Vec<Effect> {
    let [from] = model.marked[..] else {
        model.fail("mark the branch with x first, exactly one");
        return Vec::new();
    };
    let to = model.at;
    model.marked.clear();
    does(if moves { Deed::Move(from, to) } else { Deed::Copy(from, to) })
}

/// Pins a node, or lets go of it.
pub(super) fn pin(model: &mut Model, node: crate::id::NodeId) -> Vec<Effect> {
    let pinned = model.sight.as_ref().is_some_and(|sight| sight.pins.contains(&node));
    does(Deed::Pin(node, !pinned))
}

fn exclude(model: &mut Model) -> Vec<Effect> {
    let Some(node) = model.node() else { return Vec::new() };
    let (id, out) = (node.id, node.state.excluded);
    does(Deed::Exclude(id, !out))
}

fn diff(model: &mut Model) -> Vec<Effect> {
    let other = model.marked.last().copied().or(model.back.last().copied()).filter(|other| *other != model.at);
    let Some(other) = other else {
        model.fail("mark the other branch with x first");
        return Vec::new();
    };
    vec![Effect::Ask(Question::Diff(other, model.at))]
}

fn cancel(model: &mut Model) -> Vec<Effect> {
    if let Some(growth) = model.growth.as_ref().filter(|growth| growth.running) {
        return vec![Effect::Cancel(growth.job.number, None)];
    }
    if let Some(stop) = errands::stop(model) {
        return stop;
    }
    if model.tour.take().is_some() || model.notice.take().is_some() {
        return Vec::new();
    }
    if !model.marked.is_empty() {
        model.marked.clear();
        model.say("nothing is marked");
        return Vec::new();
    }
    if model.scroll != 0 {
        model.scroll = 0;
        return Vec::new();
    }
    if model.hoist.is_some() {
        model.hoist = None;
        return model.look();
    }
    let key = model.keys.hint(Action::Quit).to_owned();
    model.say(format!("nothing is open; {key} leaves"));
    Vec::new()
}

/// Leaves, but asks first while something is being generated.
pub(super) fn quit(model: &mut Model) -> Vec<Effect> {
    let stand = model.session.map(|_| Effect::Do(Deed::Stand(model.at)));
    let leave: Vec<Effect> = stand.into_iter().chain([Effect::Quit]).collect();
    if model.growth.as_ref().is_some_and(|growth| growth.running) || !model.errands.is_empty() {
        model.mode = Mode::Ask(Box::new(Ask::plain(
            "Something still runs. Leave? What a model has written is kept.",
            Effect::Quit,
        )));
        return Vec::new();
    }
    leave
}

/// Every key, as it is bound now.
fn help(model: &Model) -> Page {
    use ratatui::{style::Style, text::Line};
    let palette = model.palette;
    let room = usize::from(view::popup_width(model.width)).saturating_sub(4);
    let mut lines = Vec::new();
    for group in Group::ALL {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::styled(group.title(), palette.style(Role::Accent)));
        for binding in KEYS.iter().filter(|binding| binding.group == group) {
            let keys: Vec<&str> =
                model.keys.names(binding.action).iter().map(|key| crate::tui::keys::shown(key)).collect();
            let keys = [(format!("  {:<16}", keys.join(" ")), palette.style(Role::Id))];
            let rest = [(" ".repeat(18), palette.style(Role::Id))];
            lines.extend(text::wrap(&[(binding.help.to_owned(), Style::new())], room, &keys, &rest));
        }
    }
    lines.push(Line::default());
    let buffer = model.sight.as_ref().is_some_and(|sight| sight.tree.mode == TreeMode::Buffer);
    let about = if buffer {
        "a buffer tree: an edit is a version, what follows stays"
    } else {
        "a dialogue tree: an edit is a branch"
    };
    let about = format!("This is {about}. Up to {MOST} continuations at a time.");
    lines.extend(text::wrap(&[(about, palette.style(Role::Dim))], room, &[], &[]));
    Page { title: "keys".to_owned(), lines, scroll: 0 }
}
