//! One conversation is one session: messages that another session appended are turns of the session that answers them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;

use std::{io::BufReader, sync::Arc};

use loomtree::{
    id::{NodeId, SessionId},
    interchange::{self, jsonl},
    ops::{Actor, NodeDraft, TreeDraft},
    provider::{Model, Scripted, ScriptedReply},
    recall::{self, Filter, Query, Scope},
    session::{GenerateRequest, actor_at, generate},
    store::{ChangeKind, Mutation, PurgeTarget, WordFilter},
    types::{AuthorType, Node, Op, Parent},
};
use support::store::Scene;

const ORDER: &str = "Never use an ORM, raw SQL only.";

fn scripted(words: &str) -> Arc<Scripted> {
    Arc::new(Scripted::new([ScriptedReply::words(words)]))
}

/// Lets the collaborator answer a node, as every interface does; returns its session and the request that was sent.
async fn answer(owner: &Actor, at: NodeId, words: &str) -> (SessionId, String) {
    let loom = owner.loom();
    let agent = loom.agent("collaborator").unwrap();
    let actor = actor_at(loom, &agent, "/work", at).unwrap();
    let model = scripted(words);
    let request = GenerateRequest::new(at, agent, Arc::clone(&model) as Arc<dyn Model>, 1);
    generate(&actor, request, |_| {}).await.unwrap();
    (actor.session().unwrap(), format!("{:?}", model.requests()))
}

/// A message that the owner appends in a session of its own, as the terminal interface and `say` do.
fn say(owner: &Actor, after: NodeId, text: &str) -> NodeId {
    let tree = owner.loom().node(after).unwrap().tree;
    let session = owner.ensure_session("/work", tree, after).unwrap();
    let receipt = owner.clone().in_session(session).append(Parent::Node(after), NodeDraft::text(text)).unwrap();
    receipt.nodes[0].id
}

fn turns(owner: &Actor, session: SessionId) -> Vec<(u64, AuthorType, String)> {
    let nodes = owner.loom().turns(session, 0, 99).unwrap();
    nodes.into_iter().map(|node: Node| (node.turn.unwrap(), node.role(), node.content)).collect()
}

fn last(owner: &Actor, session: SessionId) -> NodeId {
    owner.loom().session(session).unwrap().position.unwrap()
}

#[tokio::test]
async fn an_order_that_another_session_appended_reaches_every_later_prompt() {
    let scene = Scene::new(41);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A service.")).unwrap();
    let order = say(&owner, root.id, ORDER);
    let (session, _) = answer(&owner, order, "Agreed.").await;
    let mut at = last(&owner, session);
    for turn in 0..3 {
        let asked = say(&owner, at, &format!("Write query {turn}."));
        let (same, request) = answer(&owner, asked, "Here it is.").await;
        assert_eq!(same, session);
        assert!(request.contains("constraints:\\n- Never use an ORM, raw SQL only. (turn 2)"), "{request}");
        assert!(request.contains(&format!("Write query {turn}.")), "{request}");
        at = last(&owner, session);
    }
    let found = turns(&owner, session);
    assert_eq!(found.iter().map(|turn| turn.0).collect::<Vec<_>>(), (1..=9).collect::<Vec<_>>());
    assert_eq!(found[1], (2, AuthorType::Human, ORDER.to_owned()));
    assert_eq!(found[8], (9, AuthorType::Model, "Here it is.".to_owned()));
    assert_eq!(owner.loom().session(session).unwrap().turns, 9);
    let state = owner.loom().snapshot().unwrap().session_state(session).unwrap();
    assert_eq!(state.constraints.len(), 1);
    assert_eq!(state.current_focus.as_deref(), Some("Write query 2."));
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
    assert_eq!(owner.loom().store().rebuild().unwrap().registers, 0, "the rebuilt states are the same");
}

#[tokio::test]
async fn a_message_is_received_once_and_its_own_session_keeps_it() {
    let scene = Scene::new(42);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A service.")).unwrap();
    let order = say(&owner, root.id, ORDER);
    let (session, _) = answer(&owner, order, "One.").await;
    let (same, _) = answer(&owner, order, "Two.").await;
    assert_eq!(same, session);
    let words: Vec<String> = turns(&owner, session).into_iter().map(|turn| turn.2).collect();
    assert_eq!(words, ["A service.", ORDER, "One.", "Two."]);
    let node = owner.loom().node(order).unwrap();
    assert_ne!(node.session, Some(session), "the node is not changed");
    let own = turns(&owner, node.session.unwrap());
    assert_eq!(own.last().unwrap().2, ORDER);
    let again = Mutation::ReceiveTurn { session, node: order, turn: None };
    let receipt = owner.commit(Op::Turn, vec![again]).unwrap();
    assert_eq!((receipt.seq, turns(&owner, session).len()), (0, 4), "no journal entry, no turn");
}

#[tokio::test]
async fn received_messages_are_found_in_the_scope_of_the_session() {
    let scene = Scene::new(43);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A service.")).unwrap();
    let order = say(&owner, root.id, ORDER);
    let (session, _) = answer(&owner, order, "Agreed.").await;
    let other = owner.start_session("/work", root.tree, Some(root.id)).unwrap();
    let snapshot = owner.loom().snapshot().unwrap();
    for exact in [false, true] {
        let only = Filter::default().seen_by(session);
        let query = Query::new("raw SQL", Scope::Session(session)).exact(exact).only(only);
        let found = recall::search(&*snapshot, &query).unwrap();
        assert_eq!(found.hits.iter().map(|hit| hit.node.id).collect::<Vec<_>>(), [order], "exact: {exact}");
        assert_eq!((found.hits[0].node.turn, found.hits[0].node.session), (Some(2), Some(session)));
    }
    let query = Query::new("raw SQL", Scope::Session(other));
    assert!(recall::search(&*snapshot, &query).unwrap().hits.is_empty());
    let page = recall::turns(&*snapshot, session, 2..=2, &Filter::default(), 9).unwrap();
    assert_eq!(page.iter().map(|node| node.id).collect::<Vec<_>>(), [order]);
    let limited = snapshot.turns(session, 1..=9, &WordFilter::default(), 2).unwrap();
    assert_eq!(limited.iter().map(|node| node.turn.unwrap()).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test]
async fn outside_tools_see_received_messages_in_the_view() {
    let scene = Scene::of_file(44);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A service.")).unwrap();
    let order = say(&owner, root.id, ORDER);
    let (session, _) = answer(&owner, order, "Agreed.").await;
    let conn = rusqlite::Connection::open(&scene.path).unwrap();
    let sql = "SELECT turn_number, role, content FROM conversation_turns WHERE session_id = ?1 ORDER BY turn_number";
    let mut statement = conn.prepare(sql).unwrap();
    let rows = statement.query_map([session.to_string()], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?))).unwrap();
    let rows: Vec<(u64, String, String)> = rows.collect::<Result<_, _>>().unwrap();
    let expected = [(1, "user", "A service."), (2, "user", ORDER), (3, "assistant", "Agreed.")];
    assert_eq!(rows, expected.map(|(turn, role, text)| (turn, role.to_owned(), text.to_owned())));
    let problem = conn.execute("DELETE FROM received_turns", []).unwrap_err();
    assert!(problem.to_string().contains("never removed"), "{problem}");
}

#[tokio::test]
async fn pruning_a_received_message_takes_its_order_back_until_it_is_restored() {
    let scene = Scene::new(45);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("A service.")).unwrap();
    let order = say(&owner, root.id, ORDER);
    let (session, _) = answer(&owner, order, "Agreed.").await;
    let constraints = || owner.loom().snapshot().unwrap().session_state(session).unwrap().constraints.len();
    assert_eq!(constraints(), 1);
    owner.prune(order).unwrap();
    assert_eq!(constraints(), 0);
    owner.undo(Some(tree.id)).unwrap();
    assert_eq!(constraints(), 1);
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[tokio::test]
async fn a_round_trip_through_jsonl_keeps_received_turns() {
    let scene = Scene::new(46);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("A service.")).unwrap();
    let order = say(&owner, root.id, ORDER);
    let (session, _) = answer(&owner, order, "Agreed.").await;
    let next = say(&owner, last(&owner, session), "From now on, answer in one line.");
    answer(&owner, next, "Yes.").await;
    let export = |actor: &Actor| {
        let mut out = Vec::new();
        jsonl::export(&*actor.loom().snapshot().unwrap(), &[tree.id], &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let first = export(&owner);

    let other = Scene::new(47);
    let importer = other.owner();
    for _ in 0..2 {
        let mut input = BufReader::new(first.as_bytes());
        let done = interchange::import(&importer, None, "tree.jsonl", &mut input, &mut |_| {}).unwrap();
        assert_eq!(done.problems, Vec::<String>::new());
    }
    assert_eq!(turns(&importer, session), turns(&owner, session));
    let state = |actor: &Actor| actor.loom().snapshot().unwrap().session_state(session).unwrap();
    assert_eq!(state(&importer), state(&owner));
    assert_eq!(export(&importer), first);
    assert_eq!(importer.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[tokio::test]
async fn purging_a_session_purges_what_it_received() {
    let scene = Scene::new(48);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A service.")).unwrap();
    let order = say(&owner, root.id, ORDER);
    let (session, _) = answer(&owner, order, "Agreed.").await;
    let journal = owner.loom().snapshot().unwrap().journal(Default::default()).unwrap();
    assert!(journal.iter().any(|entry| entry.change == ChangeKind::ReceiveTurn.as_str() && entry.node == Some(order)));
    owner.purge(PurgeTarget::Session(session)).unwrap();
    let snapshot = owner.loom().snapshot().unwrap();
    assert!(snapshot.session_state(session).unwrap().constraints.is_empty());
    assert_eq!(snapshot.node(order).unwrap().unwrap().content, "");
    let own = snapshot.node(order).unwrap().unwrap().session.unwrap();
    assert!(snapshot.session_state(own).unwrap().constraints.is_empty());
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn only_messages_of_people_are_received() {
    let scene = Scene::new(49);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A service.")).unwrap();
    let agent = owner.loom().agent("collaborator").unwrap();
    let session = actor_at(owner.loom(), &agent, "/work", root.id).unwrap().session().unwrap();
    let note = owner.annotate(root.id, "a note").unwrap().nodes[0].id;
    let receive = |node, turn| owner.commit(Op::Turn, vec![Mutation::ReceiveTurn { session, node, turn }]);
    assert!(receive(note, None).unwrap_err().to_string().contains("only a person's message"));
    receive(root.id, Some(3)).unwrap();
    let more = owner.append(root.id, "More.").unwrap().nodes[0].id;
    assert!(receive(more, Some(3)).unwrap_err().to_string().contains("exists already"));
    receive(more, Some(2)).unwrap();
    assert_eq!(turns(&owner, session).iter().map(|turn| turn.0).collect::<Vec<_>>(), [2, 3]);
    let state = owner.loom().snapshot().unwrap().session_state(session).unwrap();
    assert_eq!(state.current_focus.as_deref(), Some("A service."), "turns are in the order of their numbers");
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}
