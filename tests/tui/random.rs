//! Keys in any order.

use loomtree::provider::ScriptedReply;
use proptest::prelude::*;

use crate::stage::Stage;

/// Keys of every kind, those that leave and those that need the terminal left out.
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
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_keys_break_it(keys in prop::collection::vec(0..ANY.len() + 6, 1..120), sizes in prop::collection::vec((1u16..120, 1u16..40), 1..4)) {
        let mut stage = Stage::with((0..400).map(|n| ScriptedReply::words(&format!("words {n}"))));
        for (at, key) in keys.into_iter().enumerate() {
            if at % 40 == 39 {
                let (width, height) = sizes[(at / 40) % sizes.len()];
                stage.resize(width, height);
            }
            match key.checked_sub(ANY.len()) {
                None => drop(stage.press(ANY[key])),
                Some(other) => stage.any(other, at),
            }
            stage.screen();
        }
        // Whatever was done to it, the store is sound.
        let report = stage.play.loom.store().verify(&mut |_| {}).unwrap();
        prop_assert_eq!(report.problems, Vec::<String>::new());
    }
}
