//! Laws: after any sequence of operations and undos, counts, paths and hashes equal a recount. An undo is the exact
//! inverse of its operation, and a redo of the undo. Derived data can be lost and rebuilt.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;

use std::collections::BTreeMap;

use loomtree::{
    id::{NodeId, TreeId},
    interchange::jsonl,
    ops::{Actor, NodeDraft, SplitAt, TreeDraft},
    store::{ChildFilter, Mutation, Snapshot, Store},
    types::{
        AuthorType, EdgeKind, Json, LinkTarget, Memory, Mode, NewNode, Node, NodeState, Op, Parent, PinTarget,
        StashContent, TreeCounts,
    },
};
use proptest::{prelude::*, test_runner::RngSeed};
use support::{rounds, store::Scene};

/// A random operation; the numbers select nodes.
#[derive(Debug, Clone)]
enum Step {
    Append(usize),
    Annotate(usize),
    Thought(usize),
    Edit(usize),
    Split(usize, usize),
    Merge(usize, usize),
    Copy(usize, usize),
    Move(usize, usize),
    Prune(usize),
    Restore(usize),
    Exclude(usize),
    Include(usize),
    Bookmark(usize, u8),
    Unbookmark(usize),
    Link(usize, usize),
    Unlink(usize, usize),
    Pin(usize),
    Unpin(usize),
    Stash(u8, usize),
    Unstash(u8),
    Undo,
    Redo,
}

fn step() -> impl Strategy<Value = Step> {
    let n = 0usize..40;
    prop_oneof![
        6 => n.clone().prop_map(Step::Append),
        1 => n.clone().prop_map(Step::Annotate),
        1 => n.clone().prop_map(Step::Thought),
        3 => n.clone().prop_map(Step::Edit),
        2 => (n.clone(), 0usize..8).prop_map(|(a, b)| Step::Split(a, b)),
        1 => (n.clone(), n.clone()).prop_map(|(a, b)| Step::Merge(a, b)),
        1 => (n.clone(), n.clone()).prop_map(|(a, b)| Step::Copy(a, b)),
        1 => (n.clone(), n.clone()).prop_map(|(a, b)| Step::Move(a, b)),
        3 => n.clone().prop_map(Step::Prune),
        3 => n.clone().prop_map(Step::Restore),
        1 => n.clone().prop_map(Step::Exclude),
        1 => n.clone().prop_map(Step::Include),
        1 => (n.clone(), any::<u8>()).prop_map(|(a, b)| Step::Bookmark(a, b)),
        1 => n.clone().prop_map(Step::Unbookmark),
        1 => (n.clone(), n.clone()).prop_map(|(a, b)| Step::Link(a, b)),
        1 => (n.clone(), n.clone()).prop_map(|(a, b)| Step::Unlink(a, b)),
        2 => n.clone().prop_map(Step::Pin),
        1 => n.clone().prop_map(Step::Unpin),
        2 => (0u8..3, n).prop_map(|(a, b)| Step::Stash(a, b)),
        1 => (0u8..3).prop_map(Step::Unstash),
        4 => Just(Step::Undo),
        2 => Just(Step::Redo),
    ]
}

/// The observable state of a tree: its counts, its visible nodes with counts and flags, and an agent's memory.
#[derive(Debug, PartialEq)]
struct TreeState {
    counts: TreeCounts,
    nodes: BTreeMap<NodeId, NodeState>,
    memory: Memory,
    stashed: Vec<Option<StashContent>>,
}

/// The label of a stash.
fn label(number: u8) -> String {
    format!("label {number}")
}

struct Table {
    actor: Actor,
    tree: TreeId,
}

impl Table {
    fn set(mode: Mode) -> (Scene, Self) {
        let scene = Scene::new(11);
        let owner = scene.owner();
        let (tree, root) = owner.create_tree(TreeDraft::new("the root of it all").mode(mode)).unwrap();
        let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
        (scene, Self { actor: owner.in_session(session), tree: tree.id })
    }

    fn all(&self) -> Vec<Node> {
        self.actor.loom().snapshot().unwrap().nodes_after(self.tree, 0, 0).unwrap()
    }

    fn pick(&self, n: usize) -> NodeId {
        let all = self.all();
        all[n % all.len()].id
    }

    fn state(&self) -> TreeState {
        let counts = self.actor.loom().tree(self.tree).unwrap().counts;
        let visible = self.all().into_iter().filter(|n| n.state.hidden_by.is_none());
        let snapshot = self.actor.loom().snapshot().unwrap();
        let agent = self.actor.agent();
        TreeState {
            counts,
            nodes: visible.map(|n| (n.id, n.state)).collect(),
            memory: snapshot.memory(agent, self.tree).unwrap(),
            stashed: (0..3).map(|n| snapshot.stashed(agent, self.tree, &label(n), false).unwrap()).collect(),
        }
    }

    /// Applies a step; returns `false` if it was refused, as many random steps are.
    fn apply(&self, step: &Step) -> bool {
        let a = &self.actor;
        match step {
            Step::Append(n) => a.append(Parent::Node(self.pick(*n)), NodeDraft::text("some words here")).is_ok(),
            Step::Annotate(n) => a.annotate(self.pick(*n), "a note").is_ok(),
            Step::Thought(n) => {
                let thought = NodeDraft::text("hm").kind(EdgeKind::Thought);
                a.append(Parent::Node(self.pick(*n)), thought).is_ok()
            }
            Step::Edit(n) => {
                let text = format!("reworded {}", self.all().len());
                a.edit(self.pick(*n), &text).is_ok()
            }
            Step::Split(n, at) => a.split(self.pick(*n), &SplitAt::Character(*at)).is_ok(),
            Step::Merge(n, m) => a.merge(&[self.pick(*n), self.pick(*m)], "drawn together").is_ok(),
            Step::Copy(n, m) if self.all().len() < 150 => a.copy_branch(self.pick(*n), self.pick(*m)).is_ok(),
            Step::Move(n, m) if self.all().len() < 150 => a.move_branch(self.pick(*n), self.pick(*m)).is_ok(),
            Step::Copy(..) | Step::Move(..) => false,
            Step::Prune(n) => a.prune(self.pick(*n)).is_ok(),
            Step::Restore(n) => a.restore(self.pick(*n)).is_ok(),
            Step::Exclude(n) => a.exclude(self.pick(*n)).is_ok_and(|r| r.seq > 0),
            Step::Include(n) => a.include(self.pick(*n)).is_ok_and(|r| r.seq > 0),
            Step::Bookmark(n, label) => a.bookmark(self.pick(*n), &label.to_string()).is_ok_and(|r| r.seq > 0),
            Step::Unbookmark(n) => a.unbookmark(self.pick(*n)).is_ok_and(|r| r.seq > 0),
            Step::Link(n, m) => a.link(self.pick(*n), LinkTarget::Node(self.pick(*m)), None).is_ok(),
            Step::Unlink(n, m) => a.unlink(self.pick(*n), &LinkTarget::Node(self.pick(*m))).is_ok(),
            Step::Pin(n) => a.pin(self.tree, PinTarget::Node(self.pick(*n))).is_ok_and(|r| r.seq > 0),
            Step::Unpin(n) => a.unpin(self.tree, PinTarget::Node(self.pick(*n))).is_ok_and(|r| r.seq > 0),
            Step::Stash(at, n) => {
                let content = match n % 2 {
                    0 => StashContent::Words(format!("words {n}")),
                    _ => StashContent::Node(self.pick(*n)),
                };
                a.stash(self.tree, &label(*at), content).is_ok()
            }
            Step::Unstash(at) => a.unstash(self.tree, &label(*at)).is_ok(),
            Step::Undo => a.undo(Some(self.tree)).is_ok(),
            Step::Redo => a.redo(Some(self.tree)).is_ok(),
        }
    }
}

fn problems(store: &dyn Store) -> Vec<String> {
    store.verify(&mut |_| {}).unwrap().problems
}

/// Asserts that the parent of each node on a visible path is the place before it.
fn check_paths(snapshot: &dyn Snapshot, nodes: &[Node]) {
    for node in nodes.iter().filter(|n| n.state.hidden_by.is_none()) {
        let path = snapshot.path_back(node.id, &[], 0).unwrap();
        assert_eq!(path.last().map(|n| n.id), Some(node.id));
        let top = &path[0];
        assert!(top.parent.is_none() || top.kind == EdgeKind::Version && top.depth == 1, "starts at {top:?}");
        let mut ids: Vec<_> = path.iter().map(|n| n.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), path.len(), "a node twice on a path");
        assert!(path.iter().all(|n| n.state.hidden_by.is_none()), "a hidden node on a visible path");
        let tail = snapshot.path_back(node.id, &[], 2).unwrap();
        assert_eq!(tail, path[path.len().saturating_sub(2)..]);
    }
}

fn run(mode: Mode, steps: &[Step]) {
    let (_scene, table) = Table::set(mode);
    let loom = table.actor.loom().clone();
    for step in steps {
        let before = table.state();
        let did = table.apply(step);
        let after = table.state();
        if !did {
            assert_eq!(before, after, "a refused {step:?} changed something");
        } else if !matches!(step, Step::Undo | Step::Redo) {
            table.actor.undo(Some(table.tree)).unwrap();
            assert_eq!(table.state(), before, "undo of {step:?}");
            table.actor.redo(Some(table.tree)).unwrap();
            assert_eq!(table.state(), after, "redo of {step:?}");
        }
    }
    assert_eq!(problems(loom.store().as_ref()), Vec::<String>::new());
    let snapshot = loom.snapshot().unwrap();
    let nodes = table.all();
    check_paths(snapshot.as_ref(), &nodes);
    for node in &nodes {
        let filter = ChildFilter::default().kind(EdgeKind::Continuation);
        if node.version_of.is_none() && node.state.hidden_by.is_none() {
            let children = snapshot.children(node.id, &filter).unwrap().len();
            assert_eq!(children, node.state.continuations as usize);
        }
    }
}

/// Number of sequences.
fn cases() -> u32 {
    rounds::of("PROPTEST_CASES", 12, 48)
}

/// Seed of the sequences: fixed, or `PROPTEST_RNG_SEED`.
fn seed() -> RngSeed {
    let seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|n| n.parse().ok());
    RngSeed::Fixed(seed.unwrap_or(20_261_121))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), rng_seed: seed(), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dialogues_obey_the_laws(steps in prop::collection::vec(step(), 1..40)) {
        run(Mode::Dialogue, &steps);
    }

    #[test]
    fn buffers_obey_the_laws(steps in prop::collection::vec(step(), 1..40)) {
        run(Mode::Buffer, &steps);
    }
}

/// A random child of one of `known`; some have optional fields.
fn random_node(actor: &Actor, known: &[Node], (kind, n, m): (u8, usize, usize)) -> NewNode {
    let (on, other) = (&known[n % known.len()], &known[m % known.len()]);
    let on = if n.is_multiple_of(3) { on } else { &known[known.len() - 1] };
    let parent =
        if n == 1 { actor.session().map_or(Parent::Node(on.id), Parent::Position) } else { Parent::Node(on.id) };
    let mut node = actor.draft(parent, NodeDraft::text(format!("words {n} {m}")).keep_position(m.is_multiple_of(2)));
    match kind {
        0 => node.kind = EdgeKind::Annotation,
        1 => node.kind = EdgeKind::Thought,
        2 => node.edited_from = Some(other.id),
        3 => {
            if let Some(above) = other.parent {
                (node.parent, node.kind, node.version_of) = (Parent::Node(above), EdgeKind::Version, Some(other.id));
            }
        }
        4 => node.local = Some(other.local.clone()),
        5 => node.provenance = Some(Json::parse(format!("{{\"n\":{n}}}")).unwrap()),
        6 => node.source = Some(format!("source {n} {m}")),
        7 => (node.author_type, node.tool.name) = (AuthorType::Tool, Some("read_file".to_owned())),
        8 => node.content = "Never use tabs here. We decided to use spaces.".to_owned(),
        _ => {}
    }
    node
}

/// Mutations that the store accepts one by one.
fn accepted_one_by_one(actor: &Actor, tree: TreeId, picks: &[(u8, usize, usize)]) -> Vec<Mutation> {
    let all = || actor.loom().snapshot().unwrap().nodes_after(tree, 0, 0).unwrap();
    let mutations = picks.iter().filter_map(|pick| {
        let known = all();
        let node = known[pick.1 % known.len()].id;
        let mutation = match pick.0 {
            9 => Mutation::Prune { node },
            10 => Mutation::Restore { node },
            11 => Mutation::SetBookmark { node, label: Some("here".to_owned()) },
            _ => Mutation::Append(Box::new(random_node(actor, &known, *pick))),
        };
        (known.len() < 200 && actor.commit(Op::Import, vec![mutation.clone()]).is_ok()).then_some(mutation)
    });
    mutations.collect()
}

/// Exports a tree as lines.
fn exported(actor: &Actor, tree: TreeId) -> String {
    let mut lines = Vec::new();
    jsonl::export(actor.loom().snapshot().unwrap().as_ref(), &[tree], &mut lines).unwrap();
    String::from_utf8(lines).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), rng_seed: seed(), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn many_changes_at_once_equal_the_changes_one_by_one(
        picks in prop::collection::vec((0u8..40, 0usize..60, 0usize..60), 1..120),
    ) {
        let (_one_scene, one) = Table::set(Mode::Dialogue);
        let mutations = accepted_one_by_one(&one.actor, one.tree, &picks);
        let (_scene, at_once) = Table::set(Mode::Dialogue);
        for told in at_once.actor.commit(Op::Import, mutations).unwrap().nodes {
            let node = at_once.actor.loom().snapshot().unwrap().node(told.id).unwrap().unwrap();
            prop_assert_eq!((node.local, node.seq, node.turn), (told.local, told.seq, told.turn));
        }
        prop_assert_eq!(exported(&at_once.actor, at_once.tree), exported(&one.actor, one.tree));
        for table in [one, at_once] {
            prop_assert_eq!(problems(table.actor.loom().store().as_ref()), Vec::<String>::new());
        }
    }
}

/// Minimal form of a failure found by random sequences.
#[test]
fn versions_of_a_root_split_again_are_read_once() {
    use Step::{Append, Edit, Prune, Split, Undo};
    for mode in [Mode::Dialogue, Mode::Buffer] {
        run(mode, &[Edit(0), Append(0), Append(0), Append(0), Split(6, 1)]);
        run(mode, &[Split(0, 1), Edit(34), Append(0), Split(18, 1)]);
        run(mode, &[Split(0, 1), Edit(19), Append(0), Prune(25), Undo, Prune(3)]);
    }
}

#[test]
fn a_taken_local_id_grows_by_a_character() {
    let (_scene, table) = Table::set(Mode::Dialogue);
    let appended = |random: &str| {
        let mut node = table.actor.draft(Parent::Node(table.pick(0)), NodeDraft::text(random));
        node.id = format!("01ARZ3NDEK{random}").parse().unwrap();
        table.actor.commit(Op::Append, vec![Mutation::Append(Box::new(node))]).unwrap().nodes[0].local.to_string()
    };
    let ids = ["TSV4RRFFQ69G5FAV", "TSV4RRFFQ69G5FAW", "TSV4RRAAAAAAAAAA", "TSV4RRFFAAAAAAAA"].map(appended);
    assert_eq!(ids, ["tsv4rr", "tsv4rrf", "tsv4rra", "tsv4rrff"]);
    for (id, content) in ids.iter().zip(["TSV4RRFFQ69G5FAV", "TSV4RRFFQ69G5FAW"]) {
        assert_eq!(table.actor.loom().find_node(table.tree, id).unwrap().content, content);
    }
    assert_eq!(problems(table.actor.loom().store().as_ref()), Vec::<String>::new());
}

#[test]
fn derived_data_can_be_lost_and_rebuilt() {
    let (scene, table) = Table::set(Mode::Dialogue);
    let Some(_) = scene.location.file() else { return };
    for n in 0..30 {
        table.apply(&Step::Append(n * 7));
        table.apply(&Step::Annotate(n));
        table.apply(&Step::Link(n, n + 3));
    }
    table.apply(&Step::Bookmark(4, 1));
    table.apply(&Step::Prune(5));
    let whole = table.state();
    let raw = rusqlite::Connection::open(&scene.path).unwrap();
    raw.execute_batch(
        "UPDATE node_state SET continuations = 7, annotations = 0, links = 3, versions = 9, bookmarked = 0;
         UPDATE tree_state SET nodes = 0, messages = 3, leaves = 0, branch_points = 99, max_depth = 0;",
    )
    .unwrap();
    let store = table.actor.loom().store();
    assert!(!problems(store.as_ref()).is_empty());
    let rebuilt = store.rebuild().unwrap();
    assert!(rebuilt.nodes > 0 && rebuilt.trees == 1);
    assert_eq!(table.state(), whole);
    assert_eq!(problems(store.as_ref()), Vec::<String>::new());
}
