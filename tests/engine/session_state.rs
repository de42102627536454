//! Session state in the store: updated with each turn, and equal to a rebuild from the archive after any change.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;

use loomtree::{
    id::{NodeId, SessionId},
    ops::{Actor, NodeDraft, SessionReset, TreeDraft},
    session_state::RecordKind,
    store::PurgeTarget,
    types::{AuthorType, EdgeKind, Json, Parent, ToolCallFields},
};
use proptest::{prelude::*, test_runner::RngSeed};
use support::store::Scene;

/// A step of a random history.
#[derive(Debug, Clone)]
enum Step {
    Say(usize, usize),
    Run(usize, bool),
    Write(usize),
    Record(usize),
    Forget(usize),
    Prune(usize),
    Restore(usize),
    Undo,
    Redo,
    Purge(usize),
    Switch(usize),
    Reset,
}

fn step() -> impl Strategy<Value = Step> {
    let n = 0usize..30;
    prop_oneof![
        6 => (n.clone(), n.clone()).prop_map(|(a, b)| Step::Say(a, b)),
        3 => (n.clone(), any::<bool>()).prop_map(|(a, b)| Step::Run(a, b)),
        3 => n.clone().prop_map(Step::Write),
        2 => n.clone().prop_map(Step::Record),
        1 => n.clone().prop_map(Step::Forget),
        3 => n.clone().prop_map(Step::Prune),
        2 => n.clone().prop_map(Step::Restore),
        3 => Just(Step::Undo),
        1 => Just(Step::Redo),
        1 => n.clone().prop_map(Step::Purge),
        1 => n.prop_map(Step::Switch),
        1 => Just(Step::Reset),
    ]
}

const SAID: [&str; 5] =
    ["never use an ORM", "Let's go with option B.", "what about it?", "From now on in French.", "just words"];

struct Desk {
    scene: Scene,
    actor: Actor,
    session: SessionId,
    nodes: Vec<NodeId>,
}

impl Desk {
    fn new(seed: u64) -> Self {
        let scene = Scene::new(seed);
        let owner = scene.owner();
        let (tree, root) = owner.create_tree(TreeDraft::new("the root")).unwrap();
        let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
        let nodes = vec![root.id];
        Self { scene, actor: owner.in_session(session), session, nodes }
    }

    fn tool(&mut self, name: &str, arguments: &str, answer: &str) {
        let metadata = Json::parse(format!(r#"{{"arguments":{arguments}}}"#)).unwrap();
        let draft = NodeDraft::text(answer)
            .kind(EdgeKind::Tool)
            .author_type(AuthorType::Tool)
            .tool(ToolCallFields { name: Some(name.to_owned()), ..ToolCallFields::default() })
            .metadata(metadata);
        let receipt = self.actor.append(Parent::Position(self.session), draft).unwrap();
        self.nodes.push(receipt.nodes[0].id);
    }

    fn take(&mut self, step: &Step) {
        let node = |n: &usize| self.nodes[n % self.nodes.len()];
        // Many random steps are rejected; the state must be correct afterwards.
        match step {
            Step::Say(n, at) => {
                let text = format!("{} {}", SAID[n % SAID.len()], if n % 2 == 0 { "" } else { "Indeed." });
                let parent = if at % 3 == 0 { Parent::Node(node(at)) } else { Parent::Position(self.session) };
                if let Ok(receipt) = self.actor.append(parent, NodeDraft::text(text)) {
                    self.nodes.push(receipt.nodes[0].id);
                }
            }
            Step::Run(n, worked) => {
                let code = i32::from(!worked);
                self.tool(
                    "shell",
                    &format!(r#"{{"command":"make {}"}}"#, n % 3),
                    &format!("error {n}\nexit code {code}"),
                );
            }
            Step::Write(n) => self.tool("write_file", &format!(r#"{{"path":"src/{}.rs"}}"#, n % 25), "done"),
            Step::Record(n) => drop(self.actor.record(RecordKind::Constraint, &format!("rule {n}")).unwrap()),
            Step::Forget(n) => drop(self.actor.record(RecordKind::Forget, &format!("rule {n}")).unwrap()),
            Step::Prune(n) => drop(self.actor.prune(node(n))),
            Step::Restore(n) => drop(self.actor.restore(node(n))),
            Step::Undo => drop(self.actor.undo(None)),
            Step::Redo => drop(self.actor.redo(None)),
            // Each purge rewrites the file.
            Step::Purge(n) if n % 10 == 0 => drop(self.actor.purge(PurgeTarget::Node(node(n)))),
            Step::Purge(_) => {}
            Step::Switch(n) => drop(self.actor.switch_to(self.session, node(n))),
            Step::Reset => {
                let root =
                    self.actor.reset_session(self.session, SessionReset::default().system("never say never")).unwrap();
                let register = self.actor.loom().snapshot().unwrap().session_state(self.session).unwrap();
                assert!(register.is_empty(), "{register:?}");
                self.nodes.push(root.id);
            }
        }
    }

    fn problems(&self) -> Vec<String> {
        self.actor.loom().store().verify(&mut |_| {}).unwrap().problems
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::support::rounds::of("PROPTEST_CASES", 8, 24), rng_seed: RngSeed::Fixed(5), failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_kept_is_what_the_archive_says(steps in prop::collection::vec(step(), 1..60)) {
        let mut desk = Desk::new(21);
        for step in &steps {
            desk.take(step);
        }
        prop_assert_eq!(desk.problems(), Vec::<String>::new());
        let kept = desk.actor.loom().snapshot().unwrap().session_state(desk.session).unwrap();
        desk.scene.execute("DELETE FROM registers");
        desk.actor.loom().store().rebuild().unwrap();
        prop_assert_eq!(desk.actor.loom().snapshot().unwrap().session_state(desk.session).unwrap(), kept);
        prop_assert_eq!(desk.problems(), Vec::<String>::new());
    }
}

fn constraints(desk: &Desk) -> Vec<String> {
    let register = desk.actor.loom().snapshot().unwrap().session_state(desk.session).unwrap();
    register.constraints.iter().map(|noted| format!("{} ({})", noted.text, noted.turn)).collect()
}

#[test]
fn a_damaged_state_is_rebuilt_and_reported() {
    let mut desk = Desk::new(22);
    desk.take(&Step::Say(0, 1));
    desk.tool("write_file", r#"{"path":"a.rs"}"#, "done");
    for damage in ["{\"files_touched\":[{]", "", "[]", "{\"constraints\":7}"] {
        desk.scene.execute(&format!("UPDATE registers SET state = '{damage}'"));
        assert_eq!(constraints(&desk)[0], "never use an ORM (1)", "{damage:?}");
        let problems = desk.problems();
        assert!(problems.len() == 1 && problems[0].contains("is damaged"), "{problems:?}");
        // The session continues over the damage.
        desk.take(&Step::Say(3, 1));
        assert_eq!(desk.problems(), Vec::<String>::new());
    }
    desk.scene.execute("UPDATE registers SET state = '{}'");
    assert!(desk.problems()[0].contains("differs from the archive"));
    assert_eq!(desk.actor.loom().store().rebuild().unwrap().registers, 1);
    assert_eq!(constraints(&desk).len(), 2);
}

#[test]
fn hidden_and_purged_turns_are_removed_from_the_state() {
    let mut desk = Desk::new(23);
    desk.take(&Step::Say(0, 1));
    let order = *desk.nodes.last().unwrap();
    assert_eq!(constraints(&desk), ["never use an ORM (1)"]);
    desk.actor.prune(order).unwrap();
    assert_eq!(constraints(&desk), [""; 0]);
    assert_eq!(desk.actor.loom().snapshot().unwrap().session_state(desk.session).unwrap().current_focus, None);
    desk.actor.restore(order).unwrap();
    assert_eq!(constraints(&desk), ["never use an ORM (1)"]);
    desk.actor.purge(PurgeTarget::Node(order)).unwrap();
    assert_eq!(constraints(&desk), [""; 0]);
    assert_eq!(desk.problems(), Vec::<String>::new());
}
