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
    ("page_down", "", ""),
    ("page_up", "", ""),
    ("fold", "", " ▸ │"),
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
    ("copy_here", "l x h", "9 nodes"),
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
    let mut wrong = Vec::new();
    for binding in KEYS {
        let (_, before, expected) = SCENES.iter().find(|(name, ..)| *name == binding.name).unwrap();
        for key in binding.keys {
            let mut stage = Stage::with((0..3).map(|n| loomtree::provider::Reply::words(&format!("Reply {n}."))));
            stage.keys(before);
            let screen = format!("{}\n", stage.screen());
            stage.press(key);
            let after = format!("{}\n", stage.screen());
            if !expected.is_empty() && (screen.contains(expected) || !after.contains(expected)) {
                wrong.push(format!("{} ({key}): {expected:?}; before:\n{screen}after:\n{after}", binding.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The table of keys in the reference is made of the table that binds them: `UPDATE_DOCS=1` writes it.
#[test]
fn the_reference_lists_every_key() {
    let (begin, end) = ("<!-- keys -->\n", "<!-- end of keys -->");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let mut table = String::from("\n| keys | name | what it does |\n| --- | --- | --- |\n");
    for binding in KEYS {
        let keys: Vec<String> = binding.keys.iter().map(|key| format!("`{key}`")).collect();
        table.push_str(&format!("| {} | `{}` | {} |\n", keys.join(" "), binding.name, binding.help));
    }
    let made = format!("{before}{begin}{table}\n{end}{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, made).unwrap();
    } else {
        assert!(made == text, "the table of keys in docs/reference.md is not that of the program: UPDATE_DOCS=1");
    }
}
