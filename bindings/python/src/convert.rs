//! Conversions of arguments and results.

use std::str::FromStr;

use loomtree::{
    id::{NodeId, SessionId, TreeId},
    ops,
    types::{Json, Parent},
};
use pyo3::{exceptions::PyValueError, intern, prelude::*, sync::PyOnceLock, types::PyString};
use serde::Serialize;

use crate::{
    errors::raise,
    records::{Node, Session, Tree},
};

/// Parses an id or a word, such as a role.
pub(crate) fn parse<T: FromStr<Err: ToString>>(text: &str) -> PyResult<T> {
    text.parse().map_err(|error: T::Err| PyValueError::new_err(error.to_string()))
}

/// A node, or its ULID.
pub(crate) struct NodeRef(pub(crate) NodeId);

impl<'py> FromPyObject<'_, 'py> for NodeRef {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(node) = value.cast::<Node>() {
            return Ok(Self(node.get().0.id));
        }
        parse(value.extract::<&str>()?).map(Self)
    }
}

/// A session, or its ULID.
pub(crate) struct SessionRef(pub(crate) SessionId);

impl<'py> FromPyObject<'_, 'py> for SessionRef {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(session) = value.cast::<Session>() {
            return Ok(Self(session.get().0.id));
        }
        parse(value.extract::<&str>()?).map(Self)
    }
}

/// A node or its ULID, or the position of a session.
pub(crate) enum Place {
    Node(NodeId),
    Session(SessionId),
}

impl<'py> FromPyObject<'_, 'py> for Place {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match value.cast::<Session>() {
            Ok(session) => Ok(Self::Session(session.get().0.id)),
            Err(_) => Ok(Self::Node(value.extract::<NodeRef>()?.0)),
        }
    }
}

impl From<Place> for Parent {
    fn from(place: Place) -> Self {
        match place {
            Place::Node(node) => Self::Node(node),
            Place::Session(session) => Self::Position(session),
        }
    }
}

/// A tree, its ULID, its title, or a part of either.
pub(crate) enum TreeRef {
    Id(TreeId),
    Text(String),
}

impl<'py> FromPyObject<'_, 'py> for TreeRef {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(tree) = value.cast::<Tree>() {
            return Ok(Self::Id(tree.get().0.id));
        }
        let text: String = value.extract()?;
        Ok(text.parse().map_or(Self::Text(text), Self::Id))
    }
}

impl TreeRef {
    /// Returns the id of the tree.
    pub(crate) fn find(self, loom: &ops::Loom) -> ops::Result<TreeId> {
        match self {
            Self::Id(id) => Ok(id),
            Self::Text(text) => loom.find_tree(&text).map(|tree| tree.id),
        }
    }
}

/// A value of Python's module `json`, or its text, which is stored verbatim.
pub(crate) struct JsonArg(pub(crate) Json);

impl<'py> FromPyObject<'_, 'py> for JsonArg {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text = match value.cast::<PyString>() {
            Ok(text) => text.to_owned(),
            Err(_) => {
                static DUMPS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
                DUMPS.import(value.py(), "json", "dumps")?.call1((value,))?.cast_into::<PyString>()?
            }
        };
        let text: String = text.extract()?;
        Json::parse(text).map(Self).map_err(|error| PyValueError::new_err(format!("not JSON: {error}")))
    }
}

/// Parses a JSON text with Python's module `json`.
pub(crate) fn loads<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    LOADS.import(py, "json", "loads")?.call1((text,))
}

/// Converts a record into dictionaries and lists.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|error| raise(std::io::Error::from(error)))?;
    loads(py, &text)
}

/// Converts milliseconds since 1970 into an aware `datetime`.
pub(crate) fn datetime(py: Python<'_>, millis: i64) -> PyResult<Bound<'_, PyAny>> {
    let module = py.import(intern!(py, "datetime"))?;
    let utc = module.getattr(intern!(py, "timezone"))?.getattr(intern!(py, "utc"))?;
    let start = module.getattr(intern!(py, "datetime"))?.call1((1970, 1, 1, 0, 0, 0, 0, utc))?;
    start.add(module.getattr(intern!(py, "timedelta"))?.call1((0, 0, 0, millis))?)
}
