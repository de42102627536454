//! Sessions of work items: found or made in one commit, expiry, successors, reset, clean-up.

#![allow(clippy::unwrap_used, clippy::panic)] // a failure here fails the test

use crate::support;

#[path = "../../examples/work_item.rs"]
#[allow(dead_code)] // its `main` is not called here
mod example;

use std::{sync::Arc, time::Duration};

use loomtree::{
    context::ContextOptions,
    id::SessionId,
    ops::{Actor, NodeDraft, SessionDraft, SessionReset},
    session::context_of,
    store::{TreeFilter, WordFilter},
    types::{AuthorType, Prompt, Role, Session, Timestamp, TreePatch, WorkItem},
};
use support::store::Scene;

const SYSTEM: &str = "You fix bugs.";

fn item(key: &str) -> WorkItem {
    WorkItem { project: "shop".to_owned(), external_ref: key.to_owned() }
}

/// An actor of the model that answers, and one of the person who asks.
fn actors(scene: &Scene) -> (Actor, Actor) {
    let owner = scene.owner();
    (owner.loom().actor(&owner.loom().agent("subject").unwrap()), owner)
}

fn dispatch(actor: &Actor, key: &str) -> Session {
    actor.session_for_item(&item(key), SYSTEM, SessionDraft::of("/shop")).unwrap()
}

/// The messages of a session's next prompt.
fn prompt(actor: &Actor, session: SessionId, options: ContextOptions) -> Vec<(Role, String)> {
    let found = actor.loom().session(session).unwrap();
    let agent = actor.loom().agent("subject").unwrap();
    let actor = actor.clone().in_session(session);
    let Prompt::Chat(messages) = context_of(&actor, &agent, found.position.unwrap(), &[], options).unwrap().prompt
    else {
        panic!("a prompt of a buffer")
    };
    messages.into_iter().map(|message| (message.role, message.text())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn dispatches_of_the_example_build_on_each_other() {
    let prompts = example::investigate().await.unwrap();
    assert_eq!(prompts.len(), 3);
    assert!(prompts.iter().all(|prompt| prompt.contains("You find the causes of bugs.")));
    assert!(!prompts[0].contains("ProcessOrder()") && prompts[1].contains("ProcessOrder() starts a thread"));
    assert!(prompts[2].contains("ProcessOrder() starts a thread") && prompts[2].contains("No thread ends"));
}

#[test]
fn tree_root_and_session_of_an_item_are_made_in_one_commit() {
    let scene = Scene::new(41);
    let (subject, owner) = actors(&scene);
    let session = dispatch(&subject, "SHOP-1");
    let loom = owner.loom();
    let tree = loom.tree(session.tree).unwrap();
    assert_eq!((tree.item.as_ref(), tree.title.as_str()), (Some(&item("SHOP-1")), "SHOP-1"));
    assert_eq!((session.item.as_ref(), session.turns), (Some(&item("SHOP-1")), 1));
    let root = loom.node(tree.root.unwrap()).unwrap();
    assert_eq!((root.content.as_str(), root.role(), root.turn), (SYSTEM, AuthorType::System, Some(1)));
    assert_eq!(session.position, Some(root.id));
    // The journal has one group for all of it.
    let entries = loom.snapshot().unwrap().journal(loomtree::store::JournalFilter::default()).unwrap();
    assert!(entries.iter().all(|entry| entry.group == entries[0].group), "{entries:?}");
    // Another item, project and agent have sessions of their own.
    assert_eq!(dispatch(&subject, "SHOP-1").id, session.id);
    assert_ne!(dispatch(&subject, "SHOP-2").id, session.id);
    assert_ne!(dispatch(&owner, "SHOP-1").id, session.id);
    let other = WorkItem { project: "bank".to_owned(), ..item("SHOP-1") };
    assert_ne!(subject.session_for_item(&other, SYSTEM, SessionDraft::default()).unwrap().id, session.id);
    // Of the item's sessions, a look-up without an agent returns that of the model.
    assert_eq!(loom.find_item_session(&item("SHOP-1"), None).unwrap().unwrap().id, session.id);
}

#[test]
fn concurrent_dispatches_of_an_item_share_one_session() {
    let scene = Scene::new(42);
    let _first = scene.owner();
    let ids: Vec<SessionId> = std::thread::scope(|scope| {
        let start = || {
            // Each has a store of its own, as another process has.
            let (subject, _) = actors(&scene);
            (0..8).map(|key| dispatch(&subject, &format!("SHOP-{key}")).id).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(start)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!((ids.len(), distinct.len()), (32, 8));
}

#[test]
fn an_items_session_expires_after_its_time_however_much_it_is_used() {
    let scene = Scene::new(43);
    let (subject, owner) = actors(&scene);
    let loom = owner.loom();
    let first = dispatch(&subject, "SHOP-1");
    let end = first.expires_at.unwrap();
    assert_eq!(end.elapsed_since(first.started_at), Duration::from_secs(24 * 3_600));
    for hour in [6, 12, 23] {
        scene.clock.set(Timestamp::from_millis(first.started_at.as_millis() + hour * 3_600_000));
        owner.send_to(first.id, NodeDraft::text("the old words")).unwrap();
        assert_eq!(dispatch(&subject, "SHOP-1").expires_at, Some(end), "use does not prolong it");
    }
    scene.clock.set(end);
    assert_eq!(loom.find_item_session(&item("SHOP-1"), None).unwrap(), None);
    let second = dispatch(&subject, "SHOP-1");
    assert!(second.id != first.id && second.tree != first.tree);
    assert_eq!(prompt(&subject, second.id, ContextOptions::default()), [(Role::System, SYSTEM.to_owned())]);
    let old = loom.session(first.id).unwrap();
    let turns = loom.turns(first.id, 0, 9).unwrap();
    assert_eq!((old.active, turns.len(), turns[1].content.as_str()), (false, 4, "the old words"));
    // A duration of the host's own.
    let draft = SessionDraft::default().lasting(Duration::from_secs(60));
    let short = subject.session_for_item(&item("SHOP-9"), SYSTEM, draft).unwrap();
    assert_eq!(short.expires_at.unwrap().elapsed_since(short.started_at), Duration::from_secs(60));
}

#[test]
fn expired_sessions_are_archived_and_their_content_stays() {
    let scene = Scene::new(44);
    let (subject, owner) = actors(&scene);
    let loom = owner.loom();
    let (one, two) = (dispatch(&subject, "SHOP-1"), dispatch(&subject, "SHOP-2"));
    // The other session of its tree has no end.
    let draft = SessionDraft::of("/shop").item(item("SHOP-2"));
    owner.open_session(two.tree, two.position, draft).unwrap();
    assert_eq!(owner.archive_expired_sessions().unwrap(), []);
    scene.clock.set(one.expires_at.unwrap());
    let mut expired = owner.archive_expired_sessions().unwrap();
    expired.sort_unstable();
    assert_eq!(expired, [one.id, two.id]);
    assert_eq!(owner.archive_expired_sessions().unwrap(), []);
    let listed: Vec<_> =
        loom.snapshot().unwrap().trees(TreeFilter::default()).unwrap().into_iter().map(|tree| tree.id).collect();
    assert_eq!(listed, [two.tree], "a tree that is used is not archived");
    assert_eq!(loom.turns(one.id, 0, 9).unwrap()[0].content, SYSTEM);
    assert_eq!(loom.store().verify(&mut |_| {}).unwrap().problems, [""; 0]);
}

#[test]
fn a_reset_keeps_or_drops_system_message_and_system_context() {
    let scene = Scene::new(45);
    let (subject, owner) = actors(&scene);
    let loom = owner.loom();
    let session = dispatch(&subject, "SHOP-1");
    let patch = TreePatch::default().system_context(Some("Answer in French.".to_owned()));
    owner.rename(session.tree, patch).unwrap();
    owner.send_to(session.id, NodeDraft::text("the old words")).unwrap();
    let seen = || {
        let messages = prompt(&subject, session.id, ContextOptions::default());
        let text: String = messages.iter().map(|(_, text)| format!("{text}\n")).collect();
        ["the old words", SYSTEM, "Answer in French."].map(|words| text.contains(words))
    };
    assert_eq!(seen(), [true, true, true]);
    owner.reset_session(session.id, SessionReset::default().keep_system_message(true)).unwrap();
    assert_eq!(seen(), [false, true, true]);
    let kept = loom.session(session.id).unwrap();
    assert_eq!((kept.id, &kept.item, kept.expires_at), (session.id, &session.item, session.expires_at));
    let turns = loom.turns(session.id, 0, 9).unwrap();
    assert_eq!((turns.len(), turns[0].content.as_str(), turns[0].turn), (1, SYSTEM, Some(3)));
    owner.reset_session(session.id, SessionReset::default().drop_system_context(true)).unwrap();
    assert_eq!(seen(), [false, false, false]);
    owner.reset_session(session.id, SessionReset::default().system("You test.")).unwrap();
    assert_eq!(prompt(&subject, session.id, ContextOptions::default()), [(Role::System, "You test.".to_owned())]);
    assert_eq!(dispatch(&subject, "SHOP-1").id, session.id, "the item keeps its session");
    let all = loom.snapshot().unwrap().turns(session.id, 1..=99, &WordFilter::default(), 99).unwrap();
    assert_eq!(all.len(), 5);
}

#[test]
fn a_full_window_keeps_the_system_message_and_the_newest_messages() {
    let scene = Scene::new(46);
    let (subject, owner) = actors(&scene);
    let session = dispatch(&subject, "SHOP-1");
    let sizes = [400, 4, 3_000, 5, 6, 2_000, 7, 9, 900, 8];
    for (at, size) in sizes.iter().cycle().take(60).enumerate() {
        let text = format!("message {at}. {}", "order ".repeat(*size));
        owner.send_to(session.id, NodeDraft::text(text)).unwrap();
    }
    for (recent, least) in [(1, 1), (10, 10)] {
        let options = ContextOptions { window: 6_000, recent, ..ContextOptions::default() };
        let messages = prompt(&subject, session.id, options);
        assert_eq!(messages[0], (Role::System, SYSTEM.to_owned()));
        let text: String = messages.iter().map(|(_, text)| text.as_str()).collect();
        let shown = (0..60).filter(|at| text.contains(&format!("message {at}. "))).collect::<Vec<_>>();
        assert!(shown.len() >= least && shown.len() < 60 && shown.ends_with(&[59]), "{recent}: {shown:?}");
        assert!(recent == 1 || shown.contains(&50), "{shown:?}");
        let agent = Arc::new(owner.loom().agent("subject").unwrap());
        let at = owner.loom().session(session.id).unwrap().position.unwrap();
        let made = context_of(&subject.clone().in_session(session.id), &agent, at, &[], options).unwrap();
        assert!(made.report.total <= options.prompt_tokens(), "{} tokens", made.report.total);
    }
}
