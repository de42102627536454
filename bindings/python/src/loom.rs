//! `Loom`: an open file, and its methods.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::{Mutex, PoisonError, RwLock},
};

use loomtree::{
    id::{NodeId, SessionId, TreeId},
    ops::{self, Actor, NodeDraft, SessionDraft, TreeDraft},
    provider::Sampling,
    session,
    store::{Change, ChildFilter, Mutation, PurgeTarget, SessionFilter, Snapshot, StoreError, TreeFilter},
    types::{self, Agent, Mode, NewNode, Op, Parent},
};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBytes, PyList},
};

use crate::{
    convert::{JsonArg, NodeRef, Place, SessionRef, TreeRef, parse, to_python},
    errors::{LoomError, raise},
    events::Events,
    generate::{self, Continuation, ModelArg},
    gil::detached,
    interchange,
    json_value::JsonReader,
    pending::Pending,
    records::{Context, Draft, Node, Recall, Reply, Session, Tree, author_type},
    search::{self, Search},
};

/// Opens a file, and creates it if it is missing.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, path: PathBuf) -> PyResult<Loom> {
    let loom = detached(py, || session::open(&path))?;
    Ok(Loom { path, open: RwLock::new(Some(loom)), agents: Mutex::default() })
}

/// An open file of trees. It may be used from every thread, and several processes may open one file.
#[pyclass(frozen, module = "loomtree")]
pub(crate) struct Loom {
    path: PathBuf,
    open: RwLock<Option<ops::Loom>>,
    /// Agents by name. Their ids and kinds never change.
    agents: Mutex<HashMap<String, Agent>>,
}

impl Loom {
    fn loom(&self) -> PyResult<ops::Loom> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or_else(|| LoomError::new_err("the file was closed"))
    }

    fn actor(&self, py: Python<'_>, name: &str, session: Option<SessionId>) -> PyResult<Actor> {
        let loom = self.loom()?;
        let known = self.agents.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        let agent = match known {
            Some(agent) => agent,
            None => {
                let agent = detached(py, || loom.agent(name))?;
                let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
                agents.entry(name.to_owned()).or_insert(agent).clone()
            }
        };
        let actor = loom.actor(&agent);
        Ok(match session {
            Some(session) => actor.in_session(session),
            None => actor,
        })
    }
}

type DraftWithSource = (NodeDraft, Option<String>);

fn drafts_of(drafts: &[PyRef<'_, Draft>], keep_position: bool) -> PyResult<Vec<DraftWithSource>> {
    if drafts.is_empty() {
        return Err(PyValueError::new_err("there is no draft"));
    }
    Ok(drafts.iter().map(|draft| (draft.0.clone().keep_position(keep_position), draft.1.clone())).collect())
}

/// Builds a chain of nodes, each the parent of the next, as a change. Returns it and the ids of the nodes.
fn chain_of(actor: &Actor, parent: Place, drafts: Vec<DraftWithSource>) -> (Change, Vec<NodeId>) {
    let mut parent = parent.into();
    let (mut mutations, mut ids) = (Vec::with_capacity(drafts.len()), Vec::with_capacity(drafts.len()));
    for (draft, source) in drafts {
        let node = NewNode { source, ..actor.draft(parent, draft) };
        parent = Parent::Node(node.id);
        ids.push(node.id);
        mutations.push(Mutation::Append(Box::new(node)));
    }
    (actor.change(Op::Append, mutations), ids)
}

fn nodes_of(nodes: Vec<types::Node>) -> Vec<Node> {
    nodes.into_iter().map(Node).collect()
}

#[pymethods]
impl Loom {
    /// Path of the file.
    #[getter]
    fn file(&self) -> PathBuf {
        self.path.clone()
    }

    /// Closes the file. Other handles of it stay open.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.open.write().unwrap_or_else(PoisonError::into_inner).take()));
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        format!("<Loom {}>", self.path.display())
    }

    /// Creates a tree with this first node.
    #[pyo3(signature = (root="", *, title=None, description=None, mode="dialogue", system=None, role=None, metadata=None, by="owner"))]
    #[allow(clippy::too_many_arguments)] // keywords of Python
    fn new_tree(
        &self,
        py: Python<'_>,
        root: &str,
        title: Option<String>,
        description: Option<String>,
        mode: &str,
        system: Option<String>,
        role: Option<&str>,
        metadata: Option<JsonArg>,
        by: &str,
    ) -> PyResult<Tree> {
        let actor = self.actor(py, by, None)?;
        let root =
            NodeDraft::text(root).author_type(role.map(author_type).transpose()?).metadata(metadata.map(|json| json.0));
        let mut draft = TreeDraft::new(root).mode(parse::<Mode>(mode)?);
        (draft.title, draft.description, draft.system_context) = (title, description, system);
        Ok(Tree(detached(py, || actor.create_tree(draft))?.0))
    }

    /// Lists trees, the most recently changed first.
    #[pyo3(signature = (*, archived=false, limit=0))]
    fn trees(&self, py: Python<'_>, archived: bool, limit: u32) -> PyResult<Vec<Tree>> {
        let loom = self.loom()?;
        let filter = TreeFilter::default().archived(archived).limit(limit);
        let trees = detached(py, || loom.snapshot()?.trees(filter).map_err(ops::OpsError::from))?;
        Ok(trees.into_iter().map(Tree).collect())
    }

    /// Finds a tree by its id, its title, or a part of either.
    fn tree(&self, py: Python<'_>, tree: TreeRef) -> PyResult<Tree> {
        let loom = self.loom()?;
        detached(py, || loom.tree(tree.find(&loom)?)).map(Tree)
    }

    /// Archives a tree: lists omit it.
    #[pyo3(signature = (tree, *, by="owner"))]
    fn archive(&self, py: Python<'_>, tree: TreeRef, by: &str) -> PyResult<()> {
        let actor = self.actor(py, by, None)?;
        detached(py, || actor.archive_tree(tree.find(actor.loom())?)).map(drop)
    }

    /// Reads a node by its ULID, or by its short id in a tree.
    #[pyo3(signature = (node, tree=None))]
    fn node(&self, py: Python<'_>, node: &Bound<'_, PyAny>, tree: Option<TreeRef>) -> PyResult<Node> {
        let loom = self.loom()?;
        if let Some(tree) = tree {
            let text: String = node.extract()?;
            return detached(py, || loom.find_node(tree.find(&loom)?, &text)).map(Node);
        }
        let NodeRef(id) = node.extract()?;
        detached(py, || loom.node(id)).map(Node)
    }

    /// Finds the node that was appended with this source; `None` if there is none.
    fn find_source(&self, py: Python<'_>, source: &str) -> PyResult<Option<Node>> {
        let loom = self.loom()?;
        let node = detached(py, || -> ops::Result<_> {
            let snapshot = loom.snapshot()?;
            let id = snapshot.source(source)?;
            Ok(id.map(|id| snapshot.node(id)).transpose()?.flatten())
        })?;
        Ok(node.map(Node))
    }

    /// Reads at most `limit` nodes of a tree in the order of their insertion, after the one with the number `after`.
    #[pyo3(signature = (tree, *, after=0, limit=1000))]
    fn nodes(&self, py: Python<'_>, tree: TreeRef, after: u64, limit: u32) -> PyResult<Vec<Node>> {
        let loom = self.loom()?;
        let nodes =
            detached(py, || -> ops::Result<_> { Ok(loom.snapshot()?.nodes_after(tree.find(&loom)?, after, limit)?) })?;
        Ok(nodes_of(nodes))
    }

    /// Reads the children of a node in the order of their insertion.
    #[pyo3(signature = (node, *, kind=None, pruned=false, limit=0))]
    fn children(
        &self,
        py: Python<'_>,
        node: NodeRef,
        kind: Option<&str>,
        pruned: bool,
        limit: u32,
    ) -> PyResult<Vec<Node>> {
        let loom = self.loom()?;
        let filter = ChildFilter::default().kind(kind.map(parse).transpose()?).pruned(pruned).limit(limit);
        let nodes = detached(py, || loom.snapshot()?.children(node.0, &filter).map_err(ops::OpsError::from))?;
        Ok(nodes_of(nodes))
    }

    /// Reads the node at the position of a session and its children, in one snapshot. With `active`, a session that has ended
    /// raises `SessionEnded`.
    #[pyo3(signature = (session, *, kind=None, active=false))]
    fn position(
        &self,
        py: Python<'_>,
        session: SessionRef,
        kind: Option<&str>,
        active: bool,
    ) -> PyResult<(Option<Node>, Vec<Node>)> {
        let loom = self.loom()?;
        let filter = ChildFilter::default().kind(kind.map(parse).transpose()?);
        let (node, children) = detached(py, || -> ops::Result<_> {
            let snapshot = loom.snapshot()?;
            let session = snapshot.session(session.0)?;
            if active && session.as_ref().is_some_and(|session| !session.active) {
                return Err(StoreError::SessionEnded.into());
            }
            let Some(id) = session.and_then(|session| session.position) else { return Ok((None, Vec::new())) };
            Ok((snapshot.node(id)?, snapshot.children(id, &filter)?))
        })?;
        Ok((node.map(Node), nodes_of(children)))
    }

    /// Reads the path that ends at a node or at the position of a session, oldest node first, or only its last nodes. With
    /// `active`, a session that has ended raises `SessionEnded`.
    #[pyo3(signature = (to, *, limit=0, active=false))]
    fn path(&self, py: Python<'_>, to: Place, limit: u32, active: bool) -> PyResult<Vec<Node>> {
        let loom = self.loom()?;
        detached(py, || path_to(&loom, &to, limit, active)).map(nodes_of)
    }

    /// Reads the metadata of the nodes of a path as one JSON array, `null` for a node without any.
    #[pyo3(signature = (to, *, limit=0))]
    fn path_metadata_json(&self, py: Python<'_>, to: Place, limit: u32) -> PyResult<String> {
        let loom = self.loom()?;
        detached(py, || {
            let texts = path_metadata(&loom, &to, limit, false)?;
            let bytes = texts.iter().map(|text| text.as_ref().map_or(4, String::len) + 1).sum::<usize>();
            let mut text = String::with_capacity(bytes + 2);
            for metadata in &texts {
                text.push(if text.is_empty() { '[' } else { ',' });
                text.push_str(metadata.as_deref().unwrap_or("null"));
            }
            text.push_str(if text.is_empty() { "[]" } else { "]" });
            Ok::<_, ops::OpsError>(text)
        })
    }

    /// Reads the values of a key in the metadata of the nodes of a path. Nodes without the key are left out. With `active`, a
    /// session that has ended raises `SessionEnded`.
    #[pyo3(signature = (to, key, *, limit=0, active=false))]
    fn path_metadata<'py>(
        &self,
        py: Python<'py>,
        to: Place,
        key: &str,
        limit: u32,
        active: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let loom = self.loom()?;
        let texts = detached(py, || path_metadata(&loom, &to, limit, active))?;
        let (reader, values) = (JsonReader::new(py), PyList::empty(py));
        for text in texts.into_iter().flatten() {
            if let Some(value) = reader.field(&text, key)? {
                values.append(value)?;
            }
        }
        Ok(values)
    }

    /// Returns the leaf that the newest continuations lead to.
    fn leaf(&self, py: Python<'_>, node: NodeRef) -> PyResult<Node> {
        let loom = self.loom()?;
        detached(py, || loom.leaf(&loom.node(node.0)?, &[])).map(Node)
    }

    /// Appends a node under a node or at the position of a session, and returns it when it is on disk.
    #[pyo3(signature = (parent, content, *, role=None, kind=None, metadata=None, session=None, keep_position=false, by="owner"))]
    #[allow(clippy::too_many_arguments)] // keywords of Python
    fn append(
        &self,
        py: Python<'_>,
        parent: Place,
        content: &str,
        role: Option<&str>,
        kind: Option<&str>,
        metadata: Option<JsonArg>,
        session: Option<SessionRef>,
        keep_position: bool,
        by: &str,
    ) -> PyResult<Node> {
        let draft = NodeDraft::text(content)
            .author_type(role.map(author_type).transpose()?)
            .kind(kind.map(parse).transpose()?)
            .metadata(metadata.map(|json| json.0))
            .keep_position(keep_position);
        let actor = self.actor(py, by, session_of(session, &parent))?;
        detached(py, || {
            if let Place::Node(node) = parent {
                ops::require_visible(&actor.loom().node(node)?)?;
            }
            let receipt = actor.append(parent, draft)?;
            actor.loom().node(receipt.nodes[0].id)
        })
        .map(Node)
    }

    /// Queues a chain of nodes, each the parent of the next, as one commit. With `here`, a small change may be committed
    /// before the call returns, for a caller that waits for it next.
    #[pyo3(signature = (parent, drafts, *, session=None, keep_position=false, here=false, by="owner"))]
    #[allow(clippy::too_many_arguments)] // keywords of Python
    fn submit(
        &self,
        py: Python<'_>,
        parent: Place,
        drafts: Vec<PyRef<'_, Draft>>,
        session: Option<SessionRef>,
        keep_position: bool,
        here: bool,
        by: &str,
    ) -> PyResult<Pending> {
        let actor = self.actor(py, by, session_of(session, &parent))?;
        let drafts = drafts_of(&drafts, keep_position)?;
        Ok(py.detach(|| {
            let (change, ids) = chain_of(&actor, parent, drafts);
            let store = actor.loom().store();
            let here = if here { store.submit_here(vec![change]).pop() } else { Some(store.submit(change)) };
            Pending::new(here, ids)
        }))
    }

    /// Submits chains of nodes, each at the position of a session, in one commit on this thread if it can be small.
    #[pyo3(signature = (chains, *, by="owner"))]
    fn submit_here(
        &self,
        py: Python<'_>,
        chains: Vec<(SessionRef, Vec<PyRef<'_, Draft>>)>,
        by: &str,
    ) -> PyResult<Vec<Pending>> {
        let actor = self.actor(py, by, None)?;
        let chains = chains.into_iter().map(|(session, drafts)| Ok((session.0, drafts_of(&drafts, false)?)));
        let chains = chains.collect::<PyResult<Vec<_>>>()?;
        Ok(py.detach(|| {
            let chains = chains
                .into_iter()
                .map(|(session, drafts)| chain_of(&actor.clone().in_session(session), Place::Session(session), drafts));
            let (changes, ids): (Vec<_>, Vec<_>) = chains.unzip();
            let pending = actor.loom().store().submit_here(changes);
            pending.into_iter().zip(ids).map(|(pending, ids)| Pending::new(Some(pending), ids)).collect()
        }))
    }

    /// Edits a node: the new text becomes a branch, or a version in a tree of prose. Returns the new node.
    #[pyo3(signature = (node, content, *, by="owner"))]
    fn edit(&self, py: Python<'_>, node: NodeRef, content: &str, by: &str) -> PyResult<Node> {
        let actor = self.actor(py, by, None)?;
        detached(py, || {
            let receipt = actor.edit(node.0, content)?;
            actor.loom().node(receipt.nodes[0].id)
        })
        .map(Node)
    }

    /// Adds a note to a node. Returns the note.
    #[pyo3(signature = (node, note, *, by="owner"))]
    fn annotate(&self, py: Python<'_>, node: NodeRef, note: &str, by: &str) -> PyResult<Node> {
        let actor = self.actor(py, by, None)?;
        detached(py, || {
            let receipt = actor.annotate(node.0, note)?;
            actor.loom().node(receipt.nodes[0].id)
        })
        .map(Node)
    }

    /// Sets the bookmark of a node, or removes it with `None`.
    #[pyo3(signature = (node, label, *, by="owner"))]
    fn bookmark(&self, py: Python<'_>, node: NodeRef, label: Option<&str>, by: &str) -> PyResult<()> {
        let actor = self.actor(py, by, None)?;
        let change = || match label {
            Some(label) => actor.bookmark(node.0, label),
            None => actor.unbookmark(node.0),
        };
        detached(py, change).map(drop)
    }

    /// Hides a node and its descendants. Returns the number of hidden messages, at least 1; annotations are not counted. With
    /// `last`, a node that has continuations raises `Conflict`, also if another process adds one at the same time.
    #[pyo3(signature = (node, *, last=false, by="owner"))]
    fn prune(&self, py: Python<'_>, node: NodeRef, last: bool, by: &str) -> PyResult<u64> {
        let actor = self.actor(py, by, None)?;
        let prune_last = |actor: &Actor| {
            if actor.loom().node(node.0)?.state.continuations > 0 {
                return Err(StoreError::Conflict("the node has continuations".to_owned()).into());
            }
            actor.prune(node.0)
        };
        detached(py, || if last { actor.transaction(prune_last) } else { actor.prune(node.0) })
            .map(|receipt| receipt.affected)
    }

    /// Shows the nodes that pruning this node hid. Returns the number of messages among them, at least 1.
    #[pyo3(signature = (node, *, by="owner"))]
    fn restore(&self, py: Python<'_>, node: NodeRef, by: &str) -> PyResult<u64> {
        let actor = self.actor(py, by, None)?;
        detached(py, || actor.restore(node.0)).map(|receipt| receipt.affected)
    }

    /// Undoes the newest operation of an agent in a tree.
    #[pyo3(signature = (tree, *, by="owner"))]
    fn undo(&self, py: Python<'_>, tree: TreeRef, by: &str) -> PyResult<()> {
        let actor = self.actor(py, by, None)?;
        detached(py, || actor.undo(Some(tree.find(actor.loom())?))).map(drop)
    }

    /// Removes the content of trees and nodes for good, and rewrites the file once. Tombstones remain.
    #[pyo3(signature = (*, trees=Vec::new(), nodes=Vec::new(), by="owner"))]
    fn purge(&self, py: Python<'_>, trees: Vec<TreeRef>, nodes: Vec<NodeRef>, by: &str) -> PyResult<()> {
        let actor = self.actor(py, by, None)?;
        detached(py, || {
            let trees = trees.into_iter().map(|tree| tree.find(actor.loom()).map(PurgeTarget::Tree));
            let nodes = nodes.into_iter().map(|node| Ok(PurgeTarget::Node(node.0)));
            let targets = trees.chain(nodes).map(|target| target.map(Mutation::Purge));
            actor.commit(Op::Purge, targets.collect::<ops::Result<_>>()?)
        })
        .map(drop)
    }

    /// Has a model continue a node. Returns the saved replies.
    #[pyo3(signature = (node, model, n=1, *, by="subject", instruction=None, window=None, temperature=None, max_tokens=None, seed=None, stop=Vec::new(), on_text=None))]
    #[allow(clippy::too_many_arguments)] // keywords of Python
    fn continue_(
        &self,
        py: Python<'_>,
        node: NodeRef,
        model: ModelArg,
        n: usize,
        by: &str,
        instruction: Option<String>,
        window: Option<usize>,
        temperature: Option<f32>,
        max_tokens: Option<u32>,
        seed: Option<u64>,
        stop: Vec<String>,
        on_text: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Node>> {
        let actor = self.actor(py, "owner", None)?;
        let (from, author) =
            detached(py, || Ok::<_, ops::OpsError>((actor.loom().node(node.0)?, actor.loom().agent(by)?)))?;
        detached(py, || ops::require_parent(&from, types::EdgeKind::Continuation))?;
        let mut sampling = Sampling::default().stop(stop);
        (sampling.temperature, sampling.max_tokens, sampling.seed) = (temperature, max_tokens, seed);
        let asked = Continuation { from, author, model, n, window, instruction, sampling, on_text };
        generate::run(py, &actor, asked).map(nodes_of)
    }

    /// Returns the prompt that an agent's model would be sent at a node, with a report of its parts.
    #[pyo3(signature = (node, *, by="subject", window=None))]
    fn context(&self, py: Python<'_>, node: NodeRef, by: &str, window: Option<u32>) -> PyResult<Context> {
        search::context(py, &self.loom()?, node.0, by, window)
    }

    /// Searches the words of a question, in a tree, a session or everything.
    #[pyo3(signature = (query, *, tree=None, session=None, by=None, path_to=None, below=None, exact=false, by_time=false, limit=20))]
    #[allow(clippy::too_many_arguments)] // keywords of Python
    fn recall(
        &self,
        py: Python<'_>,
        query: String,
        tree: Option<TreeRef>,
        session: Option<SessionRef>,
        by: Option<String>,
        path_to: Option<NodeRef>,
        below: Option<NodeRef>,
        exact: bool,
        by_time: bool,
        limit: usize,
    ) -> PyResult<Recall> {
        let loom = self.loom()?;
        let tree: Option<TreeId> = tree.map(|tree| detached(py, || tree.find(&loom))).transpose()?;
        let id = |node: Option<NodeRef>| -> Option<NodeId> { node.map(|node| node.0) };
        let (session, path_to, below) = (session.map(|session| session.0), id(path_to), id(below));
        search::search(py, &loom, Search { text: query, tree, session, by, path_to, below, exact, by_time, limit })
    }

    /// Runs arrow lines as an agent, at a node or in a session.
    #[pyo3(signature = (lines, at, *, by="collaborator"))]
    fn run(&self, py: Python<'_>, lines: Vec<String>, at: Place, by: &str) -> PyResult<Vec<Reply>> {
        search::run_lines(py, &self.loom()?, &lines, at, by)
    }

    /// Returns an iterator over the changes of every process, from now on or after an entry.
    #[pyo3(signature = (after=None))]
    fn events(&self, py: Python<'_>, after: Option<u64>) -> PyResult<Events> {
        let loom = self.loom()?;
        let after = match after {
            Some(after) => after,
            None => detached(py, || loom.snapshot()?.last_seq().map_err(ops::OpsError::from))?,
        };
        Ok(Events::new(loom, after))
    }

    /// Starts a session of an agent in a tree.
    #[pyo3(signature = (tree, workspace, *, position=None, metadata=None, by="owner"))]
    fn start_session(
        &self,
        py: Python<'_>,
        tree: TreeRef,
        workspace: &str,
        position: Option<NodeRef>,
        metadata: Option<BTreeMap<String, String>>,
        by: &str,
    ) -> PyResult<Session> {
        let actor = self.actor(py, by, None)?;
        detached(py, || {
            let draft = SessionDraft::of(workspace).metadata(metadata.unwrap_or_default());
            let tree = actor.loom().tree(tree.find(actor.loom())?)?;
            let id = actor.open_session(tree.id, position.map(|node| node.0).or(tree.root), draft)?;
            actor.loom().session(id)
        })
        .map(Session)
    }

    /// Returns the newest active session of a workspace whose metadata has these entries. Without one, starts it: in `tree`, or
    /// in a new tree with this title, role and metadata of the root. Callers in several processes get the same session.
    #[pyo3(signature = (workspace, *, metadata=None, tree=None, title=None, role=None, root_metadata=None, by="owner"))]
    #[allow(clippy::too_many_arguments)] // keywords of Python
    fn find_or_start_session(
        &self,
        py: Python<'_>,
        workspace: &str,
        metadata: Option<BTreeMap<String, String>>,
        tree: Option<TreeRef>,
        title: Option<String>,
        role: Option<&str>,
        root_metadata: Option<JsonArg>,
        by: &str,
    ) -> PyResult<Session> {
        let actor = self.actor(py, by, None)?;
        let metadata = metadata.unwrap_or_default();
        let root = NodeDraft::text("")
            .author_type(role.map(author_type).transpose()?)
            .metadata(root_metadata.map(|json| json.0));
        let start = |actor: &Actor| {
            let mut filter = SessionFilter::default().active(true);
            filter.workspace = Some(workspace.to_owned());
            filter.tree = tree.map(|tree| tree.find(actor.loom())).transpose()?;
            let has_entries =
                |session: &types::Session| metadata.iter().all(|(key, value)| session.metadata.get(key) == Some(value));
            if let Some(session) = actor.loom().sessions(&filter)?.into_iter().find(has_entries) {
                return Ok(session);
            }
            let tree = match filter.tree {
                Some(tree) => actor.loom().tree(tree)?,
                None => {
                    let mut draft = TreeDraft::new(root);
                    draft.title = title;
                    actor.create_tree(draft)?.0
                }
            };
            let draft = SessionDraft::of(workspace).metadata(metadata.clone());
            let id = actor.open_session(tree.id, tree.root, draft)?;
            actor.loom().session(id)
        };
        detached(py, || actor.transaction(start)).map(Session)
    }

    /// Reads a session by its ULID.
    fn session(&self, py: Python<'_>, session: SessionRef) -> PyResult<Session> {
        let loom = self.loom()?;
        detached(py, || loom.session(session.0)).map(Session)
    }

    /// Lists sessions, the most recently active first.
    #[pyo3(signature = (*, workspace=None, tree=None, active=true, limit=0))]
    fn sessions(
        &self,
        py: Python<'_>,
        workspace: Option<String>,
        tree: Option<TreeRef>,
        active: bool,
        limit: u32,
    ) -> PyResult<Vec<Session>> {
        let loom = self.loom()?;
        let sessions = detached(py, || {
            let mut filter = SessionFilter::default().active(active).limit(limit);
            filter.tree = tree.map(|tree| tree.find(&loom)).transpose()?;
            filter.workspace = workspace;
            loom.sessions(&filter)
        })?;
        Ok(sessions.into_iter().map(Session).collect())
    }

    /// Moves a session to a node of its tree.
    #[pyo3(signature = (session, node, *, by="owner"))]
    fn switch(&self, py: Python<'_>, session: SessionRef, node: NodeRef, by: &str) -> PyResult<()> {
        let actor = self.actor(py, by, None)?;
        detached(py, || actor.switch_to(session.0, node.0)).map(drop)
    }

    /// Ends a session: it cannot be continued. Its nodes remain.
    #[pyo3(signature = (session, *, by="owner"))]
    fn end_session(&self, py: Python<'_>, session: SessionRef, by: &str) -> PyResult<()> {
        let actor = self.actor(py, by, None)?;
        detached(py, || actor.end_session(session.0)).map(drop)
    }

    /// Exports trees into a file, or returns the text as bytes if no path is given.
    #[pyo3(signature = (path=None, *, trees=None, format="loomtree"))]
    fn export<'py>(
        &self,
        py: Python<'py>,
        path: Option<PathBuf>,
        trees: Option<Vec<TreeRef>>,
        format: &str,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let loom = self.loom()?;
        let text = detached(py, || -> loomtree::Result<_> {
            let trees = trees.map(|trees| trees.into_iter().map(|tree| tree.find(&loom)).collect::<ops::Result<_>>());
            Ok(interchange::export(&loom, path, trees.transpose()?, format)?)
        })?;
        Ok(text.map(|text| PyBytes::new(py, &text)))
    }

    /// Imports a file, or the database of another program. Returns what was imported.
    #[pyo3(signature = (path, *, format=None, dry_run=false, by="owner"))]
    fn import_file<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        format: Option<&str>,
        dry_run: bool,
        by: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let actor = self.actor(py, by, None)?;
        let imported = detached(py, || interchange::import(&actor, &path, format, dry_run))?;
        to_python(py, &imported)
    }

    /// Recomputes every hash and count. Returns the problems, one sentence each.
    fn verify(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let loom = self.loom()?;
        py.detach(|| loom.store().verify(&mut |_| {})).map(|report| report.problems).map_err(raise)
    }
}

/// Returns the session of a change: the given one, or that at whose position it appends.
fn session_of(session: Option<SessionRef>, parent: &Place) -> Option<SessionId> {
    match (session, parent) {
        (Some(session), _) => Some(session.0),
        (None, Place::Session(session)) => Some(*session),
        (None, Place::Node(_)) => None,
    }
}

/// Reads the path to a node, or to the position of a session through the versions that it selects.
fn path_to(loom: &ops::Loom, to: &Place, limit: u32, active: bool) -> ops::Result<Vec<types::Node>> {
    let snapshot = loom.snapshot()?;
    let (to, versions) = end_of(&*snapshot, to, active)?;
    Ok(to.map(|to| snapshot.path_back(to, &versions, limit)).transpose()?.unwrap_or_default())
}

/// Reads the metadata of the nodes of a path.
fn path_metadata(loom: &ops::Loom, to: &Place, limit: u32, active: bool) -> ops::Result<Vec<Option<String>>> {
    let snapshot = loom.snapshot()?;
    let (to, versions) = end_of(&*snapshot, to, active)?;
    Ok(to.map(|to| snapshot.path_metadata(to, &versions, limit)).transpose()?.unwrap_or_default())
}

/// The last node of a path, with the versions that a session selects. With `active`, the session must not have ended.
fn end_of(snapshot: &dyn Snapshot, to: &Place, active: bool) -> ops::Result<(Option<NodeId>, Vec<NodeId>)> {
    let session = match to {
        Place::Node(node) => return Ok((Some(*node), Vec::new())),
        Place::Session(id) => snapshot.session(*id)?,
    };
    match session {
        Some(session) if active && !session.active => Err(StoreError::SessionEnded.into()),
        session => Ok(session.map_or((None, Vec::new()), |session| (session.position, session.versions))),
    }
}
