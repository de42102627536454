//! Calls that take longer than clients wait. Their answers are kept until the client fetches them.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::call_requests::CallOutcome;
use crate::id::SessionId;

/// Time after which a call is answered with an id instead of its result. Clients give up after a minute or less.
pub(super) const ANSWER_TIME: Duration = Duration::from_secs(9);

/// Maximum number of kept calls.
const MAX_CALLS: usize = 64;

/// A call on its thread.
pub(super) struct RunningCall {
    pub(super) thread: JoinHandle<CallOutcome>,
    /// Stops the call's models and its lines that have not begun.
    pub(super) cancel: CancellationToken,
    /// Id of the call's session, once it is known.
    pub(super) session: Arc<OnceLock<SessionId>>,
}

/// Calls by their ids.
#[derive(Default)]
pub(super) struct RunningCalls {
    calls: Mutex<HashMap<String, RunningCall>>,
    /// Number of the last kept call.
    last: AtomicU64,
}

impl RunningCalls {
    /// Keeps a call until it is fetched, and returns its id. Beyond the maximum, a finished call is dropped, or else any
    /// call is cancelled.
    pub(super) fn keep(&self, call: RunningCall) -> String {
        // Another process of the server has other ids.
        let id = format!("call-{}-{}", std::process::id(), self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() >= MAX_CALLS {
            let finished = calls.iter().find(|(_, call)| call.thread.is_finished()).or(calls.iter().next());
            if let Some(dropped) = finished.map(|(id, _)| id.clone()).and_then(|id| calls.remove(&id)) {
                dropped.cancel.cancel();
            }
        }
        calls.insert(id.clone(), call);
        id
    }

    /// Removes a call; `None` if there is none with this id.
    pub(super) fn take(&self, id: &str) -> Option<RunningCall> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }

    /// Cancels all calls.
    pub(super) fn stop(&self) {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.values().for_each(|call| call.cancel.cancel());
    }
}
