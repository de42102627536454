//! Random input.

use loomtree::provider::ScriptedReply;
use proptest::prelude::*;

use crate::harness::Harness;

/// Keys of every kind, except those that quit or need a terminal.
const ANY: [&str; 60] = [
    "left",
    "right",
    "up",
    "down",
    "h",
    "j",
    "k",
    "l",
    "J",
    "K",
    "home",
    "end",
    "0",
    "$",
    "backspace",
    "pageup",
    "pagedown",
    "z",
    "Z",
    "i",
    "tab",
    "space",
    "enter",
    "r",
    "n",
    "m",
    "e",
    "a",
    "b",
    "B",
    "'",
    "x",
    "M",
    "S",
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
    "d",
    "c",
    "t",
    "s",
    "D",
    ":",
    "v",
    "w",
    "?",
    "esc",
    "ctrl-s",
    "delete",
    "2",
    "ctrl-j",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::support::rounds::of("PROPTEST_CASES", 8, 24), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_input_breaks_nothing(keys in prop::collection::vec(0..ANY.len() + 6, 1..120), sizes in prop::collection::vec((1u16..120, 1u16..40), 1..4)) {
        let mut harness = Harness::with_replies((0..400).map(|n| ScriptedReply::words(&format!("words {n}"))));
        for (at, key) in keys.into_iter().enumerate() {
            if at % 40 == 39 {
                let (width, height) = sizes[(at / 40) % sizes.len()];
                harness.resize(width, height);
            }
            match key.checked_sub(ANY.len()) {
                None => drop(harness.press(ANY[key])),
                Some(other) => harness.random_input(other, at),
            }
            harness.screen();
        }
        // The store is consistent afterwards.
        let report = harness.play.loom.store().verify(&mut |_| {}).unwrap();
        prop_assert_eq!(report.problems, Vec::<String>::new());
    }
}
