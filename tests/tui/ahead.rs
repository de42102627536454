//! Keys that are typed before the screen has followed: they come to the same as those of somebody who watches each.

use crossterm::event::KeyCode;
use loomtree::{
    id::NodeId,
    tui::{KeyMap, ScreenMessage},
    types::NodeState,
};
use proptest::prelude::*;

use crate::{
    play::Play,
    stage::{Stage, event},
};

/// Keys in one go.
fn burst(stage: &mut Stage, keys: &[&str]) {
    for key in keys {
        match key.strip_prefix('"') {
            Some(text) => drop(stage.sends(text)),
            None => drop(stage.send(key)),
        }
    }
    stage.settle();
}

#[test]
fn an_answer_is_for_the_question_that_is_not_on_the_screen_yet() {
    let mut stage = Stage::new();
    burst(&mut stage, &["l", "p", "y", "p"]);
    stage.shows("2 nodes").lacks("Prune");
    assert!(stage.play.loom.node(stage.play.trauma).unwrap().state.pruned_by.is_some());
    // The second one was for the node that came into its place, which has nothing below it.
    assert!(stage.play.loom.node(stage.play.tired).unwrap().state.pruned_by.is_some());
}

#[test]
fn what_is_said_at_once_hangs_together() {
    let mut stage = Stage::new();
    burst(&mut stage, &["l", "end", "i", "\"One.", "enter", "i", "\"Two.", "enter", "b", "\"end of it", "enter", "h"]);
    let nodes = stage.play.loom.snapshot().unwrap().nodes_after(stage.play.tree, 0, 0).unwrap();
    let of = |words: &str| nodes.iter().find(|node| node.content == words).unwrap();
    assert_eq!(of("One.").parent, Some(stage.play.nine));
    assert_eq!(of("Two.").parent, Some(of("One.").id));
    assert_eq!(of("Two.").state.bookmark.as_deref(), Some("end of it"));
    assert_eq!(stage.at(), of("One.").local.as_str());
}

#[test]
fn a_list_is_chosen_from_when_it_is_there() {
    let mut stage = Stage::new();
    burst(&mut stage, &["/", "\"tired", "enter", "b", "\"found", "enter"]);
    assert_eq!(stage.play.loom.node(stage.play.tired).unwrap().state.bookmark.as_deref(), Some("found"));
    burst(&mut stage, &["'", "enter", "h", "'", "enter", "P"]);
    let owner = stage.play.owner.agent();
    let pins = stage.play.loom.snapshot().unwrap().memory(owner, stage.play.tree).unwrap().pins;
    assert_eq!(pins.len(), 1);
    // Each is about what the one before it came to.
    burst(&mut stage, &["X", "X", "X", "P", "P", "P"]);
    assert!(stage.play.loom.node(stage.play.tired).unwrap().state.excluded);
    let pins = stage.play.loom.snapshot().unwrap().memory(owner, stage.play.tree).unwrap().pins;
    assert_eq!(pins.len(), 0);
}

#[test]
fn a_paste_waits_for_its_place_too() {
    let mut stage = Stage::new();
    stage.keys("l j").send("e");
    stage.app.send(ScreenMessage::Paste(" Pasted.".to_owned()));
    burst(&mut stage, &["ctrl-s"]);
    let at = stage.at();
    let node = stage.play.loom.find_node(stage.play.tree, &at).unwrap();
    assert_eq!(node.content, "Another reading: she is only tired. Pasted.");
}

#[test]
fn an_interrupt_does_not_wait() {
    let mut stage = Stage::new();
    burst(&mut stage, &["l", "p", "y", "y", "ctrl-c"]);
    assert!(stage.app.has_ended());
    assert!(stage.play.loom.node(stage.play.trauma).unwrap().state.pruned_by.is_none());
}

/// Keys that go about, change something, open and close; none that waits for a model.
const KEYS: [&str; 46] = [
    "h",
    "j",
    "k",
    "l",
    "h",
    "j",
    "k",
    "l",
    "J",
    "K",
    "home",
    "end",
    "backspace",
    "z",
    "Z",
    "i",
    "\"some time",
    "enter",
    "e",
    "ctrl-s",
    "a",
    "b",
    "B",
    "'",
    "x",
    "M",
    "S",
    "right",
    "Y",
    "V",
    "p",
    "y",
    "R",
    "u",
    "U",
    "P",
    "X",
    ">",
    "<",
    "/",
    "\"she",
    "c",
    "t",
    "esc",
    "v",
    "d",
];

/// The study, where no key has a model write.
fn alone() -> Stage {
    let keys = KeyMap::read("generate: []\nanswer: []\n").unwrap();
    Stage::changed(Play::new(), |play| play.marie, (80, 24), [], |setup| setup.keys = keys)
}

/// What there is, and where one stands in it.
fn state(stage: &mut Stage) -> (Vec<(String, Option<NodeId>, NodeState)>, String) {
    let nodes = stage.play.loom.snapshot().unwrap().nodes_after(stage.play.tree, 0, 0).unwrap();
    (nodes.into_iter().map(|node| (node.content, node.parent, node.state)).collect(), stage.at())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fast_hands_come_to_the_same_as_slow_ones(keys in prop::collection::vec(0..KEYS.len(), 1..60)) {
        let (mut slow, mut fast) = (alone(), alone());
        for key in &keys {
            match KEYS[*key].strip_prefix('"') {
                // Where nothing is written, these are keys.
                Some(text) => drop(slow.types_slowly(text)),
                None => drop(slow.press(KEYS[*key])),
            }
        }
        for key in &keys {
            match KEYS[*key].strip_prefix('"') {
                Some(text) => text.chars().for_each(|c| fast.app.send(ScreenMessage::Key(KeyCode::Char(c).into()))),
                None => fast.app.send(ScreenMessage::Key(event(KEYS[*key]))),
            }
        }
        fast.settle();
        prop_assert_eq!(state(&mut slow), state(&mut fast));
        // And one can go back the same way.
        for keys in ["esc esc esc", "backspace backspace backspace", "l l l"] {
            slow.keys(keys);
            fast.keys(keys);
            prop_assert_eq!(slow.at(), fast.at());
        }
    }
}

/// What random keys found, made small.
#[test]
fn an_answer_to_what_was_closed_is_no_answer_to_what_is_open() {
    let mut stage = alone();
    burst(&mut stage, &["t", "esc", "/", "\"tired", "enter", "X"]);
    assert!(stage.play.loom.node(stage.play.tired).unwrap().state.excluded);
}

#[test]
fn a_branch_shown_alone_that_is_pruned_is_left() {
    let mut stage = alone();
    stage.keys("Z p y").lacks("hoisted").press("home");
    assert_eq!(stage.at(), stage.play.id(stage.play.root));
    let mut stage = alone();
    burst(&mut stage, &["Z", "p", "y", "home", "a", "\"here", "enter"]);
    assert_eq!(stage.play.loom.node(stage.play.root).unwrap().state.annotations, 1);
}
