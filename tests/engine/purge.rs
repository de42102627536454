//! Purges of sessions and trees: text that is in no node is removed too, and text of other trees stays.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;

use loomtree::{
    id::{SessionId, TreeId},
    ops::{Actor, NodeDraft, OpsError, SessionReset, TreeDraft},
    session_state::RecordKind,
    store::{Mutation, PurgeTarget, StoreError},
    types::{Op, Parent, TodoDraft, TodoScope, TreePatch},
};
use support::{
    sample_tree::{Play, lines},
    store::Scene,
};

/// Starts a session with a turn in a new tree.
fn begun(owner: &Actor) -> (Actor, SessionId, TreeId) {
    let (tree, root) = owner.create_tree(TreeDraft::new("the root").title("a secret title")).unwrap();
    let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
    let actor = owner.clone().in_session(session);
    actor.append(Parent::Node(root.id), NodeDraft::text("a turn")).unwrap();
    (actor, session, tree.id)
}

/// Writes a text as a record, a todo and the system prompt of a session.
fn write(actor: &Actor, session: SessionId, text: &str) {
    actor.record(RecordKind::Decision, text).unwrap();
    let turn = actor.loom().session(session).unwrap().turns;
    let todo = TodoDraft { title: text.to_owned(), ..TodoDraft::default() };
    actor.add_todos(TodoScope { session, turn }, &[todo]).unwrap();
    actor.commit(Op::Session, vec![Mutation::RecordSystemPrompt { session, content: text.to_owned() }]).unwrap();
}

/// The texts of the records, the todos and the newest system prompt of a session.
fn texts(actor: &Actor, session: SessionId) -> (Vec<String>, Vec<String>, Option<String>) {
    let snapshot = actor.loom().snapshot().unwrap();
    let records = snapshot.records(session).unwrap().into_iter().map(|record| record.content).collect();
    let todos = snapshot.todos(session, None).unwrap().into_iter().map(|todo| todo.title).collect();
    (records, todos, snapshot.system_prompt(session).unwrap())
}

fn problems(actor: &Actor) -> Vec<String> {
    actor.loom().store().verify(&mut |_| {}).unwrap().problems
}

#[test]
fn a_purged_tree_takes_the_text_that_a_session_left_there_and_no_other() {
    let scene = Scene::new(91);
    let (actor, session, first) = begun(&scene.owner());
    write(&actor, session, "one");
    let mut trees = vec![first];
    for text in ["two", "three"] {
        actor.reset_session(session, SessionReset::default()).unwrap();
        trees.push(actor.loom().session(session).unwrap().tree);
        write(&actor, session, text);
    }
    let left = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    actor.purge(PurgeTarget::Tree(trees[1])).unwrap();
    let three = Some("three".to_owned());
    assert_eq!(texts(&actor, session), (left(&["one", "three"]), left(&["one", "", "three"]), three));
    actor.purge(PurgeTarget::Tree(trees[2])).unwrap();
    assert_eq!(texts(&actor, session), (left(&["one"]), left(&["one", "", ""]), Some("one".to_owned())));
    assert!(actor.loom().snapshot().unwrap().session_state(session).unwrap().key_decisions.is_empty());
    actor.purge(PurgeTarget::Tree(trees[0])).unwrap();
    assert_eq!(texts(&actor, session), (left(&[]), left(&["", "", ""]), None));
    assert_eq!(problems(&actor), [""; 0]);
}

#[test]
fn a_session_and_a_tree_are_purged_after_their_nodes() {
    let scene = Scene::new(92);
    let (actor, session, tree) = begun(&scene.owner());
    write(&actor, session, "a secret");
    actor.rename(tree, TreePatch::default().title(Some("another title".to_owned()))).unwrap();
    let turn = actor.loom().turns(session, 0, 1).unwrap()[0].id;
    actor.purge(PurgeTarget::Node(turn)).unwrap();
    let again = actor.purge(PurgeTarget::Node(turn)).unwrap_err();
    assert!(matches!(again, OpsError::Store(StoreError::Conflict(_))), "{again:?}");
    assert_eq!(actor.purge(PurgeTarget::Session(session)).unwrap().affected, 0);
    assert_eq!(texts(&actor, session), (vec![], vec![String::new()], None));
    let root = actor.loom().tree(tree).unwrap().root.unwrap();
    actor.purge(PurgeTarget::Node(root)).unwrap();
    write(&actor, session, "a later secret");
    actor.purge(PurgeTarget::Tree(tree)).unwrap();
    assert_eq!(texts(&actor, session), (vec![], vec![String::new(); 2], None));
    assert_eq!(actor.loom().tree(tree).unwrap().title, "purged");
    assert_eq!(problems(&actor), [""; 0]);
}

#[test]
fn a_purge_takes_stored_pages_of_other_trees() {
    let play = Play::new();
    let (tree, root) = play.owner.create_tree(TreeDraft::new("elsewhere")).unwrap();
    let session = play.owner.start_session("/work", tree.id, Some(root.id)).unwrap();
    let mut runner = play.runner("owner", session).inline(10);
    let reply = lines(&mut runner, &["→ recall search \"lighthouse\" scope:all"]);
    let command = reply.rsplit_once("· → ").unwrap_or_else(|| panic!("{reply}")).1.trim_end_matches(']');
    let mut pages = || lines(&mut runner, &[&format!("→ {command}")]);
    assert!(pages().contains("lighthouse"));
    play.owner.purge(PurgeTarget::Node(play.nine)).unwrap();
    let reply = pages();
    assert!(reply.starts_with("✗ NOT_FOUND"), "{reply}");
}
