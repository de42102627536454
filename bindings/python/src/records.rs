//! Frozen records: trees, nodes, sessions, and the results of calls.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use loomtree::{
    ops::NodeDraft,
    types::{self, AuthorType, EdgeKind, JournalEntry, Json, ToolCallFields},
};
use pyo3::{intern, prelude::*};

use crate::convert::{JsonArg, datetime, loads, parse, to_python};

/// A node as it was when it was read: one message, note or tool result.
#[pyclass(frozen, module = "loomtree")]
pub(crate) struct Node(pub(crate) types::Node);

#[pymethods]
impl Node {
    /// ULID of the node.
    #[getter]
    fn id(&self) -> String {
        self.0.id.to_string()
    }

    /// Short id, unique in the tree.
    #[getter]
    fn local_id(&self) -> &str {
        self.0.local.as_str()
    }

    /// ULID of the tree.
    #[getter]
    fn tree_id(&self) -> String {
        self.0.tree.to_string()
    }

    /// ULID of the parent; `None` for a root.
    #[getter]
    fn parent_id(&self) -> Option<String> {
        self.0.parent.map(|id| id.to_string())
    }

    /// Insertion sequence number, increasing over the whole file.
    #[getter]
    fn seq(&self) -> u64 {
        self.0.seq
    }

    /// Kind of the edge to the parent: continuation, annotation, tool, version and others.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.as_str()
    }

    /// Role in the conversation: human, model, tool or system.
    #[getter]
    fn role(&self) -> &'static str {
        self.0.role().as_str()
    }

    /// ULID of the agent that wrote the node.
    #[getter]
    fn author_id(&self) -> String {
        self.0.author.to_string()
    }

    /// Text of the node.
    #[getter]
    fn content(&self) -> &str {
        &self.0.content
    }

    /// Original output of the model, if it differs from the content.
    #[getter]
    fn raw(&self) -> Option<&str> {
        self.0.raw.as_deref()
    }

    /// Number of tokens; `None` if it was not counted.
    #[getter]
    fn tokens(&self) -> Option<u32> {
        self.0.tokens
    }

    /// Number of edges from the root.
    #[getter]
    fn depth(&self) -> u32 {
        self.0.depth
    }

    /// Creation time, in UTC.
    #[getter]
    fn created_at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        datetime(py, self.0.created_at.as_millis())
    }

    /// ULID of the session that appended the node.
    #[getter]
    fn session_id(&self) -> Option<String> {
        self.0.session.map(|id| id.to_string())
    }

    /// Turn number in that session, from 1.
    #[getter]
    fn turn(&self) -> Option<u64> {
        self.0.turn
    }

    /// Hash of the node and its whole path.
    #[getter]
    fn hash(&self) -> String {
        self.0.hash.to_string()
    }

    /// Metadata as parsed JSON; `None` if there is none.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.metadata.as_ref().map(|json| loads(py, json.as_str())).transpose()
    }

    /// Metadata as the JSON text that was stored.
    #[getter]
    fn metadata_json(&self) -> Option<&str> {
        self.0.metadata.as_ref().map(Json::as_str)
    }

    /// Calls of tools as parsed JSON; `None` if there are none.
    #[getter]
    fn tool_calls<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.tool.calls.as_ref().map(|json| loads(py, json.as_str())).transpose()
    }

    /// True if the generation of the content was interrupted.
    #[getter]
    fn interrupted(&self) -> bool {
        self.0.interrupted
    }

    /// ULID of the pruned node that hides this one; `None` if it is visible.
    #[getter]
    fn pruned_by(&self) -> Option<String> {
        self.0.state.hidden_by.map(|id| id.to_string())
    }

    /// True if the content was purged.
    #[getter]
    fn purged(&self) -> bool {
        self.0.purged_at.is_some()
    }

    /// Label of the bookmark; `None` without one.
    #[getter]
    fn bookmark(&self) -> Option<&str> {
        self.0.state.bookmark.as_deref()
    }

    /// Number of visible children that continue the conversation.
    #[getter]
    fn continuations(&self) -> u32 {
        self.0.state.continuations
    }

    /// Returns the record as it is in JSON, with its role: ids as texts, times in milliseconds since 1970, without fields that
    /// have no value.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let record = to_python(py, &self.0)?;
        record.set_item(intern!(py, "role"), self.role())?;
        Ok(record)
    }

    fn __repr__(&self) -> String {
        let text: String = self.0.content.chars().take(40).collect();
        format!("<Node {} {} {text:?}>", self.0.local, self.0.role())
    }

    fn __eq__(&self, other: PyRef<'_, Self>) -> bool {
        self.0.id == other.0.id
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.id.hash(&mut hasher);
        hasher.finish()
    }
}

/// A tree as it was when it was read.
#[pyclass(frozen, module = "loomtree")]
pub(crate) struct Tree(pub(crate) types::Tree);

#[pymethods]
impl Tree {
    /// ULID of the tree.
    #[getter]
    fn id(&self) -> String {
        self.0.id.to_string()
    }

    /// Title; by default the first words of the root.
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// ULID of the root; `None` for a tree without nodes.
    #[getter]
    fn root_id(&self) -> Option<String> {
        self.0.root.map(|id| id.to_string())
    }

    /// Number of nodes of every kind.
    #[getter]
    fn nodes(&self) -> u64 {
        self.0.counts.nodes
    }

    /// Number of branches: leaves of the conversation.
    #[getter]
    fn branches(&self) -> u64 {
        self.0.counts.leaves
    }

    /// True if lists leave the tree out.
    #[getter]
    fn archived(&self) -> bool {
        self.0.archived_at.is_some()
    }

    /// Returns the record as it is in JSON: ids as texts, times in milliseconds since 1970, without fields that have no value.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0)
    }

    fn __repr__(&self) -> String {
        format!("<Tree {:?}, {} nodes>", self.0.title, self.0.counts.nodes)
    }
}

/// A session as it was when it was read: an agent at a position of a tree.
#[pyclass(frozen, module = "loomtree")]
pub(crate) struct Session(pub(crate) types::Session);

#[pymethods]
impl Session {
    /// ULID of the session.
    #[getter]
    fn id(&self) -> String {
        self.0.id.to_string()
    }

    /// ULID of the tree.
    #[getter]
    fn tree_id(&self) -> String {
        self.0.tree.to_string()
    }

    /// ULID of the node at which the session is.
    #[getter]
    fn position_id(&self) -> Option<String> {
        self.0.position.map(|id| id.to_string())
    }

    /// Folder or application in which the session works.
    #[getter]
    fn workspace(&self) -> &str {
        &self.0.workspace
    }

    /// Texts of the application.
    #[getter]
    fn metadata(&self) -> BTreeMap<String, String> {
        self.0.metadata.clone()
    }

    /// Number of nodes that the session appended.
    #[getter]
    fn turns(&self) -> u64 {
        self.0.turns
    }

    /// False if the session was ended.
    #[getter]
    fn active(&self) -> bool {
        self.0.active
    }

    fn __repr__(&self) -> String {
        format!("<Session {} in {:?}, {} turns>", self.0.id, self.0.workspace, self.0.turns)
    }
}

/// A node to append.
#[pyclass(frozen, module = "loomtree")]
pub(crate) struct Draft(pub(crate) NodeDraft, pub(crate) Option<String>);

#[pymethods]
impl Draft {
    /// Creates a draft of a node with this text.
    #[new]
    #[pyo3(signature = (content, *, role=None, kind=None, metadata=None, tool_calls=None, tool_call_id=None, tool_name=None, tokens=None, source=None))]
    #[allow(clippy::too_many_arguments)] // keywords of Python
    fn new(
        content: String,
        role: Option<&str>,
        kind: Option<&str>,
        metadata: Option<JsonArg>,
        tool_calls: Option<JsonArg>,
        tool_call_id: Option<String>,
        tool_name: Option<String>,
        tokens: Option<u32>,
        source: Option<String>,
    ) -> PyResult<Self> {
        let tool = ToolCallFields { calls: tool_calls.map(|json| json.0), call_id: tool_call_id, name: tool_name };
        let mut draft = NodeDraft::text(content)
            .author_type(role.map(author_type).transpose()?)
            .kind(kind.map(parse::<EdgeKind>).transpose()?)
            .tool(tool)
            .metadata(metadata.map(|json| json.0));
        draft.tokens = tokens;
        Ok(Self(draft, source))
    }
}

/// Reads a role, in the words of the engine or in those of providers.
pub(crate) fn author_type(role: &str) -> PyResult<AuthorType> {
    match role {
        "user" => Ok(AuthorType::Human),
        "assistant" => Ok(AuthorType::Model),
        "developer" => Ok(AuthorType::System),
        role => parse(role),
    }
}

/// An entry of the journal: one change of the file.
#[pyclass(frozen, module = "loomtree")]
pub(crate) struct Event(pub(crate) JournalEntry);

#[pymethods]
impl Event {
    /// Number of the entry: 1, 2, 3 and so on, without gaps.
    #[getter]
    fn seq(&self) -> u64 {
        self.0.seq
    }

    /// Operation: append, edit, prune and others.
    #[getter]
    fn op(&self) -> &'static str {
        self.0.op.as_str()
    }

    /// ULID of the agent that made the change.
    #[getter]
    fn agent_id(&self) -> String {
        self.0.agent.to_string()
    }

    /// ULID of the tree; `None` for documents and agents.
    #[getter]
    fn tree_id(&self) -> Option<String> {
        self.0.tree.map(|id| id.to_string())
    }

    /// ULID of the node that was changed.
    #[getter]
    fn node_id(&self) -> Option<String> {
        self.0.node.map(|id| id.to_string())
    }

    /// Time of the commit, in UTC.
    #[getter]
    fn at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        datetime(py, self.0.at.as_millis())
    }

    /// Returns the record as it is in JSON: ids as texts, times in milliseconds since 1970, without fields that have no value.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0)
    }

    fn __repr__(&self) -> String {
        format!("<Event {} {}>", self.0.seq, self.0.op)
    }
}

/// A prompt that a model would be sent.
#[pyclass(frozen, get_all, module = "loomtree")]
pub(crate) struct Context {
    /// Messages for a chat model, oldest first; `None` for a model that continues text.
    pub(crate) messages: Option<Py<PyAny>>,
    /// Text for a model that continues text; `None` for a chat model.
    pub(crate) text: Option<Py<PyAny>>,
    /// Tokens of each part, and for each node whether it is included and why.
    pub(crate) report: Py<PyAny>,
}

/// A node that a search found.
#[pyclass(frozen, get_all, module = "loomtree")]
pub(crate) struct Hit {
    /// The node.
    pub(crate) node: Py<Node>,
    /// Score, comparable within one search.
    pub(crate) score: f64,
    /// True if the node contains the query literally.
    pub(crate) exact: bool,
    /// Parent of the node.
    pub(crate) before: Option<Py<Node>>,
    /// First continuation of the node.
    pub(crate) after: Option<Py<Node>>,
}

/// The result of a search.
#[pyclass(frozen, get_all, module = "loomtree")]
pub(crate) struct Recall {
    /// Nodes that match, the best first.
    pub(crate) hits: Vec<Py<Hit>>,
    /// Nodes with some of the words only.
    pub(crate) near: Vec<Py<Hit>>,
    /// Words of the query that no searched node contains.
    pub(crate) absent: Vec<String>,
}

/// The result of an arrow line.
#[pyclass(frozen, get_all, module = "loomtree")]
pub(crate) struct Reply {
    /// True if the command succeeded.
    pub(crate) ok: bool,
    /// Name of the tool that ran; `None` for a line that could not be parsed.
    pub(crate) tool: Option<&'static str>,
    /// Code of the error.
    pub(crate) code: Option<&'static str>,
    /// Text as a model reads it.
    pub(crate) text: String,
}

#[pymethods]
impl Reply {
    fn __repr__(&self) -> String {
        format!("<Reply {} {:?}>", if self.ok { "ok" } else { "failed" }, self.text)
    }
}
