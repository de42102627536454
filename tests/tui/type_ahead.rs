//! Input typed before the screen has updated has the same effect as slow typing.

use crossterm::event::KeyCode;
use loomtree::{
    id::NodeId,
    tui::{KeyMap, ScreenMessage},
    types::NodeState,
};
use proptest::prelude::*;

use crate::{
    harness::{Harness, event},
    play::Play,
};

/// Sends keys without waiting between them.
fn burst(harness: &mut Harness, keys: &[&str]) {
    for key in keys {
        match key.strip_prefix('"') {
            Some(text) => drop(harness.type_queued(text)),
            None => drop(harness.send(key)),
        }
    }
    harness.settle();
}

#[test]
fn an_early_answer_waits_for_its_dialog() {
    let mut harness = Harness::new();
    burst(&mut harness, &["l", "p", "y", "p"]);
    harness.shows("2 nodes").lacks("Prune");
    assert!(harness.play.loom.node(harness.play.trauma).unwrap().state.hidden_by.is_some());
    // The second prune applies to the node selected after the first; it has no descendants.
    assert!(harness.play.loom.node(harness.play.tired).unwrap().state.hidden_by.is_some());
}

#[test]
fn queued_messages_form_a_chain() {
    let mut harness = Harness::new();
    burst(
        &mut harness,
        &["l", "end", "i", "\"One.", "enter", "i", "\"Two.", "enter", "b", "\"end of it", "enter", "h"],
    );
    let nodes = harness.play.loom.snapshot().unwrap().nodes_after(harness.play.tree, 0, 0).unwrap();
    let of = |words: &str| nodes.iter().find(|node| node.content == words).unwrap();
    assert_eq!(of("One.").parent, Some(harness.play.nine));
    assert_eq!(of("Two.").parent, Some(of("One.").id));
    assert_eq!(of("Two.").state.bookmark.as_deref(), Some("end of it"));
    assert_eq!(harness.cursor(), of("One.").local.as_str());
}

#[test]
fn choosing_waits_for_the_list() {
    let mut harness = Harness::new();
    burst(&mut harness, &["/", "\"tired", "enter", "b", "\"found", "enter"]);
    assert_eq!(harness.play.loom.node(harness.play.tired).unwrap().state.bookmark.as_deref(), Some("found"));
    burst(&mut harness, &["'", "enter", "h", "'", "enter", "P"]);
    let owner = harness.play.owner.agent();
    let pins = harness.play.loom.snapshot().unwrap().memory(owner, harness.play.tree).unwrap().pins;
    assert_eq!(pins.len(), 1);
    // Each key applies to the result of the one before.
    burst(&mut harness, &["X", "X", "X", "P", "P", "P"]);
    assert!(harness.play.loom.node(harness.play.tired).unwrap().state.excluded);
    let pins = harness.play.loom.snapshot().unwrap().memory(owner, harness.play.tree).unwrap().pins;
    assert_eq!(pins.len(), 0);
}

#[test]
fn a_paste_waits_for_its_input() {
    let mut harness = Harness::new();
    harness.keys("l j").send("e");
    harness.app.send(ScreenMessage::Paste(" Pasted.".to_owned()));
    burst(&mut harness, &["ctrl-s"]);
    let at = harness.cursor();
    let node = harness.play.loom.find_node(harness.play.tree, &at).unwrap();
    assert_eq!(node.content, "Another reading: she is only tired. Pasted.");
}

#[test]
fn an_interrupt_is_not_queued() {
    let mut harness = Harness::new();
    burst(&mut harness, &["l", "p", "y", "y", "ctrl-c"]);
    assert!(harness.app.has_ended());
    assert!(harness.play.loom.node(harness.play.trauma).unwrap().state.hidden_by.is_none());
}

/// Keys that navigate, change something, open and close; none starts a model.
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

/// Sample tree where no key starts a model.
fn alone() -> Harness {
    let keys = KeyMap::read("generate: []\nanswer: []\n").unwrap();
    Harness::with_setup(Play::new(), |play| play.marie, (80, 24), [], |setup| setup.keys = keys)
}

/// All nodes and the cursor.
fn state(harness: &mut Harness) -> (Vec<(String, Option<NodeId>, NodeState)>, String) {
    let nodes = harness.play.loom.snapshot().unwrap().nodes_after(harness.play.tree, 0, 0).unwrap();
    (nodes.into_iter().map(|node| (node.content, node.parent, node.state)).collect(), harness.cursor())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::support::rounds::of("PROPTEST_CASES", 8, 32), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fast_and_slow_typing_give_the_same_state(keys in prop::collection::vec(0..KEYS.len(), 1..60)) {
        let (mut slow, mut fast) = (alone(), alone());
        for key in &keys {
            match KEYS[*key].strip_prefix('"') {
                // Without an open input the characters are keys.
                Some(text) => drop(slow.type_slowly(text)),
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
        // The way back is the same too.
        for keys in ["esc esc esc", "backspace backspace backspace", "l l l"] {
            slow.keys(keys);
            fast.keys(keys);
            prop_assert_eq!(slow.cursor(), fast.cursor());
        }
    }
}

/// Minimised case of the property test.
#[test]
fn a_result_for_a_closed_list_is_dropped() {
    let mut harness = alone();
    burst(&mut harness, &["t", "esc", "/", "\"tired", "enter", "X"]);
    assert!(harness.play.loom.node(harness.play.tired).unwrap().state.excluded);
}

#[test]
fn pruning_the_hoisted_branch_leaves_it() {
    let mut harness = alone();
    harness.keys("Z p y").lacks("hoisted").press("home");
    assert_eq!(harness.cursor(), harness.play.id(harness.play.root));
    let mut harness = alone();
    burst(&mut harness, &["Z", "p", "y", "home", "a", "\"here", "enter"]);
    assert_eq!(harness.play.loom.node(harness.play.root).unwrap().state.annotations, 1);
}

/// Minimised case of the property test.
#[test]
fn the_next_bookmark_may_be_one_that_is_being_set() {
    let mut harness = alone();
    let trauma = harness.press("a").press("esc").cursor();
    for key in ["b", "h", "ctrl-s", "J", "B", "Y", "V", "v"] {
        harness.app.send(ScreenMessage::Key(event(key)));
    }
    harness.settle();
    assert_eq!(harness.cursor(), trauma);
}
