//! Keys of the tree.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent};

use super::{buffer_keys, command_jobs, generation, input_keys, write};
use crate::{
    arrow::{Command, NodeRef},
    id::NodeId,
    tui::{
        keys::{KEYS, KeyAction, KeyGroup},
        line_wrap,
        message::{InputPurpose, ScreenEffect, ScreenLookup, WriteRequest},
        model::{ConfirmPanel, ListKind, ListPanel, MAX_CONTINUATIONS, PagePanel, PaneLayout, ScreenMode, ScreenModel},
        screen_query::{NavigationStep, ReadingMode},
        search_scope::LookupScope,
        theme::ColorRole,
        tour, view,
    },
    types::Mode as TreeMode,
};

pub(super) fn key(model: &mut ScreenModel, key: &KeyEvent) -> Vec<ScreenEffect> {
    if let KeyCode::Char(digit @ '1'..='9') = key.code
        && key.modifiers.is_empty()
        && model.keys.action(key).is_none()
    {
        let number = digit as usize - '0' as usize;
        model.count = number;
        model.notify(format!("{number} at a time"));
        return Vec::new();
    }
    let Some(action) = model.keys.action(key) else {
        let help = model.keys.hint(KeyAction::Help).to_owned();
        model.notify(format!("this key is not bound; {help} shows all keys"));
        return Vec::new();
    };
    tour::advance(model, action);
    act(model, action)
}

/// Returns the navigation step of an action; `None` if it is no step.
pub(crate) const fn step_of(action: KeyAction) -> Option<NavigationStep> {
    Some(match action {
        KeyAction::Parent => NavigationStep::Parent,
        KeyAction::Child => NavigationStep::Child,
        KeyAction::Next => NavigationStep::Sibling(true),
        KeyAction::Previous => NavigationStep::Sibling(false),
        KeyAction::LineDown => NavigationStep::Line(true),
        KeyAction::LineUp => NavigationStep::Line(false),
        KeyAction::Root => NavigationStep::Root,
        KeyAction::End => NavigationStep::End,
        KeyAction::NextBookmark => NavigationStep::Bookmark,
        KeyAction::Version => NavigationStep::Version(true),
        KeyAction::VersionBack => NavigationStep::Version(false),
        _ => return None,
    })
}

/// Runs an action of the tree.
pub(super) fn act(model: &mut ScreenModel, action: KeyAction) -> Vec<ScreenEffect> {
    if let Some(step) = step_of(action) {
        return model.step(step);
    }
    match action {
        KeyAction::Back => back(model),
        KeyAction::PageDown | KeyAction::PageUp => scroll_page(model, action == KeyAction::PageUp),
        KeyAction::Fold => fold(model),
        KeyAction::Hoist => hoist(model),
        // A buffer tree is edited in place.
        KeyAction::Say | KeyAction::Edit if is_buffer(model) => buffer_keys::open(model),
        KeyAction::Say => input_keys::open(model, InputPurpose::Append, ""),
        KeyAction::Generate => generation::begin(model, false),
        KeyAction::Answer => generation::begin(model, true),
        KeyAction::Count => input_keys::open(model, InputPurpose::Count, ""),
        KeyAction::Command => input_keys::open(model, InputPurpose::Command, ""),
        KeyAction::Annotate => {
            let note = InputPurpose::change(model.cursor, |node| Command::Annotate { node, content: String::new() });
            input_keys::open(model, note, "")
        }
        KeyAction::Edit => {
            vec![ScreenEffect::Query(ScreenLookup::Text(vec![model.cursor], edit(model.cursor)))]
        }
        KeyAction::Split => {
            let place = |node| Command::Split { node, at: None, after: None };
            let purpose = InputPurpose::change(model.cursor, place);
            vec![ScreenEffect::Query(ScreenLookup::Text(vec![model.cursor], purpose))]
        }
        KeyAction::EditOutside => match model.node() {
            Some(node) => vec![ScreenEffect::OpenEditor(node.content.clone(), edit(node.id))],
            None => Vec::new(),
        },
        KeyAction::Bookmark => bookmark(model),
        KeyAction::Mark => mark(model),
        KeyAction::Merge => merge(model),
        KeyAction::CopyHere | KeyAction::MoveHere => copy_or_move(model, action == KeyAction::MoveHere),
        KeyAction::Prune if model.node().is_some_and(|node| node.parent.is_none()) => {
            model.notify("the root cannot be pruned");
            Vec::new()
        }
        KeyAction::Prune => vec![ScreenEffect::Query(ScreenLookup::DescendantCount(model.cursor))],
        KeyAction::Undo => write(WriteRequest::Undo),
        KeyAction::Redo => write(WriteRequest::Redo),
        KeyAction::Pin => pin(model, model.cursor),
        KeyAction::Exclude => exclude(model),
        KeyAction::Diff => diff(model),
        KeyAction::Reading => {
            model.reading =
                if model.reading == ReadingMode::Transcript { ReadingMode::Prose } else { ReadingMode::Transcript };
            model.load_screen()
        }
        KeyAction::Layout => {
            model.layout = match model.layout {
                PaneLayout::Both => PaneLayout::Text,
                PaneLayout::Text => PaneLayout::Tree,
                PaneLayout::Tree => PaneLayout::Both,
            };
            model.load_screen()
        }
        KeyAction::Help => {
            model.mode = ScreenMode::Page(help(model));
            Vec::new()
        }
        KeyAction::Cancel => cancel(model),
        KeyAction::Redraw => vec![ScreenEffect::Redraw],
        KeyAction::Suspend => vec![ScreenEffect::Suspend],
        KeyAction::Quit => quit(model),
        action => open_list_of(model, action),
    }
}

/// Opens the list of an action; does nothing for other actions.
fn open_list_of(model: &mut ScreenModel, action: KeyAction) -> Vec<ScreenEffect> {
    let (title, kind, lookup, empty) = match action {
        KeyAction::Search => {
            let scope = LookupScope::default();
            ("search", ListKind::Search(scope), ScreenLookup::Search(String::new(), scope), "nothing found")
        }
        KeyAction::Bookmarks => ("bookmarks", ListKind::Plain, ScreenLookup::Bookmarks, "no bookmarks; b sets one"),
        KeyAction::Restore => ("pruned branches", ListKind::Plain, ScreenLookup::Pruned, "nothing is pruned"),
        KeyAction::Trees => ("trees", ListKind::Plain, ScreenLookup::Trees, "no trees"),
        KeyAction::Sessions => ("sessions", ListKind::Plain, ScreenLookup::Sessions, "no sessions yet"),
        KeyAction::Documents => {
            ("documents", ListKind::Plain, ScreenLookup::Documents, "no documents; `loom docs new` makes one")
        }
        KeyAction::Models => (
            "models: enter adds one, or removes it",
            ListKind::Models,
            ScreenLookup::Models,
            "enter adds the model that you typed, such as ollama:llama3.2",
        ),
        KeyAction::Context => ("context", ListKind::Context, ScreenLookup::Context(model.cursor), "nothing"),
        _ => return Vec::new(),
    };
    open_list(model, title, kind, lookup, empty)
}

fn is_buffer(model: &ScreenModel) -> bool {
    model.screen.as_ref().is_some_and(|screen| screen.tree.mode == TreeMode::Buffer)
}

pub(super) fn open_list(
    model: &mut ScreenModel,
    title: &str,
    kind: ListKind,
    question: ScreenLookup,
    empty: &'static str,
) -> Vec<ScreenEffect> {
    let mut list = ListPanel::new(title, kind, empty);
    // A search starts when the user types.
    let needs_lookup = !matches!(kind, ListKind::Search(_));
    list.awaits = needs_lookup.then(|| question.clone());
    model.mode = ScreenMode::List(list);
    if needs_lookup { vec![ScreenEffect::Query(question)] } else { Vec::new() }
}

fn back(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let Some(before) = model.back_stack.pop() else {
        model.notify("there is nowhere to go back to");
        return Vec::new();
    };
    let effects = model.go_to(before);
    // Going back is not recorded.
    model.back_stack.pop();
    effects
}

/// Scrolls the text by a page.
pub(super) fn scroll_page(model: &mut ScreenModel, up: bool) -> Vec<ScreenEffect> {
    let rows = usize::from(model.areas().text.height);
    scroll(model, rows.saturating_sub(2).max(1), up)
}

/// Scrolls the text by lines.
pub(super) fn scroll(model: &mut ScreenModel, lines: usize, up: bool) -> Vec<ScreenEffect> {
    let (above, below) = view::scrollable(model);
    let lines = isize::try_from(lines).unwrap_or(isize::MAX);
    if up {
        model.scroll = model.scroll.saturating_add(lines).min(above);
        return model.load_screen();
    }
    model.scroll = model.scroll.saturating_sub(lines).max(-below);
    Vec::new()
}

fn fold(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let Some(screen) = &model.screen else { return Vec::new() };
    let place = screen.place;
    if screen.node.state.continuations == 0 && !model.folds.contains(&place) {
        model.notify("nothing follows that could be folded");
        return Vec::new();
    }
    let folds = Arc::make_mut(&mut model.folds);
    if !folds.remove(&place) {
        folds.insert(place);
    }
    model.load_screen()
}

fn hoist(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let place = model.screen.as_ref().map(|screen| screen.place);
    if model.hoist.take().is_none() {
        model.hoist = place;
        let key = model.keys.hint(KeyAction::Hoist).to_owned();
        model.notify(format!("this branch alone; {key} shows all again"));
    }
    model.load_screen()
}

fn bookmark(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let Some(node) = model.node() else { return Vec::new() };
    let (id, marked) = (node.id, node.state.bookmark.is_some());
    if marked {
        return write(WriteRequest::change(id, |node| Command::Unbookmark { node }));
    }
    input_keys::open(model, InputPurpose::change(id, |node| Command::Bookmark { node, label: None }), "")
}

fn edit(node: NodeId) -> InputPurpose {
    InputPurpose::change(node, |node| Command::Edit { node, content: String::new() })
}

fn mark(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let at = model.cursor;
    if let Some(index) = model.marked.iter().position(|node| *node == at) {
        model.marked.remove(index);
    } else {
        model.marked.push(at);
    }
    match model.marked.len() {
        0 => model.notify("nothing is marked"),
        1 => model.notify("one is marked: d compares with it, Y copies, V moves it here"),
        many => model.notify(format!("{many} are marked: M merges them")),
    }
    Vec::new()
}

fn merge(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let mut nodes = model.marked.clone();
    if !nodes.contains(&model.cursor) {
        nodes.push(model.cursor);
    }
    if nodes.len() < 2 {
        model.notify_error("mark another node with x first; a merge needs two or more");
        return Vec::new();
    }
    let sources = nodes.iter().copied().map(NodeRef::from).collect();
    let command = Command::Merge { nodes: sources, content: String::new() };
    vec![ScreenEffect::Query(ScreenLookup::Text(nodes, InputPurpose::Change(model.cursor, Box::new(command))))]
}

fn copy_or_move(model: &mut ScreenModel, moves: bool) -> Vec<ScreenEffect> {
    let [from] = model.marked[..] else {
        model.notify_error("mark the branch with x first, exactly one");
        return Vec::new();
    };
    let to = model.cursor;
    model.marked.clear();
    let (node, end) = (from.into(), to.into());
    let command = if moves { Command::Move { node, to: end } } else { Command::Copy { node, to: end } };
    write(WriteRequest::Change(to, Box::new(command)))
}

/// Pins or unpins a node.
pub(super) fn pin(model: &mut ScreenModel, node: NodeId) -> Vec<ScreenEffect> {
    let pinned = model.screen.as_ref().is_some_and(|screen| screen.pins.contains(&node));
    write(WriteRequest::Pin(node, !pinned))
}

fn exclude(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let Some(node) = model.node() else { return Vec::new() };
    let (id, out) = (node.id, node.state.excluded);
    write(super::exclusion(id, !out))
}

fn diff(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let other =
        model.marked.last().copied().or(model.back_stack.last().copied()).filter(|other| *other != model.cursor);
    let Some(other) = other else {
        model.notify_error("mark the other branch with x first");
        return Vec::new();
    };
    vec![ScreenEffect::Query(ScreenLookup::Diff(other, model.cursor))]
}

fn cancel(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    if let Some(generation_panel) = model.generation_panel.as_ref().filter(|generation_panel| generation_panel.running)
    {
        return vec![ScreenEffect::Cancel(generation_panel.job.number, None)];
    }
    if let Some(stop) = command_jobs::cancel_latest(model) {
        return stop;
    }
    if model.tour.take().is_some() || model.notice.take().is_some() {
        return Vec::new();
    }
    if !model.marked.is_empty() {
        model.marked.clear();
        model.notify("nothing is marked");
        return Vec::new();
    }
    if model.scroll != 0 {
        model.scroll = 0;
        return Vec::new();
    }
    if model.hoist.is_some() {
        model.hoist = None;
        return model.load_screen();
    }
    let key = model.keys.hint(KeyAction::Quit).to_owned();
    model.notify(format!("nothing is open; {key} leaves"));
    Vec::new()
}

/// Quits; asks first while a generation or command job runs.
pub(super) fn quit(model: &mut ScreenModel) -> Vec<ScreenEffect> {
    let set_position = model.session.map(|_| ScreenEffect::Write(WriteRequest::SetPosition(model.cursor)));
    let leave: Vec<ScreenEffect> = set_position.into_iter().chain([ScreenEffect::Quit]).collect();
    let runs = model.generation_panel.as_ref().is_some_and(|generation_panel| generation_panel.running)
        || !model.command_jobs.is_empty();
    let is_unsaved = model.submitted.is_some()
        || model.unsaved_input.is_some()
        || model.unsaved_prose.is_some()
        || model.has_unsent_message;
    let question = match (runs, is_unsaved) {
        (false, false) => return leave,
        (true, false) => "Something still runs. Quit? Received text is saved.",
        (false, true) => "A text is not saved. Quit and lose it?",
        (true, true) => "Something still runs, and a text is not saved. Quit and lose it?",
    };
    model.mode = ScreenMode::Confirm(Box::new(ConfirmPanel::plain(question, ScreenEffect::Quit)));
    Vec::new()
}

/// Lists every key with its current binding.
fn help(model: &ScreenModel) -> PagePanel {
    use ratatui::{style::Style, text::Line};
    let palette = model.palette;
    let max_columns = usize::from(view::popup_width(model.width)).saturating_sub(4);
    let mut lines = Vec::new();
    for group in KeyGroup::ALL {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::styled(group.title(), palette.style(ColorRole::Accent)));
        for binding in KEYS.iter().filter(|binding| binding.group == group) {
            let keys: Vec<&str> =
                model.keys.names(binding.action).iter().map(|key| crate::tui::keys::key_label(key)).collect();
            let keys = [(format!("  {:<16}", keys.join(" ")), palette.style(ColorRole::Id))];
            let rest = [(" ".repeat(18), palette.style(ColorRole::Id))];
            lines.extend(line_wrap::wrap(&[(binding.help.to_owned(), Style::new())], max_columns, &keys, &rest));
        }
    }
    lines.push(Line::default());
    let buffer = model.screen.as_ref().is_some_and(|screen| screen.tree.mode == TreeMode::Buffer);
    let about = if buffer {
        "a buffer tree: an edit is a version, what follows stays"
    } else {
        "a dialogue tree: an edit is a branch"
    };
    let about = format!("This is {about}. Up to {MAX_CONTINUATIONS} continuations at a time.");
    lines.extend(line_wrap::wrap(&[(about, palette.style(ColorRole::Dim))], max_columns, &[], &[]));
    PagePanel { title: "keys".to_owned(), lines, scroll: 0 }
}
