//! Calls of the library, which run without the GIL.

use loomtree::Error;
use pyo3::prelude::*;

use crate::errors::raise;

/// Runs a call of the library without the GIL, and converts its error.
pub(crate) fn detached<T: Send, E: Into<Error> + Send>(
    py: Python<'_>,
    call: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    py.detach(call).map_err(raise)
}
