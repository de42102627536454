//! Sessions: found again, continued, begun anew, kept apart, and resumed as if there had been no break.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod support;

use std::{sync::Arc, time::Duration};

use loomtree::{
    arrow::run::{Alone, Runner},
    context::{Options, Prompt},
    id::{NodeId, SessionId},
    model::{Lease, Mode, Timestamp, WorkItem},
    ops::{Actor, Draft, SessionDraft},
    provider::{Model, Reply, Scripted},
    recall::{self, Filter, Query, Scope},
    session::{Cut, Plan, context_of, generate, resume, seat},
};
use support::store::Scene;

/// A tree with a session of the collaborator's in it, in which somebody asked.
fn begun(scene: &Scene) -> (Actor, SessionId, NodeId) {
    let owner = scene.owner();
    let (_, root) = owner.create_tree(None, Mode::Dialogue, None, Draft::text("A lighthouse.")).unwrap();
    let agent = owner.loom().agent("collaborator").unwrap();
    let session = seat(owner.loom(), &agent, "/work", root.id).unwrap().session().unwrap();
    let asked = owner.tell(session, Draft::text("Never use the word sea. What is in the log book?")).unwrap();
    (owner, session, asked.nodes[0].id)
}

/// The next prompt of a session, in the rendering that providers cache.
fn next(owner: &Actor, session: SessionId) -> String {
    let loom = owner.loom();
    let session = loom.session(session).unwrap();
    let agent = loom.agent("collaborator").unwrap();
    let actor = loom.actor(&agent).in_session(session.id);
    let made = context_of(&actor, &agent, session.position.unwrap(), &[], Options::default()).unwrap();
    match made.prompt {
        Prompt::Text(text) => text,
        Prompt::Messages(messages) => format!("{messages:#?}"),
    }
}

#[tokio::test]
async fn the_next_prompt_after_a_break_is_what_it_would_have_been() {
    let scene = Scene::new(11);
    let (owner, session, mut at) = begun(&scene);
    let agent = owner.loom().agent("collaborator").unwrap();
    let actor = owner.loom().actor(&agent).in_session(session);
    for turn in 0..12 {
        let model: Arc<dyn Model> = Arc::new(Scripted::new([Reply::words(&format!("Entry {turn}: wind, and fog."))]));
        generate(&actor, Plan::new(at, agent.clone(), model, 1), |_| {}).await.unwrap();
        at = owner.tell(session, Draft::text(format!("And after entry {turn}?"))).unwrap().nodes[0].id;
    }
    let model: Arc<dyn Model> = Arc::new(Scripted::new([Reply::words("The last entry.")]));
    generate(&actor, Plan::new(at, agent.clone(), model, 1), |_| {}).await.unwrap();
    let before = next(&owner, session);
    assert!(before.contains("Never use the word sea") && before.contains("The last entry."), "{before}");
    drop((actor, owner));

    let again = scene.owner();
    let resumed = resume(&again, session, None).unwrap();
    assert_eq!((resumed.session.id, resumed.cut), (session, None));
    assert_eq!(next(&again, session), before);
}

#[test]
fn a_turn_that_a_crash_cut_off_is_marked_once_and_its_place_is_free() {
    let scene = Scene::new(12);
    let (owner, session, asked) = begun(&scene);
    let agent = owner.loom().agent("collaborator").unwrap();
    let actor = owner.loom().actor(&agent).in_session(session);
    actor.lease(asked, agent.id(), Duration::from_secs(60)).wait().unwrap();
    drop((actor, owner));

    let again = scene.owner();
    let resumed = resume(&again, session, None).unwrap();
    assert_eq!(resumed.cut, Some(Cut::Unanswered(asked)));
    let loom = again.loom();
    let tree = loom.session(session).unwrap().tree;
    assert_eq!(loom.snapshot().unwrap().leases(tree).unwrap(), Vec::<Lease>::new());
    assert_eq!(loom.node(asked).unwrap().state.annotations, 1);
}

#[test]
fn a_session_that_has_run_out_is_followed_by_another_and_loses_nothing() {
    let scene = Scene::new(13);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(None, Mode::Dialogue, None, Draft::text("root")).unwrap();
    let draft = SessionDraft { lasting: Some(Duration::from_secs(3_600)), ..SessionDraft::of("/work") };
    let first = owner.open_session(tree.id, Some(root.id), draft).unwrap();
    let actor = owner.clone().in_session(first);
    actor.append_turn(Draft::text("said in time")).unwrap();
    assert_eq!(owner.continue_session(first).unwrap(), first);
    let later = owner.loom().now().as_millis() + 3_601_000;
    scene.clock.set(Timestamp::from_millis(later));
    assert!(actor.append_turn(Draft::text("too late")).is_err());
    let second = owner.continue_session(first).unwrap();
    assert_ne!(second, first);
    let loom = owner.loom();
    assert_eq!(loom.session(second).unwrap().position, loom.session(first).unwrap().position);
    assert_eq!(loom.turns(first, 0, 10).unwrap()[0].content, "said in time");
    let begun = owner.reset_session(second, Some("Be brief.")).unwrap();
    let session = loom.session(second).unwrap();
    assert_eq!((session.position, session.tree == tree.id), (Some(begun.id), false));
    assert_eq!(loom.tree(tree.id).unwrap().counts.nodes, 2, "nothing was deleted");
}

#[test]
fn work_items_do_not_see_each_other_also_not_by_a_guess() {
    let scene = Scene::new(14);
    let owner = scene.owner();
    let item = |key: &str| WorkItem { project: "light".to_owned(), external_ref: key.to_owned() };
    let open = |key: &str| {
        let (tree, root) = owner.create_tree(None, Mode::Dialogue, None, Draft::text("root")).unwrap();
        let draft = SessionDraft { item: Some(item(key)), ..SessionDraft::of("/work") };
        let id = owner.open_session(tree.id, Some(root.id), draft).unwrap();
        let said = owner.clone().in_session(id).append_turn(Draft::text(format!("the secret of {key}"))).unwrap();
        (id, tree.id, said.nodes[0].id)
    };
    let ((one, tree, _), (two, _, secret)) = (open("L-1"), open("L-2"));
    let loom = owner.loom();
    assert_eq!(loom.session_of(&item("L-1")).unwrap().unwrap().id, one);
    assert_eq!(loom.session_of(&item("L-3")).unwrap(), None);
    let snapshot = loom.snapshot().unwrap();
    let found = |seen_by| {
        let hits = recall::search(
            &*snapshot,
            &Query { only: Filter { seen_by, ..Filter::default() }, ..Query::new("secret", Scope::Everything) },
        )
        .unwrap();
        hits.hits.iter().map(|hit| hit.node.id).collect::<Vec<_>>()
    };
    assert!(found(Some(two)).contains(&secret));
    assert!(!found(Some(one)).contains(&secret));
    // Nor by an id, by whichever door.
    let secret_id = loom.node(secret).unwrap().local.to_string();
    let mut runner = Runner::new(loom.clone(), loom.agent("collaborator").unwrap(), one, &Alone);
    for line in [
        format!("→ view {secret_id} full"),
        format!("→ view {secret} full"),
        format!("→ switch to {secret_id}"),
        format!("→ annotate {secret_id} \"x\""),
        "→ recall search \"secret of L-2\"".to_owned(),
        "→ recall search \"secret of L-2\" scope:all".to_owned(),
        "→ recall search \"secret of L-2\" scope:workspace".to_owned(),
        format!("→ recall search \"secret of L-2\" path:{secret_id}"),
        format!("→ recall search \"secret of L-2\" below:{secret} scope:all"),
        "→ recall tool:bash scope:all".to_owned(),
        "→ recall turns:1-100".to_owned(),
        "→ recall summary".to_owned(),
        "→ search \"secret of L-2\"".to_owned(),
    ] {
        let wanted = runner.read(&line);
        let reply = runner.run_batch(vec![wanted]).remove(0).to_string();
        assert!(!reply.contains("the secret of L-2"), "{line}: {reply}");
    }
    // A tree of one item takes no session of another.
    let draft = SessionDraft { item: Some(item("L-2")), ..SessionDraft::of("/work") };
    assert!(owner.open_session(tree, None, draft).is_err());
}

#[test]
fn outside_tools_find_turns_and_sessions_by_their_names() {
    let scene = Scene::new(15);
    let (owner, session, _) = begun(&scene);
    drop(owner);
    let conn = rusqlite::Connection::open(&scene.path).unwrap();
    let columns = |view: &str| {
        let statement = conn.prepare(&format!("SELECT * FROM {view}")).unwrap();
        statement.column_names().collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        columns("conversation_turns"),
        "id, session_id, turn_number, role, content, tool_calls, tool_call_id, tool_name, token_count, created_at"
    );
    assert_eq!(
        columns("cowork_sessions"),
        "id, workspace_path, model_name, system_prompt, started_at, last_active_at, total_tokens, turn_count, \
         session_state, is_active"
    );
    let row: (String, u64, String, String) = conn
        .query_row("SELECT session_id, turn_number, role, content FROM conversation_turns", [], |r| {
            Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))
        })
        .unwrap();
    let said = "Never use the word sea. What is in the log book?".to_owned();
    assert_eq!(row, (session.to_string(), 1, "user".to_owned(), said));
    let state: String =
        conn.query_row("SELECT session_state FROM cowork_sessions WHERE id = ?1", [row.0], |r| r.get(0)).unwrap();
    assert!(state.contains("Never use the word sea."), "{state}");
}
