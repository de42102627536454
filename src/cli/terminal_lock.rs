//! Who has the terminal: a prompt at which a person writes, or a question that is put to them. Work that goes on beside the
//! conversation may ask at any moment; two that read the same keys would each get some of them. So a question waits for the
//! line that is being written, and says that it does.

use std::sync::{Mutex, PoisonError};

use tokio::sync::MutexGuard;

/// Says that a question waits.
type QuestionNotifier = Box<dyn FnMut() + Send>;

/// The terminal, which one has at a time. Who asked first gets it first.
#[derive(Default)]
pub(crate) struct TerminalLock {
    lock: tokio::sync::Mutex<()>,
    /// There while somebody writes at the prompt.
    notifier: Mutex<Option<QuestionNotifier>>,
}

impl TerminalLock {
    /// Reads at the prompt by `read`, when no question is open; `bell` tells who writes that one waits. Blocks.
    pub(crate) fn lock_prompt<T>(&self, notifier: Option<QuestionNotifier>, read: impl FnOnce() -> T) -> T {
        let _turn = self.lock.blocking_lock();
        *self.notifier() = notifier;
        let read = read();
        *self.notifier() = None;
        read
    }

    /// Waits until nobody writes and no other question is open; then it is this one's.
    #[cfg_attr(not(feature = "workspace"), allow(dead_code))] // nothing asks there
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
