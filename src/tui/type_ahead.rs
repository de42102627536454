//! Type-ahead queue. A key may change the focus: a step reads another node, a lookup opens a dialog, a write moves the
//! cursor. Later input is meant for the new focus, so it waits in order. Fast typing, pastes and slow disks then give
//! the same result as slow typing.

use std::collections::VecDeque;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{
    keys::KeyAction,
    message::{ScreenEffect, ScreenLookup},
    model::{FilePanel, ListKind, ScreenMode, ScreenModel},
    screen_query::NavigationStep,
    update::step_of,
};

/// Queued inputs, at most; beyond that the user has given up on the screen.
const MAX_QUEUED: usize = 1 << 16;
/// Steps of one screen query, at most.
pub(crate) const MAX_PENDING_STEPS: usize = 64;

/// Input that may have to wait.
#[derive(Debug, Clone)]
pub(crate) enum QueuedInput {
    Key(KeyEvent),
    Paste(String),
    /// Second action of a key that has two.
    Action(KeyAction),
}

/// Queued input, and the events it waits for.
#[derive(Debug, Default)]
pub(crate) struct TypeAhead {
    queue: VecDeque<QueuedInput>,
    /// Lookup whose result changes the focus.
    awaited_lookup: Option<ScreenLookup>,
    /// Pending write requests up to the last that changes the focus; they finish in order.
    focus_writes: usize,
}

impl TypeAhead {
    /// Returns whether input is queued or an event is awaited.
    pub(crate) fn is_busy(&self) -> bool {
        !self.queue.is_empty() || self.awaited_lookup.is_some() || self.focus_writes > 0
    }

    /// Drops queued input and the awaited lookup.
    pub(crate) fn clear(&mut self) {
        self.queue.clear();
        self.awaited_lookup = None;
    }

    /// Queues an action before all other input.
    pub(crate) fn push_action(&mut self, action: KeyAction) {
        self.queue.push_front(QueuedInput::Action(action));
    }

    /// Records that a write request has finished.
    pub(crate) fn write_done(&mut self) {
        self.focus_writes = self.focus_writes.saturating_sub(1);
    }

    /// Returns whether a result is still expected. Results that do not change the focus always are.
    pub(crate) fn accepts(&mut self, lookup: &ScreenLookup) -> bool {
        !lookup.changes_focus() || self.awaited_lookup.take_if(|awaited_lookup| awaited_lookup == lookup).is_some()
    }
}

impl ScreenModel {
    /// Returns the input if it can be handled now; else queues it.
    pub(crate) fn queue_input(&mut self, input: QueuedInput) -> Option<QueuedInput> {
        if self.type_ahead.queue.is_empty() && !self.must_wait(&input) {
            return Some(input);
        }
        if self.type_ahead.queue.len() < MAX_QUEUED {
            self.type_ahead.queue.push_back(input);
        }
        None
    }

    /// Removes and returns the next queued input if it can be handled now.
    pub(crate) fn next_input(&mut self) -> Option<QueuedInput> {
        let next = self.type_ahead.queue.front()?;
        if self.must_wait(next) { None } else { self.type_ahead.queue.pop_front() }
    }

    /// Records the writes and lookups among effects.
    pub(crate) fn track(&mut self, effects: &[ScreenEffect]) {
        for effect in effects {
            match effect {
                ScreenEffect::Write(request) => {
                    self.pending_writes += 1;
                    self.file_panel = FilePanel::of(request).or(self.file_panel.take());
                    if request.changes_focus() {
                        self.type_ahead.focus_writes = self.pending_writes;
                    }
                }
                ScreenEffect::Query(lookup) if lookup.changes_focus() => {
                    self.type_ahead.awaited_lookup = Some(lookup.clone())
                }
                _ => {}
            }
        }
    }

    /// Returns whether the displayed node, to which keys that change something apply, may still change.
    fn tree_is_busy(&self) -> bool {
        self.pending_writes > 0 || self.is_loading || !self.steps.is_empty()
    }

    fn must_wait(&self, input: &QueuedInput) -> bool {
        if self.type_ahead.awaited_lookup.is_some() {
            return true;
        }
        match &self.mode {
            ScreenMode::Tree => match input {
                QueuedInput::Key(key) => match self.keys.action(key).and_then(step_of) {
                    // A pending write may set or remove a bookmark.
                    Some(NavigationStep::Bookmark) if self.pending_writes > 0 => true,
                    Some(_) => self.type_ahead.focus_writes > 0 || self.steps.len() >= MAX_PENDING_STEPS,
                    None => self.tree_is_busy(),
                },
                QueuedInput::Paste(_) | QueuedInput::Action(_) => self.tree_is_busy(),
            },
            ScreenMode::List(list) => match input {
                QueuedInput::Key(key) if key.code == KeyCode::Esc => false,
                _ if list.kind == ListKind::Context => {
                    list.awaits.is_some() || self.pending_writes > 0 || self.is_loading
                }
                QueuedInput::Key(key) => list.awaits.is_some() && selects(key),
                QueuedInput::Paste(_) | QueuedInput::Action(_) => false,
            },
            // The text is about to be replaced by the saved one, or by another version.
            ScreenMode::Buffer(buffer) => buffer.awaits_version || buffer.saving_text.is_some(),
            _ => false,
        }
    }
}

/// Returns whether a key acts on the list's items, not on its filter.
fn selects(key: &KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown | KeyCode::Enter => true,
        KeyCode::Char(c) => control && matches!(c, 'p' | 'n'),
        _ => false,
    }
}
