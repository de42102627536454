//! The child: four threads that change one tree as fast as they can, each telling the parent of every commit that
//! returned. Every text says how long it is and what its checksum is, so that half of one cannot pass for a whole.

use std::path::Path;

use loomtree::{
    id::{DocumentId, NodeId, TreeId},
    ops::{Actor, DocumentEdit, Loom, NodeDraft, OpsError, SplitAt, TreeDraft},
    store::{Receipt, StoreError},
    types::{AgentKind, Mode, NewAgent, Op, Parent, Permissions},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{child, support::store::Scene};

const THREADS: usize = 4;

/// A text that vouches for itself: its length and checksum, then words.
pub(crate) fn whole(words: &str) -> String {
    format!("{:08}|{}|{words}", words.len(), &blake3::hash(words.as_bytes()).to_hex()[..16])
}

/// Whether a text is one that [`whole`] made.
pub(crate) fn is_whole(text: &str) -> bool {
    let mut parts = text.splitn(3, '|');
    parts.nth(2).is_some_and(|words| whole(words) == text)
}

/// Writes until killed.
pub(crate) fn write(path: &Path, seed: u64) {
    let scene = Scene::at(path, seed);
    let loom = scene.owner().loom().clone();
    let tree = tree(&loom);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let loom = &loom;
            scope.spawn(move || {
                let rng = StdRng::seed_from_u64(seed.wrapping_mul(31).wrapping_add(thread as u64));
                Worker::new(loom, tree, thread, rng).run();
            });
        }
    });
}

/// The tree that everybody writes in; the first child makes it.
fn tree(loom: &Loom) -> TreeId {
    let trees = loom.snapshot().unwrap().trees(loomtree::store::TreeFilter::default()).unwrap();
    // The oldest: others are made later.
    match trees.iter().min_by_key(|t| loom.node(t.root.expect("a tree has a root")).unwrap().seq) {
        Some(tree) => tree.id,
        None => {
            let owner = loom.actor(&loom.agent("owner").unwrap());
            owner.create_tree(TreeDraft::new(NodeDraft::text(whole("root")))).unwrap().0.id
        }
    }
}

struct Worker<'l> {
    actor: Actor,
    loom: &'l Loom,
    tree: TreeId,
    rng: StdRng,
    /// Nodes of this thread.
    nodes: Vec<NodeId>,
    document: Option<DocumentId>,
    pruned: Vec<NodeId>,
    count: u64,
}

impl<'l> Worker<'l> {
    fn new(loom: &'l Loom, tree: TreeId, thread: usize, rng: StdRng) -> Self {
        let name = format!("worker {thread}");
        let agent = loom.agent(&name).unwrap_or_else(|_| {
            let new = NewAgent {
                permissions: Permissions::all(),
                ..NewAgent::new(loom.agent_id(), name.clone(), AgentKind::Human)
            };
            loom.actor(&loom.agent("owner").unwrap()).create_agent(new).unwrap();
            loom.agent(&name).unwrap()
        });
        let root = loom.tree(tree).unwrap().root.unwrap();
        let actor = loom.actor(&agent);
        Self { actor, loom, tree, rng, nodes: vec![root], document: None, pruned: Vec::new(), count: 0 }
    }

    fn run(&mut self) {
        loop {
            self.count += 1;
            match self.step() {
                Ok(()) => {}
                // What does not fit what is there: a node that an undo pruned, nothing to redo.
                Err(
                    OpsError::Invalid(_)
                    | OpsError::NothingToRevert(_)
                    | OpsError::Store(StoreError::Conflict(_) | StoreError::Refused(_)),
                ) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    fn text(&mut self) -> String {
        let words = match self.rng.random_range(0..30) {
            0 => self.rng.random_range(500..6_000),
            _ => self.rng.random_range(1..40),
        };
        whole(&format!("{} ", self.rng.random_range(0..u64::MAX)).repeat(words))
    }

    fn any(&mut self) -> NodeId {
        self.nodes[self.rng.random_range(0..self.nodes.len())]
    }

    fn step(&mut self) -> Result<(), OpsError> {
        let text = self.text();
        let at = self.any();
        match self.rng.random_range(0..100) {
            0..45 => {
                let last = *self.nodes.last().expect("it begins with the root");
                let parent = if self.rng.random_bool(0.7) { last } else { at };
                let receipt = self.actor.append(Parent::Node(parent), NodeDraft::text(text))?;
                self.acked(Op::Append, &receipt);
            }
            45..55 => {
                let receipt = self.actor.annotate(at, &text)?;
                self.acked(Op::Annotate, &receipt);
            }
            55..63 => {
                let receipt = self.actor.edit(at, &text)?;
                self.acked(Op::Edit, &receipt);
            }
            63..68 => {
                let whole = self.loom.node(at)?;
                if whole.state.hidden_by.is_some() {
                    return Ok(());
                }
                let middle = whole.content.chars().count() / 2;
                let receipt = self.actor.split(at, &SplitAt::Character(middle))?;
                self.acked(Op::Split, &receipt);
            }
            68..75 => {
                let receipt = self.actor.bookmark(at, &text[..40.min(text.len())])?;
                self.did(Op::Bookmark, &receipt, &format!("bookmark {at} {}", &text[..40.min(text.len())]));
            }
            75..80 => {
                let receipt = self.actor.prune(at)?;
                self.pruned.push(at);
                self.did(Op::Prune, &receipt, &format!("pruned {at}"));
            }
            80..84 => {
                let Some(node) = self.pruned.pop() else { return Ok(()) };
                let receipt = self.actor.restore(node)?;
                self.did(Op::Restore, &receipt, &format!("restored {node}"));
            }
            84..91 => {
                let receipt = self.actor.undo(Some(self.tree))?.receipt;
                self.acked(Op::Undo, &receipt);
            }
            91..93 => {
                let receipt = self.actor.redo(Some(self.tree))?.receipt;
                self.acked(Op::Redo, &receipt);
            }
            93..95 => {
                let to = self.any();
                let receipt = self.actor.move_branch(at, to)?;
                self.acked(Op::Move, &receipt);
            }
            95 => {
                let (tree, root) = self.actor.create_tree(TreeDraft::new(NodeDraft::text(text)).mode(Mode::Buffer))?;
                child::say(&format!("tree {} {}", tree.id, root.id));
                self.told(root.id);
            }
            _ => self.document(text)?,
        }
        Ok(())
    }

    fn document(&mut self, text: String) -> Result<(), OpsError> {
        let Some(document) = self.document else {
            let name = format!("document {}", self.loom.node_id());
            let document = self.actor.create_document(&name, &text)?;
            self.document = Some(document);
            child::say(&format!("document {document} 1 {}", blake3::hash(text.as_bytes())));
            return Ok(());
        };
        let receipt = self.actor.write_document(document, &DocumentEdit::Whole(text.clone()))?;
        let version = self.loom.snapshot()?.document_version(document, 0)?.expect("it was written").version;
        child::say(&format!("document {document} {version} {}", blake3::hash(text.as_bytes())));
        self.did(Op::WriteDocument, &receipt, "-");
        Ok(())
    }

    /// Tells of a commit and of the nodes that it added.
    fn acked(&mut self, op: Op, receipt: &Receipt) {
        self.did(op, receipt, "-");
        for node in &receipt.nodes {
            self.told(node.id);
        }
        // A branch that is copied has many; the first is its root.
        self.nodes.extend(receipt.nodes.iter().take(2).map(|n| n.id));
        if self.nodes.len() > 60 {
            self.nodes.drain(1..30);
        }
    }

    /// `did <entry> <operation> <agent> <the state it left>`: the last one of an agent can be looked up.
    fn did(&self, op: Op, receipt: &Receipt, state: &str) {
        child::say(&format!("did {} {op} {} {state}", receipt.seq, self.actor.agent()));
    }

    /// `node <id> <parent> <sequence> <bytes> <checksum> <hash>`, as it is after the commit.
    fn told(&self, id: NodeId) {
        let node = self.loom.node(id).unwrap();
        let parent = node.parent.map_or("-".to_owned(), |p| p.to_string());
        let sum = blake3::hash(node.content.as_bytes());
        child::say(&format!("node {id} {parent} {} {} {sum} {}", node.seq, node.content.len(), node.hash));
    }
}
