//! Changes and presence of other agents.

use std::time::{Duration, Instant};

use loomtree::{ops::NodeDraft, store::SessionFilter, types::Parent};

use crate::{harness::Harness, play::Play};

#[test]
fn changes_of_another_process_appear_and_the_cursor_stays() {
    let mut harness = Harness::new();
    let at = harness.cursor();
    // A second handle on the same file acts as another process.
    let other = harness.play.scene.owner();
    other.append(Parent::Node(harness.play.nine), NodeDraft::text("From elsewhere.")).unwrap();
    harness.wait_for("From elsewhere.");
    assert_eq!(harness.cursor(), at);
}

#[test]
fn changes_of_others_do_not_touch_an_open_input() {
    let mut harness = Harness::new();
    let other = harness.play.scene.owner();
    harness.press("i").type_text("Half a sen");
    other.append(Parent::Node(harness.play.nine), NodeDraft::text("From elsewhere.")).unwrap();
    harness.wait_for("From elsewhere.").shows("› Half a sen").type_text("tence.").press("enter");
    harness.shows("Half a sentence.").shows("· depth 2");
}

#[test]
fn present_agents_are_shown_and_expire() {
    let mut harness = Harness::new();
    harness.wait_until("at rest", |_| true);
    assert_eq!(harness.app.next_wake(), None, "with nobody there, nothing is waited for");
    harness.play.session("collaborator", harness.play.nine);
    harness.wait_for("● collaborator").shows("◂collaborator");
    // One second before expiry, a change triggers a query.
    harness.play.later(119);
    harness.play.owner.append(Parent::Node(harness.play.tired), NodeDraft::text("Later.")).unwrap();
    harness.wait_for("Later.").shows("● collaborator");
    // Afterwards only the clock advances.
    harness.play.later(2);
    harness.wait_until("gone", |screen| !screen.contains("● collaborator"));
    harness.lacks("◂collaborator");
    assert_eq!(harness.app.next_wake(), None);
}

#[test]
fn generating_agents_are_shown_until_the_lease_ends() {
    let mut harness = Harness::new();
    let other = harness.play.loom.agent("subject").unwrap();
    let holder = harness.play.loom.actor(&other);
    holder.lease(harness.play.tired, other.id(), Duration::from_secs(1)).wait().unwrap();
    // A lease is not journaled, and nothing else is written.
    harness.wait_for("● subject writes").shows("◂subject");
    harness.play.later(2);
    harness.wait_until("gone", |screen| !screen.contains("subject writes"));
    // A released lease disappears at once.
    holder.lease(harness.play.tired, other.id(), Duration::from_secs(60)).wait().unwrap();
    harness.wait_for("● subject writes");
    holder.release(harness.play.tired, other.id()).wait().unwrap();
    harness.wait_until("gone", |screen| !screen.contains("subject writes"));
}

#[test]
fn others_see_where_the_user_walks() {
    let play = Play::new();
    let session = play.session("owner", play.marie);
    let at_root = |play: &Play| play.root;
    let mut harness = Harness::with_setup(play, at_root, (80, 24), [], |setup| setup.session = Some(session));
    let place = |harness: &Harness| {
        let filter = SessionFilter::default().tree(harness.play.tree);
        let sessions = harness.play.loom.snapshot().unwrap().sessions(&filter).unwrap();
        sessions.iter().find_map(|session| session.cursor).map(|node| harness.play.id(node))
    };
    for key in ["l", "l"] {
        harness.press(key);
        let cursor = harness.cursor();
        let until = Instant::now() + Duration::from_secs(10);
        while place(&harness).as_deref() != Some(cursor.as_str()) {
            assert!(Instant::now() < until, "{:?} instead of {cursor}", place(&harness));
            harness.app.tick();
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
