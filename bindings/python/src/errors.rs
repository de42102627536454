//! Exceptions. Each error of the library becomes one of these.

use loomtree::{Error, ops::OpsError, store::StoreError};
use pyo3::{create_exception, exceptions::PyException, prelude::*};

create_exception!(
    loomtree,
    LoomError,
    PyException,
    "A call failed. `continue_` may have saved some replies, `import_file` some nodes; `purge` may leave traces of what it removed."
);
create_exception!(loomtree, NotFound, LoomError, "No tree, node, session or agent has the given id or name.");
create_exception!(loomtree, Ambiguous, LoomError, "The given text names several trees or nodes.");
create_exception!(
    loomtree,
    Conflict,
    LoomError,
    "The state forbids the change: another one came first, it was made already, or it is incomplete, as the message says."
);
create_exception!(loomtree, SessionEnded, LoomError, "The session has ended; nothing is appended at its position.");
create_exception!(loomtree, ModelError, LoomError, "A model gave no reply.");

/// Converts an error of the library into its exception.
pub(crate) fn raise(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    let text = error.to_string();
    match error {
        Error::Ops(error @ OpsError::NotFound { .. }) => {
            NotFound::new_err(error.hint().map_or_else(|| text.clone(), |hint| format!("{text}; {hint}")))
        }
        Error::Store(StoreError::NotFound { .. }) => NotFound::new_err(text),
        Error::Ops(OpsError::Ambiguous { .. } | OpsError::AmbiguousTree { .. }) => Ambiguous::new_err(text),
        Error::Ops(OpsError::Store(StoreError::Conflict(_))) | Error::Store(StoreError::Conflict(_)) => {
            Conflict::new_err(text)
        }
        Error::Ops(OpsError::Store(StoreError::SessionEnded)) | Error::Store(StoreError::SessionEnded) => {
            SessionEnded::new_err(text)
        }
        Error::Provider(_) | Error::Generate(_) => ModelError::new_err(text),
        _ => LoomError::new_err(text),
    }
}
