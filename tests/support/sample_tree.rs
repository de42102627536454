//! A tree with a few branches, and agents that work in it by arrow lines.

use std::sync::atomic::{AtomicI64, Ordering};

use loomtree::{
    exec::{CommandReply, Executor, Host, NoHost, read},
    id::{NodeId, SessionId, TreeId},
    ops::{Actor, Loom, NodeDraft, TreeDraft},
    types::{Mode, NewAgent, Parent, Permissions, Timestamp, TreeCounts},
};

use super::store::Scene;

/// A scene with this tree:
///
/// ```text
/// root ─ marie ─┬ trauma ─ go on ─ nine
///               └ tired
/// ```
pub(crate) struct Play {
    pub(crate) scene: Scene,
    pub(crate) loom: Loom,
    pub(crate) owner: Actor,
    pub(crate) tree: TreeId,
    pub(crate) root: NodeId,
    pub(crate) marie: NodeId,
    pub(crate) trauma: NodeId,
    pub(crate) go_on: NodeId,
    pub(crate) nine: NodeId,
    pub(crate) tired: NodeId,
    clock: AtomicI64,
}

impl Play {
    /// The tree's counts, which each written node changes. On PostgreSQL the newest sequence number is no such measure: a
    /// running transaction holds it back.
    pub(crate) fn counts(&self) -> TreeCounts {
        self.loom.tree(self.tree).unwrap().counts
    }

    pub(crate) fn new() -> Self {
        Self::of(Mode::Dialogue)
    }

    pub(crate) fn of(mode: Mode) -> Self {
        let scene = Scene::new(7);
        let owner = scene.owner();
        let loom = owner.loom().clone();
        let model = loom.actor(&loom.agent("collaborator").unwrap());
        let draft = TreeDraft::new("Who is Marie?").title("Marie Character Study").mode(mode);
        let (tree, root) = owner.create_tree(draft).unwrap();
        let zero = NodeId::from_bytes([0; 16]);
        let mut play = Self {
            scene,
            loom,
            owner: owner.clone(),
            tree: tree.id,
            root: root.id,
            marie: zero,
            trauma: zero,
            go_on: zero,
            nine: zero,
            tired: zero,
            clock: AtomicI64::new(0),
        };
        play.later(60);
        let say = |by: &Actor, at: NodeId, text: &str| {
            let id = by.append(Parent::Node(at), NodeDraft::text(text)).unwrap().nodes[0].id;
            play.later(60);
            id
        };
        let marie = say(&model, root.id, "Marie's reluctance stems from her childhood. Her father left in the summer.");
        let trauma = say(&model, marie, "Building on the trauma angle, she avoids the sea.");
        let go_on = say(&owner, trauma, "Go on.");
        let nine = say(&model, go_on, "She was nine that summer.\n\nThe lighthouse was dark.");
        let tired = say(&model, marie, "Another reading: she is only tired.");
        (play.marie, play.trauma, play.go_on, play.nine, play.tired) = (marie, trauma, go_on, nine, tired);
        play
    }

    /// Advances the clock.
    pub(crate) fn later(&self, seconds: i64) {
        let millis = self.clock.fetch_add(seconds * 1_000, Ordering::SeqCst) + seconds * 1_000;
        self.scene.clock.set(Timestamp::from_millis(1_700_000_000_000 + millis));
    }

    /// Returns a node's short id.
    pub(crate) fn id(&self, node: NodeId) -> String {
        self.loom.node(node).unwrap().local.to_string()
    }

    /// Returns a session of an agent at a node; the first call starts it.
    pub(crate) fn session(&self, agent: &str, at: NodeId) -> SessionId {
        let actor = self.loom.actor(&self.loom.agent(agent).unwrap());
        actor.start_session("/work", self.tree, Some(at)).unwrap()
    }

    /// Creates a model agent with these permissions.
    pub(crate) fn agent(&self, name: &str, permissions: Permissions) {
        let subject = self.loom.agent("subject").unwrap().profile;
        let agent = NewAgent { id: self.loom.agent_id(), name: name.to_owned(), permissions, ..subject };
        self.owner.create_agent(agent).unwrap();
    }

    /// Returns an executor for an agent in a session without a host.
    pub(crate) fn runner(&self, agent: &str, session: SessionId) -> Executor<'static> {
        self.runner_with(agent, session, &NoHost)
    }

    /// Returns an executor for an agent in a session with a host.
    pub(crate) fn runner_with<'h>(&self, agent: &str, session: SessionId, host: &'h dyn Host) -> Executor<'h> {
        Executor::new(self.loom.clone(), self.loom.agent(agent).unwrap(), session, host)
    }

    /// Returns an executor for the owner at a node.
    pub(crate) fn at(&self, node: NodeId) -> Executor<'static> {
        self.runner("owner", self.session("owner", node))
    }
}

/// Runs lines as one batch; returns the replies as a model gets them.
pub(crate) fn lines(runner: &mut Executor<'_>, lines: &[&str]) -> String {
    batch(runner, lines).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Parses lines as one batch.
pub(crate) fn batch(runner: &mut Executor<'_>, lines: &[&str]) -> Vec<CommandReply> {
    runner.run_batch(lines.iter().map(|line| read(line)).collect())
}
