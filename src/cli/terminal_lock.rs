//! Mutual exclusion between the line editor and approval prompts. Background work may prompt at any time, and two
//! readers would split the keys between them. A prompt waits until the user submits the line, and a notice says so.

use std::{
    io,
    sync::{Mutex, PoisonError},
};

use tokio::sync::MutexGuard;

/// Prints a line above the line that the user edits.
pub(crate) type LinePrinter = Box<dyn FnMut(&str) + Send>;

/// The notice of a question that waits for the line editor.
const QUESTION_NOTICE: &str = "An agent asks a question: press Enter to show it.";

/// A fair lock on the terminal.
#[derive(Default)]
pub(crate) struct TerminalLock {
    lock: tokio::sync::Mutex<()>,
    /// Set while the line editor reads.
    printer: Mutex<Option<LinePrinter>>,
    /// Notices of background work that are not printed yet.
    notices: Mutex<Vec<String>>,
    /// True while a question is open. Held while standard output is written.
    asking: Mutex<bool>,
}

impl TerminalLock {
    /// Runs `read` with the terminal locked. `printer` prints notices meanwhile. Blocks.
    pub(crate) fn lock_prompt<T>(&self, printer: Option<LinePrinter>, read: impl FnOnce() -> T) -> T {
        let _turn = self.lock.blocking_lock();
        *self.printer() = printer;
        let read = read();
        *self.printer() = None;
        read
    }

    /// Prints a notice above the edited line, or keeps it for [`Self::take_notices`].
    pub(crate) fn notify(&self, line: String) {
        match &mut *self.printer() {
            Some(print) => print(&line),
            None => self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(line),
        }
    }

    /// Takes the notices that were not printed.
    pub(crate) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Locks the terminal for a question. Waits for the line editor and for earlier questions.
    #[cfg_attr(not(feature = "workspace"), allow(dead_code))] // no prompts without it
    pub(crate) async fn lock_question(&self) -> MutexGuard<'_, ()> {
        if let Ok(lock) = self.lock.try_lock() {
            return lock;
        }
        if let Some(print) = &mut *self.printer() {
            print(QUESTION_NOTICE);
        }
        self.lock.lock().await
    }

    /// Opens a question: standard output waits until the guard is dropped.
    #[cfg_attr(not(feature = "workspace"), allow(dead_code))] // no prompts without it
    pub(crate) fn open_question(&self) -> OpenQuestion<'_> {
        *self.asking() = true;
        OpenQuestion(self)
    }

    /// Writes to standard output; does nothing while a question is open.
    pub(crate) fn unless_asking(&self, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let asking = self.asking();
        if *asking { Ok(()) } else { write() }
    }

    fn asking(&self) -> std::sync::MutexGuard<'_, bool> {
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn printer(&self) -> std::sync::MutexGuard<'_, Option<LinePrinter>> {
        self.printer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open question, which may be withdrawn at any time.
pub(crate) struct OpenQuestion<'l>(&'l TerminalLock);

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        *self.0.asking() = false;
    }
}

#[cfg(test)]
mod tests {
    use super::TerminalLock;

    #[test]
    fn output_waits_while_a_question_is_open() {
        let lock = TerminalLock::default();
        let mut written = Vec::new();
        let question = lock.open_question();
        let mut write = |text| {
            let written = lock.unless_asking(|| {
                written.push(text);
                Ok(())
            });
            written.unwrap();
        };
        write("during");
        drop(question);
        write("after");
        assert_eq!(written, ["after"]);
    }
}
