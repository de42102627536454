//! Every key of the table has a scene: where it is pressed, and what it comes to, on the screen and in the store.
//!
//! What only the holder of a terminal can do (the editor, drawing anew, suspending) has its scene in
//! `tests/tui_terminal.rs`.

use loomtree::{
    id::NodeId,
    provider::ScriptedReply,
    store::ChildFilter,
    tui::KEYS,
    types::{AuthorType, EdgeKind, Node, PinTarget},
};

use crate::stage::Stage;

/// Where a key is pressed, and what it comes to; the screen from before is given along.
struct Scene {
    name: &'static str,
    set: fn() -> Stage,
    then: fn(&mut Stage, &str),
}

const fn scene(name: &'static str, set: fn() -> Stage, then: fn(&mut Stage, &str)) -> Scene {
    Scene { name, set, then }
}

/// Keys that need a terminal, which their scenes are played in.
const IN_A_TERMINAL: [&str; 3] = ["edit_outside", "redraw", "suspend"];

/// The study where its branches part, after these keys, and a model with something to say.
fn after(keys: &str) -> Stage {
    let mut stage = Stage::with((0..3).map(|n| ScriptedReply::words(&format!("Reply {n}."))));
    stage.keys(keys);
    stage
}

/// The same on a screen with few lines.
fn low(keys: &str) -> Stage {
    let mut stage = after("");
    stage.resize(100, 8).keys(keys);
    stage
}

/// A buffer tree whose first place has a second wording.
fn two_wordings(keys: &str) -> Stage {
    let mut stage = Stage::buffer();
    stage.press("e").press("ctrl-home").types("So: ").press("ctrl-s").press("esc").keys(keys);
    stage
}

/// Where the cursor is.
#[track_caller]
fn stands(stage: &mut Stage, node: impl Fn(&Stage) -> NodeId) {
    let expected = stage.play.id(node(stage));
    assert_eq!(stage.at(), expected, "\n{}", stage.screen());
}

fn node(stage: &Stage, id: NodeId) -> Node {
    stage.play.loom.node(id).unwrap()
}

/// What is visible right below a node.
fn below(stage: &Stage, id: NodeId) -> Vec<Node> {
    let filter = ChildFilter { kind: Some(EdgeKind::Continuation), pruned: false, limit: 0 };
    stage.play.loom.snapshot().unwrap().children(id, &filter).unwrap()
}

fn pinned(stage: &Stage) -> bool {
    let owner = stage.play.loom.agent("owner").unwrap().id();
    let pins = stage.play.loom.snapshot().unwrap().memory(owner, stage.play.tree).unwrap().pins;
    pins.iter().any(|pin| pin.target == PinTarget::Node(stage.play.marie))
}

const SCENES: &[Scene] = &[
    scene("parent", || after(""), |stage, _| stands(stage, |stage| stage.play.root)),
    // The one visited last, not the first.
    scene("child", || after("l j h"), |stage, _| stands(stage, |stage| stage.play.tired)),
    scene(
        "next",
        || after("l"),
        |stage, _| {
            stands(stage, |stage| stage.play.tired);
            stage.shows("branch 2/2").press("j");
            stands(stage, |stage| stage.play.trauma);
        },
    ),
    scene(
        "previous",
        || after("l"),
        |stage, _| {
            stands(stage, |stage| stage.play.tired);
            stage.press("k");
            stands(stage, |stage| stage.play.trauma);
        },
    ),
    scene("line_down", || after("l l l"), |stage, _| stands(stage, |stage| stage.play.tired)),
    scene("line_up", || after("l j"), |stage, _| stands(stage, |stage| stage.play.nine)),
    scene("root", || after("l l l"), |stage, _| stands(stage, |stage| stage.play.root)),
    scene("end", || after("h"), |stage, _| stands(stage, |stage| stage.play.nine)),
    scene("back", || after("end"), |stage, _| stands(stage, |stage| stage.play.marie)),
    scene(
        "page_down",
        || low("end pageup"),
        |stage, before| {
            assert!(!before.contains("The lighthouse was dark."), "{before}");
            stage.shows("The lighthouse was dark.");
            stands(stage, |stage| stage.play.nine);
        },
    ),
    scene(
        "page_up",
        || low("end"),
        |stage, before| {
            assert!(before.contains("The lighthouse was dark."), "{before}");
            stage.lacks("The lighthouse was dark.").shows("Go on.");
            stands(stage, |stage| stage.play.nine);
        },
    ),
    scene(
        "fold",
        || after("l"),
        |stage, before| {
            assert!(before.contains("○ Go on."), "{before}");
            stage.lacks("○ Go on.").shows(" ▸ ").press("z").shows("○ Go on.");
        },
    ),
    scene(
        "hoist",
        || after("l"),
        |stage, before| {
            assert!(before.contains("Another reading"), "{before}");
            stage.shows("· hoisted").lacks("Another reading").lacks("Who is Marie?  ").press("Z");
            stage.shows("Another reading").lacks("hoisted");
        },
    ),
    scene(
        "say",
        || after("l j"),
        |stage, _| {
            stage.shows("a message, or → and a command").types("My own words.").press("enter");
            let said = below(stage, stage.play.tired);
            assert_eq!((said[0].content.as_str(), said[0].author_type), ("My own words.", AuthorType::Human));
            stands(stage, |stage| below(stage, stage.play.tired)[0].id);
        },
    ),
    scene(
        "generate",
        || after("l j"),
        |stage, _| {
            stage.shows("takes it").shows("Reply 0.").shows("Reply 1.").shows("Reply 2.");
            let made = below(stage, stage.play.tired);
            assert_eq!(made.len(), 3);
            assert!(made.iter().all(|node| node.author_type == AuthorType::Model));
        },
    ),
    scene(
        "answer",
        || after("l l"),
        |stage, _| {
            let answers = below(stage, stage.play.go_on);
            let collaborator = stage.play.loom.agent("collaborator").unwrap().id();
            let answer = answers.iter().find(|node| node.content.starts_with("Reply")).unwrap();
            assert_eq!(answer.author, collaborator);
            let at = answer.id;
            stands(stage, |_| at);
        },
    ),
    scene(
        "count",
        || after(""),
        |stage, before| {
            assert!(before.contains("×3"), "{before}");
            stage.shows("how many continuations, 1 to 9").types("2").press("enter").shows("×2");
            stage.press("space");
            assert_eq!(below(stage, stage.play.marie).len(), 2 + 2);
        },
    ),
    scene(
        "models",
        || after(""),
        |stage, _| {
            stage.shows("─ models: ").shows("test:scripted").types("slow").press("enter").press("esc");
            stage.shows("slow ×3");
        },
    ),
    scene(
        "edit",
        || after("l j"),
        |stage, _| {
            stage.shows("editing · ctrl-s saves").types(" Or not.").press("ctrl-s").shows("branch 3/3");
            assert_eq!(node(stage, stage.play.tired).content, "Another reading: she is only tired.");
            let branches = below(stage, stage.play.marie);
            let edited = branches.last().unwrap();
            assert_eq!(edited.content, "Another reading: she is only tired. Or not.");
            assert_eq!(edited.edited_from, Some(stage.play.tired));
        },
    ),
    scene(
        "annotate",
        || after(""),
        |stage, _| {
            stage.shows("a note on this node").types("Ask him.").press("enter").shows("✎ Ask him.");
            assert_eq!(node(stage, stage.play.marie).state.annotations, 1);
        },
    ),
    scene(
        "bookmark",
        || after(""),
        |stage, _| {
            stage.shows("a label for the bookmark").types("the turn").press("enter").shows("★ the turn");
            assert_eq!(node(stage, stage.play.marie).state.bookmark.as_deref(), Some("the turn"));
            stage.press("b").lacks("★");
            assert_eq!(node(stage, stage.play.marie).state.bookmark, None);
        },
    ),
    scene(
        "next_bookmark",
        || after("b enter l l b enter h h h"),
        |stage, _| {
            stands(stage, |stage| stage.play.marie);
            stage.press("B");
            stands(stage, |stage| stage.play.go_on);
            stage.press("B");
            stands(stage, |stage| stage.play.marie);
        },
    ),
    scene(
        "bookmarks",
        || {
            let mut stage = after("l b");
            stage.types("the turn").keys("enter h h");
            stage
        },
        |stage, _| {
            stage.shows("─ bookmarks ─").shows("the turn").press("enter");
            stands(stage, |stage| stage.play.trauma);
        },
    ),
    scene(
        "mark",
        || after(""),
        |stage, _| {
            stage.shows(" ✓").shows("one is marked").press("x").lacks(" ✓");
        },
    ),
    scene(
        "merge",
        || after("l x j"),
        |stage, _| {
            stage.shows("the text of the merging node").types("Both.").press("ctrl-s").shows("merged");
            let at = stage.at();
            let found = stage.play.loom.find_node(stage.play.tree, &at).unwrap();
            assert_eq!((found.content.as_str(), found.state.links), ("Both.", 2));
        },
    ),
    scene(
        "split",
        || after("l j"),
        |stage, _| {
            stage.shows("splitting · arrows move").keys("right right right right right right right enter");
            stage.shows("split in two").shows("collaborator");
            let wordings = stage.play.loom.snapshot().unwrap().versions(stage.play.tired).unwrap();
            let words: Vec<&str> = wordings.iter().map(|node| node.content.as_str()).collect();
            assert!(words.contains(&" reading: she is only tired."), "{words:?}");
            assert_eq!(node(stage, stage.play.tired).content, "Another reading: she is only tired.");
        },
    ),
    scene(
        "copy_here",
        || after("l x h h"),
        |stage, _| {
            stage.shows("copied").shows("9 nodes");
            let words: Vec<String> = below(stage, stage.play.root).into_iter().map(|node| node.content).collect();
            assert_eq!(words[1], "Building on the trauma angle, she avoids the sea.");
            assert_eq!(below(stage, stage.play.marie).len(), 2, "the original stays");
        },
    ),
    scene(
        "move_here",
        || after("l j x k"),
        |stage, _| {
            stage.shows("moved").shows("6 nodes");
            let words: Vec<String> = below(stage, stage.play.trauma).into_iter().map(|node| node.content).collect();
            assert_eq!(words, ["Go on.", "Another reading: she is only tired."]);
            assert_eq!(below(stage, stage.play.marie).len(), 1, "it is no longer where it was");
        },
    ),
    scene(
        "prune",
        || after("l"),
        |stage, _| {
            stage.shows("Prune this node and 2 below it? u undoes it.").press("y");
            stage.shows("pruned · u undoes it").shows("3 nodes");
            assert!(node(stage, stage.play.nine).state.pruned_by.is_some());
            stands(stage, |stage| stage.play.tired);
        },
    ),
    scene(
        "restore",
        || after("l p y"),
        |stage, _| {
            stage.shows("─ pruned branches ─").shows("Building on the trauma angle").press("enter");
            assert!(node(stage, stage.play.nine).state.pruned_by.is_none());
            stands(stage, |stage| stage.play.trauma);
        },
    ),
    scene(
        "undo",
        || after("l p y"),
        |stage, _| {
            let local = stage.play.id(stage.play.trauma);
            stage.shows(&format!("taken back: pruned {local}")).shows("6 nodes");
            assert!(node(stage, stage.play.trauma).state.pruned_by.is_none());
        },
    ),
    scene(
        "redo",
        || after("l p y u"),
        |stage, _| {
            let local = stage.play.id(stage.play.trauma);
            stage.shows(&format!("done again: pruned {local}")).shows("3 nodes");
            assert!(node(stage, stage.play.trauma).state.pruned_by.is_some());
        },
    ),
    scene(
        "pin",
        || after(""),
        |stage, _| {
            stage.shows(" ⌖").shows("pinned");
            assert!(pinned(stage));
            stage.press("P").lacks("⌖");
            assert!(!pinned(stage));
        },
    ),
    scene(
        "exclude",
        || after(""),
        |stage, _| {
            stage.shows(" ∅").shows("excluded from what models read");
            assert!(node(stage, stage.play.marie).state.excluded);
            stage.press("X").lacks("∅");
            assert!(!node(stage, stage.play.marie).state.excluded);
        },
    ),
    scene(
        "version",
        || two_wordings("0 <"),
        |stage, before| {
            assert!(!before.contains("So: Who is Marie?"), "{before}");
            stage.shows("So: Who is Marie?");
        },
    ),
    scene(
        "version_back",
        || two_wordings("0"),
        |stage, before| {
            assert!(before.contains("So: Who is Marie?"), "{before}");
            stage.lacks("So: Who is Marie?").shows("Who is Marie?");
            stands(stage, |stage| stage.play.root);
        },
    ),
    scene(
        "search",
        || after(""),
        |stage, _| {
            stage.shows("─ search this tree · tab: elsewhere ─").types("tir").shows("only tired").press("enter");
            stands(stage, |stage| stage.play.tired);
        },
    ),
    scene(
        "diff",
        || after("l x j"),
        |stage, _| {
            let parted = stage.play.id(stage.play.marie);
            stage.shows("─ two branches ─").shows(&format!("they part after {parted}"));
            // They say something else: each is shown whole.
            stage.shows("- collaborator").shows(" Building on the trauma angle, she avoids the sea.");
            stage.shows("+ collaborator").shows(" Another reading: she is only tired.");
        },
    ),
    scene(
        "context",
        || after(""),
        |stage, _| {
            stage.shows("the conversation").shows("in all,").shows("Who is Marie?").shows("$0.0");
        },
    ),
    scene(
        "trees",
        || {
            let mut stage = after(":");
            stage.types("new Another beginning").press("enter");
            stage
        },
        |stage, _| {
            stage.shows("─ trees ─").shows("▸ Another beginning").shows("Marie Character Study").press("down");
            stage.press("enter").shows("Marie Character Study  6 nodes");
            stands(stage, |stage| stage.play.root);
        },
    ),
    scene(
        "sessions",
        || {
            let mut stage = after("l j i");
            stage.types("Said before.").keys("enter 0");
            stage
        },
        |stage, _| {
            stage.shows("─ sessions ─").shows("▸ owner").shows("Said before.").press("enter");
            stage.shows("back at the last position");
        },
    ),
    scene(
        "documents",
        || {
            let stage = after("");
            stage.play.owner.create_document("notes", "The sea is cold.").unwrap();
            stage
        },
        |stage, _| {
            stage.shows("─ documents ─").shows("notes").shows("version 1").press("enter");
            stage.shows("notes · version 1").shows("The sea is cold.");
        },
    ),
    scene(
        "command",
        || after(""),
        |stage, _| {
            stage.shows("an unknown word lists all").types("title Marie, again").press("enter");
            stage.shows("Marie, again  6 nodes");
        },
    ),
    scene(
        "reading",
        || after(""),
        |stage, before| {
            assert!(before.contains("  owner  "), "{before}");
            stage.lacks("  owner  ").shows("Who is Marie?").press("v").shows("  owner  ");
        },
    ),
    scene(
        "layout",
        || after(""),
        |stage, before| {
            assert!(before.contains("├─") && before.contains("│ ▸ collaborator"), "{before}");
            stage.lacks("├─").shows("▸ collaborator").press("w");
            stage.shows("├─").lacks("▸ collaborator").press("w").shows("├─").shows("│ ▸ collaborator");
        },
    ),
    scene(
        "help",
        || after(""),
        |stage, _| {
            stage.shows("─ keys ─");
            let mut all = String::new();
            for _ in 0..12 {
                all.push_str(&stage.screen());
                stage.press("pagedown");
            }
            for binding in KEYS {
                assert!(all.contains(binding.help), "{} is not in the help", binding.name);
            }
        },
    ),
    scene(
        "cancel",
        || after("l Z"),
        |stage, before| {
            // A notice goes first, then what is hoisted.
            assert!(before.contains("· hoisted"), "{before}");
            stage.lacks("this branch alone").press("esc").lacks("hoisted").shows("Another reading");
        },
    ),
    scene("quit", || after(""), |stage, _| assert!(stage.app.has_ended())),
];

#[test]
fn every_key_of_the_table_has_a_scene() {
    for binding in KEYS {
        let scenes = SCENES.iter().map(|scene| scene.name).chain(IN_A_TERMINAL);
        assert_eq!(scenes.filter(|name| *name == binding.name).count(), 1, "scenes of {}", binding.name);
    }
    assert_eq!(SCENES.len() + IN_A_TERMINAL.len(), KEYS.len(), "a scene of no key");
}

#[test]
fn every_key_does_what_its_scene_says() {
    for scene in SCENES {
        let binding = KEYS.iter().find(|binding| binding.name == scene.name).unwrap();
        for key in binding.keys {
            let mut stage = (scene.set)();
            let before = format!("{}\n", stage.screen());
            stage.press(key);
            assert_ne!(
                format!("{}\n", stage.screen()),
                if scene.name == "quit" { "" } else { &before },
                "{key} does nothing"
            );
            println!("{} by {key}", scene.name);
            (scene.then)(&mut stage, &before);
        }
    }
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
