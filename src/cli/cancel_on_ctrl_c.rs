//! Ctrl-C: cancels a running request, or ends the program.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// The action of Ctrl-C. The first press cancels the armed request, which saves its partial reply. A second press, or a
/// press when nothing is armed, exits with code 130.
#[derive(Clone, Default)]
pub(crate) struct CtrlC(Arc<Mutex<Option<CancellationToken>>>);

impl CtrlC {
    /// Starts to listen for Ctrl-C.
    pub(crate) fn listen(runtime: &Runtime) -> Self {
        let ctrl_c = Self::default();
        let handle = ctrl_c.clone();
        runtime.spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() {
                match handle.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
                    Some(running) => running.cancel(),
                    None => std::process::exit(130),
                }
            }
        });
        ctrl_c
    }

    /// Returns a new token that the next Ctrl-C cancels.
    pub(crate) fn arm(&self) -> CancellationToken {
        let cancel = CancellationToken::new();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancel.clone());
        cancel
    }

    /// Forgets the armed token.
    pub(crate) fn disarm(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
