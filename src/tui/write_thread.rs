//! The thread that writes: deeds in the order in which they were asked for, each reported when it is on the disk.

use std::{sync::mpsc, thread};

use super::{
    ScreenSetup,
    buffer_editor::BufferEdit,
    message::{BackgroundEvent, BackgroundReport, Responder, WriteRequest, WriteResult},
    queries, text,
};
use crate::{
    id::{NodeId, SessionId, TreeId},
    ops::{Actor, NodeDraft, OpsError, SplitAt, UndoResult},
    session::{Interruption, resume},
    store::Receipt,
    types::{AgentKind, EdgeKind, Mode, Node, Parent, PinTarget, TreePatch, one_line},
};

type Result<T> = std::result::Result<T, OpsError>;
type Tell = tokio::sync::mpsc::UnboundedSender<BackgroundReport>;

/// Starts the thread; it ends when nobody can ask it any more, with everything written.
pub(crate) fn start(
    setup: ScreenSetup,
    tell: Tell,
) -> std::io::Result<(mpsc::Sender<WriteRequest>, thread::JoinHandle<()>)> {
    let (sender, deeds) = mpsc::channel();
    let (tree, session) = (setup.tree, setup.session);
    let mut writer = WriteThread { setup, tree, session };
    let thread = thread::Builder::new().name("loomtree-deeds".to_owned()).spawn(move || {
        for deed in deeds {
            let done = writer.does(&deed).map(Box::new).map_err(|error| speech(&error));
            // Nobody may be there to hear it; it is done all the same.
            let _ = tell.send(BackgroundReport(BackgroundEvent::Done(done)));
        }
    })?;
    Ok((sender, thread))
}

/// An error in a line.
pub(crate) fn speech(error: &OpsError) -> String {
    match error {
        OpsError::Ambiguous { text, candidates } => {
            let ids: Vec<&str> = candidates.iter().take(5).map(|node| node.local.as_str()).collect();
            format!("{text:?} could be {}", ids.join(", "))
        }
        OpsError::NotFound { nearest, .. } if !nearest.is_empty() => {
            format!("{error}; did you mean {}?", nearest.iter().take(3).cloned().collect::<Vec<_>>().join(", "))
        }
        error => error.to_string(),
    }
}

struct WriteThread {
    setup: ScreenSetup,
    tree: TreeId,
    session: Option<SessionId>,
}

impl WriteThread {
    /// The person, in a session at a node: in the one that goes on, or a new one.
    fn at(&mut self, node: NodeId) -> Result<Actor> {
        let actor = self.setup.loom.actor(&self.setup.agent);
        let session = match self.session {
            Some(session) => session,
            None => actor.ensure_session(&self.setup.workspace, self.tree, node)?,
        };
        self.session = Some(session);
        let actor = actor.in_session(session);
        let session = self.setup.loom.session(session)?;
        if session.position != Some(node) {
            actor.stand(&session, &self.setup.loom.node(node)?)?;
        }
        Ok(actor)
    }

    fn does(&mut self, deed: &WriteRequest) -> Result<WriteResult> {
        let mut outcome = self.deed(deed)?;
        outcome.session = self.session;
        Ok(outcome)
    }

    fn deed(&mut self, deed: &WriteRequest) -> Result<WriteResult> {
        match deed {
            WriteRequest::Say(after, text) => {
                let receipt = self.at(*after)?.append(Parent::Node(*after), NodeDraft::text(text))?;
                Ok(went("", &receipt))
            }
            WriteRequest::Edit(node, text) => {
                let receipt = self.at(*node)?.edit(*node, text)?;
                let versions = self.versions()?;
                let buffer = self.setup.loom.tree(self.tree)?.mode == Mode::Buffer;
                let said = if buffer { "saved as a version" } else { "saved as a branch beside the original" };
                Ok(WriteResult { versions, ..went(said, &receipt) })
            }
            WriteRequest::Annotate(node, text) => {
                self.at(*node)?.annotate(*node, text)?;
                Ok(said("noted"))
            }
            WriteRequest::Bookmark(node, Some(label)) => {
                self.at(*node)?.bookmark(*node, label)?;
                Ok(said("bookmarked"))
            }
            WriteRequest::Bookmark(node, None) => {
                self.at(*node)?.unbookmark(*node)?;
                Ok(said("no bookmark any more"))
            }
            WriteRequest::Prune(node) => self.prune(*node),
            WriteRequest::PruneAll(nodes) => {
                for node in nodes {
                    let actor = self.setup.loom.actor(&self.setup.agent);
                    actor.prune(*node)?;
                }
                Ok(said(&format!("pruned the other {}", nodes.len())))
            }
            WriteRequest::Restore(node) => {
                self.setup.loom.actor(&self.setup.agent).restore(*node)?;
                Ok(WriteResult { go: Some(*node), ..said("restored") })
            }
            WriteRequest::Undo => self.undone("taken back", Actor::undo),
            WriteRequest::Redo => self.undone("done again", Actor::redo),
            WriteRequest::Exclude(node, out) => {
                let actor = self.at(*node)?;
                if *out {
                    actor.exclude(*node)?
                } else {
                    actor.include(*node)?
                };
                Ok(said(if *out { "kept out of what models read" } else { "models read it again" }))
            }
            WriteRequest::Pin(node, pin) => {
                let (actor, target) = (self.at(*node)?, PinTarget::Node(*node));
                if *pin {
                    actor.pin(self.tree, target)?
                } else {
                    actor.unpin(self.tree, target)?
                };
                Ok(said(if *pin { "pinned" } else { "not pinned any more" }))
            }
            WriteRequest::Merge(nodes, text) => {
                let at = *nodes.last().ok_or_else(|| OpsError::Invalid("nothing is marked".to_owned()))?;
                Ok(went("merged", &self.at(at)?.merge(nodes, text)?))
            }
            WriteRequest::Split(node, at) => {
                let receipt = self.at(*node)?.split(*node, &SplitAt::Character(*at))?;
                let versions = self.versions()?;
                let last = receipt.nodes.last().map(|node| node.id);
                Ok(WriteResult { versions, go: last, ..said("cut in two") })
            }
            WriteRequest::Copy(from, to) => Ok(went("copied", &self.at(*to)?.copy_branch(*from, *to)?)),
            WriteRequest::Move(from, to) => Ok(went("moved", &self.at(*to)?.move_branch(*from, *to)?)),
            WriteRequest::Title(title) => {
                let patch = TreePatch { title: Some(Some(title.clone())), ..TreePatch::default() };
                self.setup.loom.actor(&self.setup.agent).rename(self.tree, patch)?;
                Ok(said("the tree has a new title"))
            }
            WriteRequest::NewTree(text, buffer) => {
                let mode = if *buffer { Mode::Buffer } else { Mode::Dialogue };
                let actor = self.setup.loom.actor(&self.setup.agent);
                let (tree, root) = actor.create_tree(None, mode, None, NodeDraft::text(text))?;
                self.enter(tree.id, Some(root.id))
            }
            WriteRequest::Version(node) => {
                let actor = self.at(*node)?;
                if let Some(session) = actor.session() {
                    actor.choose_version(session, *node)?;
                }
                Ok(WriteResult { versions: self.versions()?, ..WriteResult::default() })
            }
            WriteRequest::Write(at, written) => self.write(*at, written),
            WriteRequest::Turn(at, node, forward) => self.turn(*at, *node, *forward),
            WriteRequest::Stand(node) => {
                if self.session.is_some() {
                    self.at(*node)?;
                }
                Ok(WriteResult::default())
            }
            WriteRequest::Enter(tree, at) => self.enter(*tree, *at),
            WriteRequest::Resume(session) => self.resume(*session),
            WriteRequest::Follow(session) => self.follow(*session),
        }
    }

    /// Saves what was written in a path: each changed node as a version, and what follows the last as a new node.
    fn write(&mut self, at: NodeId, written: &BufferEdit) -> Result<WriteResult> {
        let actor = self.at(at)?;
        for (node, words) in &written.edits {
            actor.edit(*node, words)?;
        }
        if let Some((_, words)) = &written.more {
            actor.append(Parent::Node(at), NodeDraft::text(words))?;
        }
        let go = self.session.map(|session| self.setup.loom.session(session)).transpose()?.and_then(|s| s.position);
        let count = written.edits.len() + usize::from(written.more.is_some());
        let what = if count == 1 { "saved".to_owned() } else { format!("saved, {count} nodes") };
        Ok(WriteResult { go, versions: self.versions()?, ..said(&what) })
    }

    fn turn(&mut self, at: NodeId, node: NodeId, forward: bool) -> Result<WriteResult> {
        let wordings = self.setup.loom.snapshot()?.versions(node)?;
        let here = wordings.iter().position(|wording| wording.id == node).unwrap_or(0);
        let next = if forward { wordings.get(here + 1) } else { here.checked_sub(1).and_then(|at| wordings.get(at)) };
        let Some(next) = next else {
            return Ok(WriteResult { said: "no other wording this way".to_owned(), ..WriteResult::default() });
        };
        let actor = self.at(at)?;
        if let Some(session) = actor.session() {
            actor.choose_version(session, next.id)?;
        }
        let go = if at == node { next.id } else { at };
        let said = format!("wording {} of {}", if forward { here + 2 } else { here }, wordings.len());
        Ok(WriteResult { said, go: Some(go), versions: self.versions()?, ..WriteResult::default() })
    }

    fn prune(&mut self, node: NodeId) -> Result<WriteResult> {
        let before = self.setup.loom.node(node)?;
        let parent = before.parent.ok_or_else(|| OpsError::Invalid("the root cannot be pruned".to_owned()))?;
        let beside = queries::beside(&*self.setup.loom.snapshot()?, &before)?;
        self.setup.loom.actor(&self.setup.agent).prune(node)?;
        Ok(WriteResult { go: Some(beside.unwrap_or(parent)), ..said("pruned") })
    }

    fn undone(&mut self, word: &str, go: fn(&Actor, Option<TreeId>) -> Result<UndoResult>) -> Result<WriteResult> {
        let undone = go(&self.setup.loom.actor(&self.setup.agent), Some(self.tree))?;
        let what = undone.told.words(&|id| id.to_string(), &|name| format!("“{}”", text::cut(&one_line(name), 24)));
        let mut node = undone.target.entry.node.map(|id| self.setup.loom.node(id)).transpose()?;
        // Of what stands beside a node, it is the node that one stands on.
        if let Some(beside) =
            node.as_ref().filter(|node| !matches!(node.kind, EdgeKind::Continuation | EdgeKind::Version))
        {
            node = beside.parent.map(|id| self.setup.loom.node(id)).transpose()?;
        }
        // Where it can be seen what was undone: of another wording that went, the one that it was made of.
        let is_seen = |node: &Node| node.tree == self.tree && node.state.pruned_by.is_none();
        if let Some(of) = node.as_ref().filter(|node| !is_seen(node)).and_then(|node| node.edited_from) {
            node = Some(self.setup.loom.node(of)?);
        }
        let go = node.filter(is_seen).map(|node| node.id);
        Ok(WriteResult { said: format!("{word}: {what}"), go, versions: self.versions()?, ..WriteResult::default() })
    }

    fn versions(&self) -> Result<Option<Vec<NodeId>>> {
        self.session
            .map(|session| self.setup.loom.session(session))
            .transpose()
            .map(|session| session.map(|s| s.versions))
    }

    /// Works on another tree.
    fn enter(&mut self, tree: TreeId, at: Option<NodeId>) -> Result<WriteResult> {
        let found = self.setup.loom.tree(tree)?;
        self.tree = tree;
        self.session = None;
        let known = self.setup.loom.find_session(&self.setup.workspace, self.setup.agent.id(), Some(self.tree))?;
        let go = at.or(known.as_ref().and_then(|session| session.position)).or(found.root);
        let go = go.ok_or_else(|| OpsError::Invalid("this tree has no root".to_owned()))?;
        // The newest session of a workspace says on which tree the next program opens.
        self.at(go)?;
        let versions = Some(known.map(|session| session.versions).unwrap_or_default());
        Ok(WriteResult { tree: Some(tree), go: Some(go), versions, ..WriteResult::default() })
    }

    /// Goes on with a session, as `loom resume` does: one of the person's own, or their own where another one's stands, who
    /// then answers.
    fn resume(&mut self, session: SessionId) -> Result<WriteResult> {
        let loom = self.setup.loom.clone();
        let resumed = resume(&loom.actor(&self.setup.agent), session, self.setup.drafts.as_deref())?;
        let session = resumed.session;
        let agents = loom.snapshot()?.agents()?;
        let agent = agents.iter().find(|agent| agent.id() == session.agent);
        let agent = agent.ok_or_else(|| OpsError::missing("agent", session.agent))?;
        let found = loom.tree(session.tree)?;
        let go = session.position.or(found.root);
        let go = go.ok_or_else(|| OpsError::Invalid("this tree has no root".to_owned()))?;
        self.tree = session.tree;
        self.session = (session.agent == self.setup.agent.id()).then_some(session.id);
        // Standing where it stood makes it the one that was last active.
        self.at(go)?;
        let answers = agent.profile.kind == AgentKind::Model;
        let with = answers.then(|| Responder { name: agent.name().to_owned(), session: session.id });
        let said = match &resumed.interruption {
            Some(Interruption::NoReply(_)) => "this was not answered: its process ended before a word came".to_owned(),
            Some(Interruption::MidReply(_)) => "this was cut off within the reply: its process ended".to_owned(),
            Some(Interruption::BetweenRounds(_)) => {
                "this was cut off between two rounds of commands: its process ended".to_owned()
            }
            None if answers => format!("{} goes on from here", agent.name()),
            None => "you are where you were".to_owned(),
        };
        let (tree, versions) = (Some(self.tree), Some(session.versions));
        Ok(WriteResult { said, tree, go: Some(go), versions, with: Some(with), ..WriteResult::default() })
    }

    /// Works in another session of the person's from now on.
    fn follow(&mut self, session: SessionId) -> Result<WriteResult> {
        let session = self.setup.loom.session(session)?;
        (self.session, self.tree) = (Some(session.id), session.tree);
        Ok(WriteResult::default())
    }
}

fn said(text: &str) -> WriteResult {
    WriteResult { said: text.to_owned(), undo: true, ..WriteResult::default() }
}

/// Said, and gone to what came of it.
fn went(text: &str, receipt: &Receipt) -> WriteResult {
    WriteResult { go: receipt.nodes.first().map(|node| node.id), ..said(text) }
}
