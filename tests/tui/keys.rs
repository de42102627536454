//! Each key of the table has a scenario: where it is pressed, and its effect on screen and store.
//!
//! Keys that need a terminal (editor, redraw, suspend) are tested in `tests/tui_terminal.rs`.

use loomtree::{
    id::NodeId,
    provider::ScriptedReply,
    store::ChildFilter,
    tui::KEYS,
    types::{AuthorType, EdgeKind, Node, PinTarget},
};

use crate::harness::Harness;

/// Setup of a key and the check of its effect, which gets the screen from before.
struct Scenario {
    name: &'static str,
    setup: fn() -> Harness,
    check: fn(&mut Harness, &str),
}

const fn scenario(name: &'static str, setup: fn() -> Harness, check: fn(&mut Harness, &str)) -> Scenario {
    Scenario { name, setup, check }
}

/// Keys that need a terminal, tested there.
const TERMINAL_KEYS: [&str; 3] = ["edit_outside", "redraw", "suspend"];

/// Screen at the branch point after some keys, with three replies.
fn after(keys: &str) -> Harness {
    let mut harness = Harness::with_replies((0..3).map(|n| ScriptedReply::words(&format!("Reply {n}."))));
    harness.keys(keys);
    harness
}

/// The same on a screen of eight rows.
fn short_screen(keys: &str) -> Harness {
    let mut harness = after("");
    harness.resize(100, 8).keys(keys);
    harness
}

/// Buffer tree whose root has two versions.
fn two_versions(keys: &str) -> Harness {
    let mut harness = Harness::buffer_tree();
    harness.press("e").press("ctrl-home").type_text("So: ").press("ctrl-s").press("esc").keys(keys);
    harness
}

/// Asserts the cursor's node.
#[track_caller]
fn assert_cursor(harness: &mut Harness, node: impl Fn(&Harness) -> NodeId) {
    let expected = harness.play.id(node(harness));
    assert_eq!(harness.cursor(), expected, "\n{}", harness.screen());
}

fn node(harness: &Harness, id: NodeId) -> Node {
    harness.play.loom.node(id).unwrap()
}

/// Visible continuations of a node.
fn below(harness: &Harness, id: NodeId) -> Vec<Node> {
    let filter = ChildFilter::default().kind(EdgeKind::Continuation).pruned(false).limit(0);
    harness.play.loom.snapshot().unwrap().children(id, &filter).unwrap()
}

fn pinned(harness: &Harness) -> bool {
    let owner = harness.play.loom.agent("owner").unwrap().id();
    let pins = harness.play.loom.snapshot().unwrap().memory(owner, harness.play.tree).unwrap().pins;
    pins.iter().any(|pin| pin.target == PinTarget::Node(harness.play.marie))
}

const SCENARIOS: &[Scenario] = &[
    scenario("parent", || after(""), |harness, _| assert_cursor(harness, |harness| harness.play.root)),
    // The continuation visited last, not the first.
    scenario("child", || after("l j h"), |harness, _| assert_cursor(harness, |harness| harness.play.tired)),
    scenario(
        "next",
        || after("l"),
        |harness, _| {
            assert_cursor(harness, |harness| harness.play.tired);
            harness.shows("branch 2/2").press("j");
            assert_cursor(harness, |harness| harness.play.trauma);
        },
    ),
    scenario(
        "previous",
        || after("l"),
        |harness, _| {
            assert_cursor(harness, |harness| harness.play.tired);
            harness.press("k");
            assert_cursor(harness, |harness| harness.play.trauma);
        },
    ),
    scenario("line_down", || after("l l l"), |harness, _| assert_cursor(harness, |harness| harness.play.tired)),
    scenario("line_up", || after("l j"), |harness, _| assert_cursor(harness, |harness| harness.play.nine)),
    scenario("root", || after("l l l"), |harness, _| assert_cursor(harness, |harness| harness.play.root)),
    scenario("end", || after("h"), |harness, _| assert_cursor(harness, |harness| harness.play.nine)),
    scenario("back", || after("end"), |harness, _| assert_cursor(harness, |harness| harness.play.marie)),
    scenario(
        "page_down",
        || short_screen("end pageup"),
        |harness, before| {
            assert!(!before.contains("The lighthouse was dark."), "{before}");
            harness.shows("The lighthouse was dark.");
            assert_cursor(harness, |harness| harness.play.nine);
        },
    ),
    scenario(
        "page_up",
        || short_screen("end"),
        |harness, before| {
            assert!(before.contains("The lighthouse was dark."), "{before}");
            harness.lacks("The lighthouse was dark.").shows("Go on.");
            assert_cursor(harness, |harness| harness.play.nine);
        },
    ),
    scenario(
        "fold",
        || after("l"),
        |harness, before| {
            assert!(before.contains("○ Go on."), "{before}");
            harness.lacks("○ Go on.").shows(" ▸ ").press("z").shows("○ Go on.");
        },
    ),
    scenario(
        "hoist",
        || after("l"),
        |harness, before| {
            assert!(before.contains("Another reading"), "{before}");
            harness.shows("· hoisted").lacks("Another reading").lacks("Who is Marie?  ").press("Z");
            harness.shows("Another reading").lacks("hoisted");
        },
    ),
    scenario(
        "say",
        || after("l j"),
        |harness, _| {
            harness.shows("a message, or → and a command").type_text("My own words.").press("enter");
            let said = below(harness, harness.play.tired);
            assert_eq!((said[0].content.as_str(), said[0].author_type), ("My own words.", AuthorType::Human));
            assert_cursor(harness, |harness| below(harness, harness.play.tired)[0].id);
        },
    ),
    scenario(
        "generate",
        || after("l j"),
        |harness, _| {
            harness.shows("takes it").shows("Reply 0.").shows("Reply 1.").shows("Reply 2.");
            let made = below(harness, harness.play.tired);
            assert_eq!(made.len(), 3);
            assert!(made.iter().all(|node| node.author_type == AuthorType::Model));
        },
    ),
    scenario(
        "answer",
        || after("l l"),
        |harness, _| {
            let answers = below(harness, harness.play.go_on);
            let collaborator = harness.play.loom.agent("collaborator").unwrap().id();
            let answer = answers.iter().find(|node| node.content.starts_with("Reply")).unwrap();
            assert_eq!(answer.author, collaborator);
            let at = answer.id;
            assert_cursor(harness, |_| at);
        },
    ),
    scenario(
        "count",
        || after(""),
        |harness, before| {
            assert!(before.contains("×3"), "{before}");
            harness.shows("how many continuations, 1 to 9").type_text("2").press("enter").shows("×2");
            harness.press("space");
            assert_eq!(below(harness, harness.play.marie).len(), 2 + 2);
        },
    ),
    scenario(
        "models",
        || after(""),
        |harness, _| {
            harness.shows("─ models: ").shows("test:scripted").type_text("slow").press("enter").press("esc");
            harness.shows("slow ×3");
        },
    ),
    scenario(
        "edit",
        || after("l j"),
        |harness, _| {
            harness.shows("editing · ctrl-s saves").type_text(" Or not.").press("ctrl-s").shows("branch 3/3");
            assert_eq!(node(harness, harness.play.tired).content, "Another reading: she is only tired.");
            let branches = below(harness, harness.play.marie);
            let edited = branches.last().unwrap();
            assert_eq!(edited.content, "Another reading: she is only tired. Or not.");
            assert_eq!(edited.edited_from, Some(harness.play.tired));
        },
    ),
    scenario(
        "annotate",
        || after(""),
        |harness, _| {
            harness.shows("a note on this node").type_text("Ask him.").press("enter").shows("✎ Ask him.");
            assert_eq!(node(harness, harness.play.marie).state.annotations, 1);
        },
    ),
    scenario(
        "bookmark",
        || after(""),
        |harness, _| {
            harness.shows("a label for the bookmark").type_text("the turn").press("enter").shows("★ the turn");
            assert_eq!(node(harness, harness.play.marie).state.bookmark.as_deref(), Some("the turn"));
            harness.press("b").lacks("★");
            assert_eq!(node(harness, harness.play.marie).state.bookmark, None);
        },
    ),
    scenario(
        "next_bookmark",
        || after("b enter l l b enter h h h"),
        |harness, _| {
            assert_cursor(harness, |harness| harness.play.marie);
            harness.press("B");
            assert_cursor(harness, |harness| harness.play.go_on);
            harness.press("B");
            assert_cursor(harness, |harness| harness.play.marie);
        },
    ),
    scenario(
        "bookmarks",
        || {
            let mut harness = after("l b");
            harness.type_text("the turn").keys("enter h h");
            harness
        },
        |harness, _| {
            harness.shows("─ bookmarks ─").shows("the turn").press("enter");
            assert_cursor(harness, |harness| harness.play.trauma);
        },
    ),
    scenario(
        "mark",
        || after(""),
        |harness, _| {
            harness.shows(" ✓").shows("one is marked").press("x").lacks(" ✓");
        },
    ),
    scenario(
        "merge",
        || after("l x j"),
        |harness, _| {
            harness.shows("⋈ Building on the trauma angle").type_text(" Both.").press("ctrl-s").shows("merged");
            let at = harness.cursor();
            let found = harness.play.loom.find_node(harness.play.tree, &at).unwrap();
            assert!(found.content.ends_with("she is only tired. Both."), "{}", found.content);
            assert_eq!(found.state.links, 2);
        },
    ),
    scenario(
        "split",
        || after("l j"),
        |harness, _| {
            harness.shows("splitting · arrows move").keys("right right right right right right right enter");
            harness.shows("split in two").shows("collaborator");
            let wordings = harness.play.loom.snapshot().unwrap().versions(harness.play.tired).unwrap();
            let words: Vec<&str> = wordings.iter().map(|node| node.content.as_str()).collect();
            assert!(words.contains(&" reading: she is only tired."), "{words:?}");
            assert_eq!(node(harness, harness.play.tired).content, "Another reading: she is only tired.");
        },
    ),
    scenario(
        "copy_here",
        || after("l x h h"),
        |harness, _| {
            harness.shows("copied").shows("9 nodes");
            let words: Vec<String> = below(harness, harness.play.root).into_iter().map(|node| node.content).collect();
            assert_eq!(words[1], "Building on the trauma angle, she avoids the sea.");
            assert_eq!(below(harness, harness.play.marie).len(), 2, "the original stays");
        },
    ),
    scenario(
        "move_here",
        || after("l j x k"),
        |harness, _| {
            harness.shows("moved").shows("6 nodes");
            let words: Vec<String> = below(harness, harness.play.trauma).into_iter().map(|node| node.content).collect();
            assert_eq!(words, ["Go on.", "Another reading: she is only tired."]);
            assert_eq!(below(harness, harness.play.marie).len(), 1, "it is no longer where it was");
        },
    ),
    scenario(
        "prune",
        || after("l"),
        |harness, _| {
            harness.shows("Prune this node and 2 below it? u undoes it.").press("y");
            harness.shows("pruned · u undoes it").shows("3 nodes");
            assert!(node(harness, harness.play.nine).state.hidden_by.is_some());
            assert_cursor(harness, |harness| harness.play.tired);
        },
    ),
    scenario(
        "restore",
        || after("l p y"),
        |harness, _| {
            harness.shows("─ pruned branches ─").shows("Building on the trauma angle").press("enter");
            assert!(node(harness, harness.play.nine).state.hidden_by.is_none());
            assert_cursor(harness, |harness| harness.play.trauma);
        },
    ),
    scenario(
        "undo",
        || after("l p y"),
        |harness, _| {
            let local = harness.play.id(harness.play.trauma);
            harness.shows(&format!("undone: pruned {local}")).shows("6 nodes");
            assert!(node(harness, harness.play.trauma).state.hidden_by.is_none());
        },
    ),
    scenario(
        "redo",
        || after("l p y u"),
        |harness, _| {
            let local = harness.play.id(harness.play.trauma);
            harness.shows(&format!("redone: pruned {local}")).shows("3 nodes");
            assert!(node(harness, harness.play.trauma).state.hidden_by.is_some());
        },
    ),
    scenario(
        "pin",
        || after(""),
        |harness, _| {
            harness.shows(" ⌖").shows("pinned");
            assert!(pinned(harness));
            harness.press("P").lacks("⌖");
            assert!(!pinned(harness));
        },
    ),
    scenario(
        "exclude",
        || after(""),
        |harness, _| {
            harness.shows(" ∅").shows("excluded from what models read");
            assert!(node(harness, harness.play.marie).state.excluded);
            harness.press("X").lacks("∅");
            assert!(!node(harness, harness.play.marie).state.excluded);
        },
    ),
    scenario(
        "version",
        || two_versions("0 <"),
        |harness, before| {
            assert!(!before.contains("So: Who is Marie?"), "{before}");
            harness.shows("So: Who is Marie?");
        },
    ),
    scenario(
        "version_back",
        || two_versions("0"),
        |harness, before| {
            assert!(before.contains("So: Who is Marie?"), "{before}");
            harness.lacks("So: Who is Marie?").shows("Who is Marie?");
            assert_cursor(harness, |harness| harness.play.root);
        },
    ),
    scenario(
        "search",
        || after(""),
        |harness, _| {
            harness.shows("─ search this tree · tab: elsewhere ─").type_text("tir").shows("only tired").press("enter");
            assert_cursor(harness, |harness| harness.play.tired);
        },
    ),
    scenario(
        "diff",
        || after("l x j"),
        |harness, _| {
            let parted = harness.play.id(harness.play.marie);
            harness.shows("─ two branches ─").shows(&format!("they part after {parted}"));
            // Dissimilar nodes are shown in full.
            harness.shows("- collaborator").shows(" Building on the trauma angle, she avoids the sea.");
            harness.shows("+ collaborator").shows(" Another reading: she is only tired.");
        },
    ),
    scenario(
        "context",
        || after(""),
        |harness, _| {
            harness.shows("the conversation").shows("in all,").shows("Who is Marie?").shows(" USD");
        },
    ),
    scenario(
        "trees",
        || {
            let mut harness = after(":");
            harness.type_text("new Another beginning").press("enter");
            harness
        },
        |harness, _| {
            harness.shows("─ trees ─").shows("▸ Another beginning").shows("Marie Character Study").press("down");
            harness.press("enter").shows("Marie Character Study  6 nodes");
            // Without a session there: the end of the conversation.
            assert_cursor(harness, |harness| harness.play.tired);
        },
    ),
    scenario(
        "sessions",
        || {
            let mut harness = after("l j i");
            harness.type_text("Said before.").keys("enter 0");
            harness
        },
        |harness, _| {
            harness.shows("─ sessions ─").shows("▸ owner").shows("Said before.").press("enter");
            harness.shows("back at the last position");
        },
    ),
    scenario(
        "documents",
        || {
            let harness = after("");
            harness.play.owner.create_document("notes", "The sea is cold.").unwrap();
            harness
        },
        |harness, _| {
            harness.shows("─ documents ─").shows("notes").shows("version 1").press("enter");
            harness.shows("notes · version 1").shows("The sea is cold.");
        },
    ),
    scenario(
        "command",
        || after(""),
        |harness, _| {
            harness.shows("an unknown word lists all").type_text("title Marie, again").press("enter");
            harness.shows("Marie, again  6 nodes");
        },
    ),
    scenario(
        "reading",
        || after(""),
        |harness, before| {
            assert!(before.contains("  owner  "), "{before}");
            harness.lacks("  owner  ").shows("Who is Marie?").press("v").shows("  owner  ");
        },
    ),
    scenario(
        "layout",
        || after(""),
        |harness, before| {
            assert!(before.contains("├─") && before.contains("│ ▸ collaborator"), "{before}");
            harness.lacks("├─").shows("▸ collaborator").press("w");
            harness.shows("├─").lacks("▸ collaborator").press("w").shows("├─").shows("│ ▸ collaborator");
        },
    ),
    scenario(
        "help",
        || after(""),
        |harness, _| {
            harness.shows("─ keys ─");
            let mut all = String::new();
            for _ in 0..12 {
                all.push_str(&harness.screen());
                harness.press("pagedown");
            }
            for binding in KEYS {
                assert!(all.contains(binding.help), "{} is not in the help", binding.name);
            }
        },
    ),
    scenario(
        "cancel",
        || after("l Z"),
        |harness, before| {
            // Esc closes a notice first, then the hoist.
            assert!(before.contains("· hoisted"), "{before}");
            harness.lacks("this branch alone").press("esc").lacks("hoisted").shows("Another reading");
        },
    ),
    scenario("quit", || after(""), |harness, _| assert!(harness.app.has_ended())),
];

#[test]
fn every_key_of_the_table_has_a_scene() {
    for binding in KEYS {
        let scenarios = SCENARIOS.iter().map(|scenario| scenario.name).chain(TERMINAL_KEYS);
        assert_eq!(scenarios.filter(|name| *name == binding.name).count(), 1, "scenarios of {}", binding.name);
    }
    assert_eq!(SCENARIOS.len() + TERMINAL_KEYS.len(), KEYS.len(), "a scenario of no key");
}

#[test]
fn every_key_has_its_effect() {
    for scenario in SCENARIOS {
        let binding = KEYS.iter().find(|binding| binding.name == scenario.name).unwrap();
        for key in binding.keys {
            let mut harness = (scenario.setup)();
            let before = format!("{}\n", harness.screen());
            harness.press(key);
            assert_ne!(
                format!("{}\n", harness.screen()),
                if scenario.name == "quit" { "" } else { &before },
                "{key} does nothing"
            );
            println!("{} by {key}", scenario.name);
            (scenario.check)(&mut harness, &before);
        }
    }
}

/// The reference lists the keys of the table; `UPDATE_DOCS=1` writes them.
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
