//! Every key of the table has a scene: what is pressed before, what the key comes to.

use loomtree::tui::KEYS;

use crate::stage::Stage;

/// An action, the keys pressed before, and what is on the screen after, which was not there before.
const SCENES: &[(&str, &str, &str)] = &[
    ("parent", "", "· depth 0"),
    ("child", "", "· depth 2"),
    ("next", "l", "branch 2/2"),
    ("previous", "l", "branch 2/2"),
    ("line_down", "", "· depth 2"),
    ("line_up", "", "· depth 0"),
    ("root", "l l l", "· depth 0"),
    ("end", "", "· depth 4"),
    ("back", "l l", "· depth 2"),
    ("page_down", "end pageup pageup pageup", "▸ collaborator"),
    ("page_up", "", ""),
    ("fold", "", "▸\n"),
    ("hoist", "", "· hoisted"),
    ("say", "", "the next words, or → and a command"),
    ("generate", "", "takes it"),
    ("answer", "", "depth 2"),
    ("count", "", "how many continuations, 1 to 9"),
    ("models", "", "test:scripted"),
    ("edit", "", "editing · ctrl-s saves"),
    ("edit_outside", "", ""),
    ("annotate", "", "a note on this node"),
    ("bookmark", "", "a label for the bookmark"),
    ("next_bookmark", "b enter l", "depth 1"),
    ("bookmarks", "b enter esc", "─ bookmarks ─"),
    ("mark", "", "✓"),
    ("merge", "x l", "the words that draw them together"),
    ("split", "", "splitting · arrows move"),
    ("copy_here", "l x h", "6 nodes"),
    ("move_here", "l j x k", ""),
    ("prune", "", "Prune this node and 4 below it?"),
    ("restore", "l p y esc", "─ pruned branches ─"),
    ("undo", "l p y esc", "undid the pruning"),
    ("redo", "l p y esc u esc", "did again: the pruning"),
    ("pin", "", "⌖"),
    ("exclude", "", "∅"),
    ("version", "h e end x ctrl-s <", ""),
    ("version_back", "h e end x ctrl-s", ""),
    ("search", "", "─ search this tree · tab: elsewhere ─"),
    ("diff", "l x j", "─ two branches ─"),
    ("context", "", "in all,"),
    ("trees", "", "─ trees ─"),
    ("sessions", "b enter esc", "─ sessions ─"),
    ("documents", "", "─ documents ─"),
    ("command", "", "an unknown word lists all"),
    ("reading", "", ""),
    ("layout", "", ""),
    ("help", "", "─ keys ─"),
    ("cancel", "Z esc", ""),
    ("redraw", "", ""),
    ("suspend", "", ""),
    ("quit", "", ""),
];

#[test]
fn every_key_of_the_table_has_a_scene() {
    for binding in KEYS {
        assert!(SCENES.iter().any(|(name, ..)| *name == binding.name), "{} has no scene", binding.name);
    }
    for (name, ..) in SCENES {
        assert!(KEYS.iter().any(|binding| binding.name == *name), "{name} is in no table");
    }
}

#[test]
fn every_key_does_what_its_scene_says() {
    for binding in KEYS {
        let (_, before, expected) = SCENES.iter().find(|(name, ..)| *name == binding.name).unwrap();
        for key in binding.keys {
            let mut stage = Stage::with((0..3).map(|n| loomtree::provider::Reply::words(&format!("Reply {n}."))));
            stage.keys(before);
            let screen = stage.screen();
            stage.press(key);
            let after = stage.screen();
            if expected.is_empty() {
                continue;
            }
            assert!(!screen.contains(expected), "{} ({key}): {expected:?} was there before:\n{screen}", binding.name);
            let lines = format!("{after}\n");
            assert!(lines.contains(expected), "{} ({key}): {expected:?} is not there:\n{after}", binding.name);
        }
    }
}
