//! The extension module `loomtree._loomtree`: the engine as Python classes.
//!
//! `Loom` is an open file; its methods are the operations and reads. Every call that reaches the store runs without the
//! GIL. Ids are texts. Records are frozen snapshots of rows. What Python needs in addition, such as the session of the
//! OpenAI Agents SDK, is written in Python on top (`python/loomtree`).

// PyO3 takes the arguments of a method by value.
#![allow(clippy::needless_pass_by_value)]

mod callback_threads;
mod convert;
mod errors;
mod events;
mod generate;
mod gil;
mod interchange;
mod json_value;
mod loom;
mod pending;
mod records;
mod search;

use pyo3::prelude::*;

/// Storage and execution engine for branching conversations with language models.
#[pymodule]
mod _loomtree {
    #[pymodule_export]
    use super::{
        errors::{Ambiguous, Conflict, LoomError, ModelError, NotFound, SessionEnded},
        events::Events,
        loom::{Loom, open},
        pending::Pending,
        records::{Context, Draft, Event, Hit, Node, Recall, Reply, Session, Tree},
    };
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        super::callback_threads::wait_at_exit(module.py())
    }
}
