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
const HELD: usize = 1 << 16;
/// Steps that are taken in one look at most.
pub(crate) const STEPS: usize = 64;

/// Something that was typed.
#[derive(Debug, Clone)]
pub(crate) enum QueuedInput {
    Key(KeyEvent),
    Paste(String),
    /// What a key comes to that means two things, one after the other.
    Then(KeyAction),
}

/// What was typed ahead, and what it waits for.
#[derive(Debug, Default)]
pub(crate) struct TypeAhead {
    held: VecDeque<QueuedInput>,
    /// The question whose answer opens something.
    awaited: Option<ScreenLookup>,
    /// Deeds under way up to the last one that leads elsewhere; they are done in order.
    leading: usize,
}

impl TypeAhead {
    /// Whether something waits, or is waited for.
    pub(crate) fn is_busy(&self) -> bool {
        !self.held.is_empty() || self.awaited.is_some() || self.leading > 0
    }

    /// Forgets what was typed and what was asked for it.
    pub(crate) fn forget(&mut self) {
        self.held.clear();
        self.awaited = None;
    }

    /// Has something done next, when it is known where.
    pub(crate) fn then(&mut self, action: KeyAction) {
        self.held.push_front(QueuedInput::Then(action));
    }

    /// A deed is done.
    pub(crate) fn done(&mut self) {
        self.leading = self.leading.saturating_sub(1);
    }

    /// Whether an answer is for somebody who still waits for it. What opens nothing is for everybody.
    pub(crate) fn hears(&mut self, question: &ScreenLookup) -> bool {
        !question.leads() || self.awaited.take_if(|awaited| awaited == question).is_some()
    }
}

impl ScreenModel {
    /// What was typed, if it is to be acted on now; else it is kept.
    pub(crate) fn typed(&mut self, typed: QueuedInput) -> Option<QueuedInput> {
        if self.ahead.held.is_empty() && !self.waits(&typed) {
            return Some(typed);
        }
        if self.ahead.held.len() < HELD {
            self.ahead.held.push_back(typed);
        }
        None
    }

    /// The next of what was kept, if nothing is in its way any more.
    pub(crate) fn next_typed(&mut self) -> Option<QueuedInput> {
        let next = self.ahead.held.front()?;
        if self.waits(next) { None } else { self.ahead.held.pop_front() }
    }

    /// Takes notice of what is asked for and done.
    pub(crate) fn expects(&mut self, effects: &[ScreenEffect]) {
        for effect in effects {
            match effect {
                ScreenEffect::Do(deed) => {
                    self.unsaved += 1;
                    if deed.leads() {
                        self.ahead.leading = self.unsaved;
                    }
                }
                ScreenEffect::Ask(question) if question.leads() => self.ahead.awaited = Some(question.clone()),
                _ => {}
            }
        }
    }

    fn waits(&self, typed: &QueuedInput) -> bool {
        if self.ahead.awaited.is_some() {
            return true;
        }
        match &self.mode {
            ScreenMode::Walk => match typed {
                QueuedInput::Key(key) if self.keys.action(key).is_some_and(is_step) => {
                    self.ahead.leading > 0 || self.steps.len() >= STEPS
                }
                // What changes something is done to what is on the screen.
                _ => self.unsaved > 0 || self.looking || !self.steps.is_empty(),
            },
            ScreenMode::Choose(list) => match typed {
                QueuedInput::Key(key) if key.code == KeyCode::Esc => false,
                _ if list.kind == ListKind::Context => list.awaits.is_some() || self.unsaved > 0 || self.looking,
                QueuedInput::Key(key) => list.awaits.is_some() && chooses(key),
                QueuedInput::Paste(_) | QueuedInput::Then(_) => false,
            },
            // Another wording is on its way to under the caret.
            ScreenMode::Write(prose) => prose.turning,
            _ => false,
        }
    }
}

/// Whether a key is about what a list shows, and not about what it is narrowed down by.
fn chooses(key: &KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown | KeyCode::Enter => true,
        KeyCode::Char(c) => control && matches!(c, 'p' | 'n'),
        _ => false,
    }
}
