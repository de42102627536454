//! What was typed before it is known what it is for. A key may lead elsewhere: a step to a node that has to be read, a
//! question to a dialog, a change to another node. What is typed after it is meant for there, so it waits, in order, however
//! slow the disk or fast the hands; a paste and a slow line come to the same as a person who watches each key.

use std::collections::VecDeque;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{
    keys::KeyAction,
    message::{ScreenEffect, ScreenLookup},
    model::{ListKind, ScreenMode, ScreenModel},
    update::is_step,
};

/// What waits at most; whoever types more to a screen that does not move has left it.
const MAX_QUEUED: usize = 1 << 16;
/// Steps that are taken in one look at most.
pub(crate) const MAX_PENDING_STEPS: usize = 64;

/// Something that was typed.
#[derive(Debug, Clone)]
pub(crate) enum QueuedInput {
    Key(KeyEvent),
    Paste(String),
    /// What a key comes to that means two things, one after the other.
    Action(KeyAction),
}

/// What was typed ahead, and what it waits for.
#[derive(Debug, Default)]
pub(crate) struct TypeAhead {
    queue: VecDeque<QueuedInput>,
    /// The question whose answer opens something.
    awaited_lookup: Option<ScreenLookup>,
    /// Deeds under way up to the last one that leads elsewhere; they are done in order.
    focus_writes: usize,
}

impl TypeAhead {
    /// Whether something waits, or is waited for.
    pub(crate) fn is_busy(&self) -> bool {
        !self.queue.is_empty() || self.awaited_lookup.is_some() || self.focus_writes > 0
    }

    /// Forgets what was typed and what was asked for it.
    pub(crate) fn clear(&mut self) {
        self.queue.clear();
        self.awaited_lookup = None;
    }

    /// Has something done next, when it is known where.
    pub(crate) fn push_action(&mut self, action: KeyAction) {
        self.queue.push_front(QueuedInput::Action(action));
    }

    /// A deed is done.
    pub(crate) fn write_done(&mut self) {
        self.focus_writes = self.focus_writes.saturating_sub(1);
    }

    /// Whether an answer is for somebody who still waits for it. What opens nothing is for everybody.
    pub(crate) fn accepts(&mut self, lookup: &ScreenLookup) -> bool {
        !lookup.changes_focus() || self.awaited_lookup.take_if(|awaited_lookup| awaited_lookup == lookup).is_some()
    }
}

impl ScreenModel {
    /// What was typed, if it is to be acted on now; else it is kept.
    pub(crate) fn queue_input(&mut self, input: QueuedInput) -> Option<QueuedInput> {
        if self.type_ahead.queue.is_empty() && !self.must_wait(&input) {
            return Some(input);
        }
        if self.type_ahead.queue.len() < MAX_QUEUED {
            self.type_ahead.queue.push_back(input);
        }
        None
    }

    /// The next of what was kept, if nothing is in its way any more.
    pub(crate) fn next_input(&mut self) -> Option<QueuedInput> {
        let next = self.type_ahead.queue.front()?;
        if self.must_wait(next) { None } else { self.type_ahead.queue.pop_front() }
    }

    /// Takes notice of what is asked for and done.
    pub(crate) fn track(&mut self, effects: &[ScreenEffect]) {
        for effect in effects {
            match effect {
                ScreenEffect::Write(request) => {
                    self.pending_writes += 1;
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

    fn must_wait(&self, input: &QueuedInput) -> bool {
        if self.type_ahead.awaited_lookup.is_some() {
            return true;
        }
        match &self.mode {
            ScreenMode::Tree => match input {
                QueuedInput::Key(key) if self.keys.action(key).is_some_and(is_step) => {
                    self.type_ahead.focus_writes > 0 || self.steps.len() >= MAX_PENDING_STEPS
                }
                // What changes something is done to what is on the screen.
                _ => self.pending_writes > 0 || self.is_loading || !self.steps.is_empty(),
            },
            ScreenMode::List(list) => match input {
                QueuedInput::Key(key) if key.code == KeyCode::Esc => false,
                _ if list.kind == ListKind::Context => {
                    list.awaits.is_some() || self.pending_writes > 0 || self.is_loading
                }
                QueuedInput::Key(key) => list.awaits.is_some() && selects(key),
                QueuedInput::Paste(_) | QueuedInput::Action(_) => false,
            },
            // Another wording is on its way to under the caret.
            ScreenMode::Buffer(buffer) => buffer.awaits_version,
            _ => false,
        }
    }
}

/// Whether a key is about what a list shows, and not about what it is narrowed down by.
fn selects(key: &KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown | KeyCode::Enter => true,
        KeyCode::Char(c) => control && matches!(c, 'p' | 'n'),
        _ => false,
    }
}
