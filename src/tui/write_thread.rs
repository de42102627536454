//! Write thread: executes write requests in order and reports each once it is committed.

mod buffer;
mod sessions;

use std::{
    collections::HashSet,
    path::Path,
    sync::{Arc, atomic::AtomicBool, mpsc},
    thread,
};

use super::{
    ScreenSetup,
    import_export::{self, FileJob, PathEnd},
    message::{BackgroundEvent, BackgroundReport, Responder, WriteRequest, WriteResult},
    queries, text,
};
use crate::{
    arrow::{Command, LinkEnd, NodeRef},
    exec::{NodeResolver, commit, counts::count},
    id::{NodeId, SessionId, TreeId},
    ops::{Actor, NodeDraft, OpDescription, OpsError, TreeDraft, UndoResult, require_parent},
    session::{Interruption, resume},
    store::Receipt,
    tools::Tool,
    types::{AgentKind, EdgeKind, LinkTarget, Mode, Node, Parent, PinTarget, TreePatch, one_line},
};

type Result<T> = std::result::Result<T, OpsError>;
type ReportSender = tokio::sync::mpsc::UnboundedSender<BackgroundReport>;

/// Starts the thread; it ends when the queue is dropped and all requests are done.
pub(crate) fn start(
    setup: ScreenSetup,
    reports: ReportSender,
    cancel_file: Arc<AtomicBool>,
) -> std::io::Result<(mpsc::Sender<WriteRequest>, thread::JoinHandle<()>)> {
    let (sender, requests) = mpsc::channel();
    let (tree, session) = (setup.tree, setup.session);
    let mut writer =
        WriteThread { setup, tree, session, reports: reports.clone(), cancel_file, reported_versions: HashSet::new() };
    let thread = thread::Builder::new().name("loomtree-write".to_owned()).spawn(move || {
        for request in requests {
            if let WriteRequest::ShowCursor(node) = request {
                writer.show_cursor(node);
                continue;
            }
            let done = writer.run(&request).map(Box::new).map_err(|error| error_line(&error));
            // The screen may be closed; the request is executed all the same.
            let _ = reports.send(BackgroundReport(BackgroundEvent::WriteDone(done)));
        }
    })?;
    Ok((sender, thread))
}

/// Formats an error as one line.
pub(crate) fn error_line(error: &OpsError) -> String {
    match error {
        OpsError::Ambiguous { text, candidates } => {
            let ids: Vec<&str> = candidates.iter().take(5).map(|node| node.local.as_str()).collect();
            format!("{text:?} could be {}", ids.join(", "))
        }
        error => error.hint().map_or_else(|| error.to_string(), |hint| format!("{error}; {hint}")),
    }
}

struct WriteThread {
    setup: ScreenSetup,
    tree: TreeId,
    session: Option<SessionId>,
    reports: ReportSender,
    /// True if the running import or export is to end.
    cancel_file: Arc<AtomicBool>,
    /// Versions of other windows that a refused save has reported: the next save adds a version beside them.
    reported_versions: HashSet<NodeId>,
}

impl NodeResolver for WriteThread {
    type Error = OpsError;

    /// The screen names nodes by their ULIDs.
    fn node(&self, reference: Option<&NodeRef>) -> Result<Node> {
        self.setup.loom.find_node(self.tree, reference.and_then(NodeRef::id).unwrap_or_default())
    }

    fn link_end(&self, end: &LinkEnd) -> Result<(LinkTarget, String)> {
        let node = self.node(end.node.as_ref())?;
        Ok((LinkTarget::Node(node.id), node.local.to_string()))
    }
}

impl WriteThread {
    /// Returns the user's actor at a node, in the current session, the newest one of the tree, or a new one.
    fn actor_at(&mut self, node: NodeId) -> Result<Actor> {
        let actor = self.setup.loom.actor(&self.setup.agent);
        let session = match self.session {
            Some(session) => session,
            None => actor.ensure_session(&self.setup.workspace, self.tree, node)?,
        };
        self.session = Some(session);
        let actor = actor.in_session(session);
        let session = self.setup.loom.session(session)?;
        if session.position != Some(node) {
            actor.set_position(&session, &self.setup.loom.node(node)?)?;
        }
        Ok(actor)
    }

    /// Shows others where the user reads. A failure has no effect: another tree may have been opened meanwhile.
    fn show_cursor(&self, node: NodeId) {
        let Some(session) = self.session else { return };
        let actor = self.setup.loom.actor(&self.setup.agent).in_session(session);
        if let Err(error) = actor.show_cursor(node).wait() {
            tracing::debug!(%error, "the cursor was not shown");
        }
    }

    fn run(&mut self, request: &WriteRequest) -> Result<WriteResult> {
        let mut result = self.execute(request)?;
        result.session = self.session;
        Ok(result)
    }

    fn execute(&mut self, request: &WriteRequest) -> Result<WriteResult> {
        match request {
            WriteRequest::Append(after, text) => {
                require_parent(&self.setup.loom.node(*after)?, EdgeKind::Continuation)?;
                let receipt = self.actor_at(*after)?.append(Parent::Node(*after), NodeDraft::text(text))?;
                Ok(created("", &receipt))
            }
            WriteRequest::Change(node, command) => self.change(*node, command),
            WriteRequest::PruneAll(nodes) => {
                let actor = self.setup.loom.actor(&self.setup.agent);
                actor.transaction(|actor| nodes.iter().try_for_each(|node| actor.prune(*node).map(drop)))?;
                Ok(undoable(&format!("pruned {}", count(nodes.len() as u64, "other continuation"))))
            }
            WriteRequest::Undo => self.apply_undo("undone", Actor::undo),
            WriteRequest::UndoOf(agent) => self.apply_undo("undone", |actor, tree| actor.undo_of(*agent, tree)),
            WriteRequest::Redo => self.apply_undo("redone", Actor::redo),
            WriteRequest::Pin(node, pin) => self.set_pinned(*node, *pin),
            WriteRequest::Title(title) => {
                let patch = TreePatch { title: Some(Some(title.clone())), ..TreePatch::default() };
                self.setup.loom.actor(&self.setup.agent).rename(self.tree, patch)?;
                Ok(undoable("the tree has a new title"))
            }
            WriteRequest::NewTree(text, buffer) => self.create_tree(text, *buffer),
            WriteRequest::ChooseVersion(node) => self.choose_version(*node),
            WriteRequest::SaveBuffer(at, edit) => self.save_buffer(*at, edit),
            WriteRequest::CycleVersion(at, node, forward) => self.cycle_version(*at, *node, *forward),
            WriteRequest::SetPosition(node) => {
                if self.session.is_some() {
                    self.actor_at(*node)?;
                }
                Ok(WriteResult::default())
            }
            WriteRequest::ShowCursor(node) => {
                self.show_cursor(*node);
                Ok(WriteResult::default())
            }
            WriteRequest::Import(path) => self.import(path),
            WriteRequest::Export(node, format, path) => self.export(*node, format, path),
            WriteRequest::OpenTree(tree, at) => self.open_tree(*tree, *at),
            WriteRequest::Resume(session) => self.resume_session(*session),
            WriteRequest::Session(session, request) => self.change_session(*session, request),
            WriteRequest::AdoptSession(session) => self.adopt_session(*session),
        }
    }

    /// Runs a command that changes the tree.
    fn change(&mut self, node: NodeId, command: &Command) -> Result<WriteResult> {
        let tool = command.tool();
        let (actor, before) = match tool {
            Tool::Prune | Tool::Restore => {
                (self.setup.loom.actor(&self.setup.agent), Some(self.setup.loom.node(node)?))
            }
            _ => (self.actor_at(node)?, None),
        };
        // The branch beside a pruned one is found while both are visible.
        let above = match before.filter(|_| tool == Tool::Prune) {
            Some(before) => {
                let parent = before.parent.ok_or_else(|| OpsError::Invalid("the root cannot be pruned".to_owned()))?;
                let beside = queries::adjacent_branch(&*self.setup.loom.snapshot()?, &before)?.unwrap_or(parent);
                let versions = self.versions()?.unwrap_or_default();
                Some(self.setup.loom.version_on_path(&self.setup.loom.node(beside)?, &versions)?.id)
            }
            None => None,
        };
        let change = commit(&actor, command, self)?;
        let added = change.added.as_ref().map(|node| node.id);
        let is_version = change.added.as_ref().is_some_and(|node| node.kind == EdgeKind::Version);
        let (message, position) = match tool {
            Tool::Edit if is_version => ("saved as a version", added),
            Tool::Edit => ("saved as a branch beside the original", added),
            Tool::Annotate => ("note added", None),
            Tool::Bookmark => ("bookmarked", None),
            Tool::Unbookmark => ("bookmark removed", None),
            Tool::Prune => ("pruned", above),
            Tool::Restore => ("restored", Some(node)),
            Tool::Exclude => ("excluded from what models read", None),
            Tool::Include => ("included for models again", None),
            Tool::Merge => ("merged", added),
            Tool::Split => ("split in two", change.receipt.nodes.last().map(|half| half.id)),
            Tool::Move => ("moved", added),
            _ => ("copied", added),
        };
        Ok(WriteResult { position, versions: self.versions()?, ..undoable(message) })
    }

    fn set_pinned(&mut self, node: NodeId, pinned: bool) -> Result<WriteResult> {
        let (actor, target) = (self.actor_at(node)?, PinTarget::Node(node));
        if pinned {
            actor.pin(self.tree, target)?
        } else {
            actor.unpin(self.tree, target)?
        };
        Ok(undoable(if pinned { "pinned" } else { "unpinned" }))
    }

    fn create_tree(&mut self, text: &str, buffer: bool) -> Result<WriteResult> {
        let mode = if buffer { Mode::Buffer } else { Mode::Dialogue };
        let actor = self.setup.loom.actor(&self.setup.agent);
        let (tree, root) = actor.create_tree(TreeDraft::new(NodeDraft::text(text)).mode(mode))?;
        self.open_tree(tree.id, Some(root.id))
    }

    /// Imports a file and opens its first tree.
    fn import(&mut self, path: &Path) -> Result<WriteResult> {
        let report = self.file_report();
        let mut job = FileJob::new(&report, &self.cancel_file);
        let done = import_export::import(&self.setup.loom.actor(&self.setup.agent), path, &mut job)?;
        let problems = done.problems.len() as u64 + done.more_problems;
        let counts = format!("{} messages, {} new nodes, {problems} problems", done.messages, done.nodes);
        let message = match job.is_cancelled() {
            true => format!("cancelled after {counts}; another :import continues"),
            false => counts,
        };
        match done.trees.first() {
            Some(tree) => Ok(WriteResult { message, ..self.open_tree(*tree, None)? }),
            None => Ok(WriteResult { message, ..WriteResult::default() }),
        }
    }

    fn export(&self, node: NodeId, format: &str, path: &Path) -> Result<WriteResult> {
        let actor = self.setup.loom.actor(&self.setup.agent);
        let report = self.file_report();
        let mut job = FileJob::new(&report, &self.cancel_file);
        let end = PathEnd { tree: self.tree, node, versions: self.versions()?.unwrap_or_default() };
        let written = import_export::export(&actor, &end, format, path, &mut job)?;
        let left_out: u64 = written.left_out.values().sum();
        let message = format!("wrote {}; left out: {left_out}", path.display());
        Ok(WriteResult { message, ..WriteResult::default() })
    }

    /// Returns the function that reports the progress of a file to the screen.
    fn file_report(&self) -> impl Fn(u64, u64) + use<> {
        let reports = self.reports.clone();
        // The screen may be closed; the request ends all the same.
        move |done, total| drop(reports.send(BackgroundReport(BackgroundEvent::FileProgress(done, total))))
    }

    fn choose_version(&mut self, node: NodeId) -> Result<WriteResult> {
        let actor = self.actor_at(node)?;
        if let Some(session) = actor.session() {
            actor.choose_version(session, node)?;
        }
        Ok(WriteResult { versions: self.versions()?, ..WriteResult::default() })
    }

    fn apply_undo(
        &mut self,
        word: &str,
        apply: impl FnOnce(&Actor, Option<TreeId>) -> Result<UndoResult>,
    ) -> Result<WriteResult> {
        let undone = apply(&self.setup.loom.actor(&self.setup.agent), Some(self.tree))?;
        let what = change_line(&undone.description);
        let mut node = undone.target.entry.node.map(|id| self.setup.loom.node(id)).transpose()?;
        // Attached nodes are shown at their parent.
        if let Some(adjacent) =
            node.as_ref().filter(|node| !matches!(node.kind, EdgeKind::Continuation | EdgeKind::Version))
        {
            node = adjacent.parent.map(|id| self.setup.loom.node(id)).transpose()?;
        }
        // A removed version is shown at the version that it was made from.
        let is_seen = |node: &Node| node.tree == self.tree && node.state.hidden_by.is_none();
        if let Some(of) = node.as_ref().filter(|node| !is_seen(node)).and_then(|node| node.edited_from) {
            node = Some(self.setup.loom.node(of)?);
        }
        let position = node.filter(is_seen).map(|node| node.id);
        Ok(WriteResult {
            message: format!("{word}: {what}"),
            position,
            versions: self.versions()?,
            ..WriteResult::default()
        })
    }

    fn versions(&self) -> Result<Option<Vec<NodeId>>> {
        self.session
            .map(|session| self.setup.loom.session(session))
            .transpose()
            .map(|session| session.map(|s| s.versions))
    }

    /// Opens a tree at a node, else at the user's last position, else at the end of the conversation.
    fn open_tree(&mut self, tree: TreeId, at: Option<NodeId>) -> Result<WriteResult> {
        let found = self.setup.loom.tree(tree)?;
        self.tree = tree;
        self.session = None;
        let known = self.setup.loom.find_session(&self.setup.workspace, self.setup.agent.id(), Some(self.tree))?;
        let position = match at {
            Some(node) => node,
            None => self.setup.loom.position(&found, known.as_ref())?.id,
        };
        // The next program opens the tree of the workspace's newest session.
        self.actor_at(position)?;
        let versions = Some(known.map(|session| session.versions).unwrap_or_default());
        Ok(WriteResult { tree: Some(tree), position: Some(position), versions, ..WriteResult::default() })
    }

    /// Resumes a session, as `loom resume` does. For an agent's session, the user continues at its position and that
    /// agent answers.
    fn resume_session(&mut self, session: SessionId) -> Result<WriteResult> {
        let loom = self.setup.loom.clone();
        let resumed = resume(&loom.actor(&self.setup.agent), session, self.setup.drafts.as_deref())?;
        let session = resumed.session;
        let agents = loom.snapshot()?.agents()?;
        let agent = agents.iter().find(|agent| agent.id() == session.agent);
        let agent = agent.ok_or_else(|| OpsError::missing("agent", session.agent))?;
        let found = loom.tree(session.tree)?;
        let position = loom.position(&found, Some(&session))?.id;
        self.tree = session.tree;
        self.session = (session.agent == self.setup.agent.id()).then_some(session.id);
        // Setting the position makes it the last active session.
        self.actor_at(position)?;
        let answers = agent.profile.kind == AgentKind::Model;
        let responder = answers.then(|| Responder { name: agent.name().to_owned(), session: session.id });
        let message = match &resumed.interruption {
            Some(Interruption::NoReply(_)) => "this was not answered: its process ended before a word came".to_owned(),
            Some(Interruption::MidReply(_)) => "this was cut off within the reply: its process ended".to_owned(),
            Some(Interruption::BetweenRounds(_)) => {
                "this was cut off between two rounds of commands: its process ended".to_owned()
            }
            None if answers => format!("{} continues from here", agent.name()),
            None => "back at the last position".to_owned(),
        };
        let (tree, versions) = (Some(self.tree), Some(session.versions));
        Ok(WriteResult {
            message,
            tree,
            position: Some(position),
            versions,
            responder: Some(responder),
            ..WriteResult::default()
        })
    }

    /// Continues in another session of the user.
    fn adopt_session(&mut self, session: SessionId) -> Result<WriteResult> {
        let session = self.setup.loom.session(session)?;
        (self.session, self.tree) = (Some(session.id), session.tree);
        Ok(WriteResult::default())
    }
}

/// Formats the description of a change as one line.
pub(crate) fn change_line(change: &OpDescription) -> String {
    change.words(&|id| id.to_string(), &|name| format!("“{}”", text::truncate(&one_line(name), 24)))
}

fn undoable(text: &str) -> WriteResult {
    WriteResult { message: text.to_owned(), undoable: true, ..WriteResult::default() }
}

/// Result with a message, at the node that was created.
fn created(text: &str, receipt: &Receipt) -> WriteResult {
    WriteResult { position: receipt.nodes.first().map(|node| node.id), ..undoable(text) }
}
