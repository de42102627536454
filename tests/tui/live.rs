//! What others write while one looks, and who they are.

use std::time::Duration;

use loomtree::{ops::NodeDraft, types::Parent};

use crate::stage::Stage;

#[test]
fn what_another_process_writes_shows_and_the_cursor_stays() {
    let mut stage = Stage::new();
    let at = stage.at();
    // Another handle on the same file: another process, as far as the store can tell.
    let other = stage.play.scene.owner();
    other.append(Parent::Node(stage.play.nine), NodeDraft::text("From elsewhere.")).unwrap();
    stage.wait("From elsewhere.");
    assert_eq!(stage.at(), at);
}

#[test]
fn what_is_being_written_and_chosen_is_left_alone_by_others() {
    let mut stage = Stage::new();
    let other = stage.play.scene.owner();
    stage.press("i").types("Half a sen");
    other.append(Parent::Node(stage.play.nine), NodeDraft::text("From elsewhere.")).unwrap();
    stage.wait("From elsewhere.").shows("› Half a sen").types("tence.").press("enter");
    stage.shows("Half a sentence.").shows("· depth 2");
}

#[test]
fn others_are_shown_where_they_are_and_vanish_by_time_alone() {
    let mut stage = Stage::new();
    stage.until("at rest", |_| true);
    assert_eq!(stage.app.next_wake(), None, "with nobody there, nothing is waited for");
    stage.play.session("collaborator", stage.play.nine);
    stage.wait("● collaborator").shows("◂collaborator");
    // A second before they count as gone, something makes the screen look.
    stage.play.later(119);
    stage.play.owner.append(Parent::Node(stage.play.tired), NodeDraft::text("Later.")).unwrap();
    stage.wait("Later.").shows("● collaborator");
    // Nothing is written and no key is pressed any more: only the clock goes on.
    stage.play.later(2);
    stage.until("gone", |screen| !screen.contains("● collaborator"));
    stage.lacks("◂collaborator");
    assert_eq!(stage.app.next_wake(), None);
}

#[test]
fn who_generates_is_shown_and_vanishes_when_the_lease_has_run_out() {
    let mut stage = Stage::new();
    let other = stage.play.loom.agent("subject").unwrap();
    let holder = stage.play.loom.actor(&other);
    holder.lease(stage.play.tired, other.id(), Duration::from_secs(1)).wait().unwrap();
    // The lease is no entry of the journal, and nothing else is written.
    stage.wait("● subject writes").shows("◂subject");
    stage.play.later(2);
    stage.until("gone", |screen| !screen.contains("subject writes"));
    // One that is let go of is gone at once.
    holder.lease(stage.play.tired, other.id(), Duration::from_secs(60)).wait().unwrap();
    stage.wait("● subject writes");
    holder.release(stage.play.tired, other.id()).wait().unwrap();
    stage.until("gone", |screen| !screen.contains("subject writes"));
}
