//! Who has the terminal: a prompt at which a person writes, or a question that is put to them. Work that goes on beside the
//! conversation may ask at any moment; two that read the same keys would each get some of them. So a question waits for the
//! line that is being written, and says that it does.

use std::sync::{Mutex, PoisonError};

use tokio::sync::MutexGuard;

/// Says that a question waits.
type Bell = Box<dyn FnMut() + Send>;

/// The terminal, which one has at a time. Who asked first gets it first.
#[derive(Default)]
pub(crate) struct TerminalLock {
    turn: tokio::sync::Mutex<()>,
    /// There while somebody writes at the prompt.
    bell: Mutex<Option<Bell>>,
}

impl TerminalLock {
    /// Reads at the prompt by `read`, when no question is open; `bell` tells who writes that one waits. Blocks.
    pub(crate) fn prompt<T>(&self, bell: Option<Bell>, read: impl FnOnce() -> T) -> T {
        let _turn = self.turn.blocking_lock();
        *self.bell() = bell;
        let read = read();
        *self.bell() = None;
        read
    }

    /// Waits until nobody writes and no other question is open; then it is this one's.
    #[cfg_attr(not(feature = "workspace"), allow(dead_code))] // nothing asks there
    pub(crate) async fn question(&self) -> MutexGuard<'_, ()> {
        if let Ok(turn) = self.turn.try_lock() {
            return turn;
        }
        if let Some(ring) = &mut *self.bell() {
            ring();
        }
        self.turn.lock().await
    }

    fn bell(&self) -> std::sync::MutexGuard<'_, Option<Bell>> {
        self.bell.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
