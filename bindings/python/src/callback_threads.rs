//! Threads of this module that call Python functions. The interpreter waits for them when it ends: a thread that takes
//! part in Python after that crashes the process.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use pyo3::prelude::*;

/// Time between two looks at the running calls.
const INTERVAL: Duration = Duration::from_millis(5);

static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Counts a call as running from the moment it is planned until this is dropped.
pub(crate) struct RunningCall(());

impl RunningCall {
    pub(crate) fn begin() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits for the running calls. Ctrl+C ends the process at once.
#[pyfunction]
fn wait_for_calls(py: Python<'_>) -> PyResult<()> {
    while RUNNING.load(Ordering::SeqCst) > 0 {
        py.detach(|| thread::sleep(INTERVAL));
        if py.check_signals().is_err() {
            py.import("os")?.call_method1("_exit", (130,))?;
        }
    }
    Ok(())
}

/// Makes the interpreter wait for the running calls at its end.
pub(crate) fn wait_at_exit(py: Python<'_>) -> PyResult<()> {
    let wait = wrap_pyfunction!(wait_for_calls, py)?;
    py.import("atexit")?.call_method1("register", (wait,)).map(drop)
}
