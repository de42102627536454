//! Mutual exclusion between the line editor and approval prompts. Background work may prompt at any time, and two
//! readers would split the keys between them. A prompt waits until the user submits the line, and a notice says so.

use std::sync::{Mutex, PoisonError};

use tokio::sync::MutexGuard;

/// Notifies the user that a question waits.
type QuestionNotifier = Box<dyn FnMut() + Send>;

/// A fair lock on the terminal.
#[derive(Default)]
pub(crate) struct TerminalLock {
    lock: tokio::sync::Mutex<()>,
    /// Set while the line editor reads.
    notifier: Mutex<Option<QuestionNotifier>>,
}

impl TerminalLock {
    /// Runs `read` with the terminal locked. `notifier` is called when a question starts to wait. Blocks.
    pub(crate) fn lock_prompt<T>(&self, notifier: Option<QuestionNotifier>, read: impl FnOnce() -> T) -> T {
        let _turn = self.lock.blocking_lock();
        *self.notifier() = notifier;
        let read = read();
        *self.notifier() = None;
        read
    }

    /// Locks the terminal for a question. Waits for the line editor and for earlier questions.
    #[cfg_attr(not(feature = "workspace"), allow(dead_code))] // no prompts without it
    pub(crate) async fn lock_question(&self) -> MutexGuard<'_, ()> {
        if let Ok(lock) = self.lock.try_lock() {
            return lock;
        }
        if let Some(notify) = &mut *self.notifier() {
            notify();
        }
        self.lock.lock().await
    }

    fn notifier(&self) -> std::sync::MutexGuard<'_, Option<QuestionNotifier>> {
        self.notifier.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
