//! Recall hint on labelled messages: precision and recall of the hint, and of the nodes that it names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)] // helpers of tests, and a table

use crate::support;

use std::{collections::HashMap, fs, path::Path};

use loomtree::{
    ops::{Actor, NodeDraft, TreeDraft},
    recall::{Hint, HintWindow, References},
    types::{AuthorType, EdgeKind, Node, Parent},
};
use serde::Deserialize;
use support::store::Scene;

/// A line of the fixtures: a conversation, or a message with its label.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Conversation {
        name: String,
        turns: Vec<String>,
    },
    Message {
        #[serde(rename = "in")]
        name: String,
        window: usize,
        say: String,
        hint: bool,
        #[serde(default)]
        turns: Vec<usize>,
    },
}

/// Results for the messages of a file.
#[derive(Debug, Default)]
struct Score {
    rightly: usize,
    wrongly: usize,
    missed: usize,
    silent: usize,
    /// Correct hints that name a labelled turn.
    meant: usize,
}

impl Score {
    fn precision(&self) -> f64 {
        self.rightly as f64 / (self.rightly + self.wrongly).max(1) as f64
    }

    fn recall(&self) -> f64 {
        self.rightly as f64 / (self.rightly + self.missed).max(1) as f64
    }
}

/// Appends the turns of a conversation: `h:` is the human, `m:` the model, `t NAME:` a tool.
fn conversation(owner: &Actor, turns: &[String]) -> Vec<Node> {
    let (_, root) = owner.create_tree(TreeDraft::new("")).unwrap();
    let mut at = root.id;
    let said = turns.iter().map(|turn| {
        let (who, text) = turn.split_once(": ").unwrap();
        let (author, kind) = match who {
            "h" => (AuthorType::Human, EdgeKind::Continuation),
            "m" => (AuthorType::Model, EdgeKind::Continuation),
            _ => (AuthorType::Tool, EdgeKind::Continuation),
        };
        let draft = NodeDraft::text(text).author_type(author).kind(kind);
        let node = owner.append(Parent::Node(at), draft).unwrap().nodes.remove(0);
        at = node.id;
        owner.loom().node(at).unwrap()
    });
    said.collect()
}

fn score(file: &str, tell: bool) -> Score {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recall").join(file);
    let scene = Scene::new(1);
    let owner = scene.owner();
    let mut snapshot = owner.loom().snapshot().unwrap();
    let mut conversations: HashMap<String, Vec<Node>> = HashMap::new();
    let mut score = Score::default();
    for line in fs::read_to_string(path).unwrap().lines() {
        let (name, window, say, hint, meant) = match serde_json::from_str(line).unwrap() {
            Line::Conversation { name, turns } => {
                conversations.insert(name, conversation(&owner, &turns));
                snapshot = owner.loom().snapshot().unwrap();
                continue;
            }
            Line::Message { name, window, say, hint, turns } => (name, window, say, hint, turns),
        };
        let nodes = &conversations[&name];
        let mut shown = nodes[nodes.len() - window..].iter().map(|node| (Some(node.seq), node.content.as_str()));
        let message = Node { seq: u64::MAX, parent: None, content: say.clone(), ..nodes[0].clone() };
        let view = HintWindow {
            agent: owner.loom().agent("collaborator").unwrap().id(),
            message: &message,
            oldest: nodes.get(nodes.len() - window),
            shown: &mut shown,
        };
        let found = References::of(&say).and_then(|read| read.hint(&*snapshot, view).unwrap());
        let named: Vec<usize> = found
            .iter()
            .flat_map(|hint| &hint.nodes)
            .filter_map(|node| Some(nodes.iter().position(|turn| turn.id == node.id)? + 1))
            .collect();
        match (hint, found.is_some()) {
            (true, true) => score.rightly += 1,
            (false, true) => score.wrongly += 1,
            (true, false) => score.missed += 1,
            (false, false) => score.silent += 1,
        }
        let right = named.iter().any(|turn| meant.contains(turn));
        score.meant += usize::from(hint && right);
        if tell && (hint != found.is_some() || hint && !right) {
            let found = found.map(|hint| (hint.trigger, hint.search));
            println!("{name} {window}: {say}\n    wanted {hint} {meant:?}, got {found:?} {named:?}");
        }
    }
    score
}

#[test]
fn hints_have_the_required_precision_and_recall() {
    for (file, tell) in [("hints.jsonl", true), ("hints-heldout.jsonl", false)] {
        let score = score(file, tell);
        let (precision, recall) = (score.precision(), score.recall());
        println!("{file}: precision {precision:.3}, recall {recall:.3}, {score:?}");
        assert!(score.rightly + score.wrongly + score.missed + score.silent > 70);
        assert!(precision >= 0.9 && recall >= 0.85, "{file}: precision {precision}, recall {recall}");
        assert!(score.meant * 10 >= score.rightly * 8, "{file}: it names what is meant {score:?}");
    }
}

/// Conversation of the owner and the collaborator of which only the newest messages are shown.
struct Talk {
    scene: Scene,
    nodes: Vec<Node>,
}

impl Talk {
    /// Appends messages in turns, the owner's first.
    fn new(messages: &[&str]) -> Self {
        let scene = Scene::new(1);
        let owner = scene.owner();
        let model = owner.loom().actor(&owner.loom().agent("collaborator").unwrap());
        let (_, root) = owner.create_tree(TreeDraft::new("")).unwrap();
        let mut at = root.id;
        let append = |(number, message): (usize, &&str)| {
            let actor = if number % 2 == 0 { &owner } else { &model };
            at = actor.append(Parent::Node(at), NodeDraft::text(*message)).unwrap().nodes[0].id;
            owner.loom().node(at).unwrap()
        };
        let nodes = messages.iter().enumerate().map(append).collect();
        Self { scene, nodes }
    }

    /// Returns the hint for a message, if the window has the newest `shown` messages.
    fn hint(&self, say: &str, shown: usize) -> Option<Hint> {
        let owner = self.scene.owner();
        let last = self.nodes.last().unwrap();
        let message = owner.append(Parent::Node(last.id), NodeDraft::text(say)).unwrap().nodes[0].id;
        let message = owner.loom().node(message).unwrap();
        let window = &self.nodes[self.nodes.len() - shown..];
        let window = HintWindow {
            agent: owner.loom().agent("collaborator").unwrap().id(),
            message: &message,
            oldest: window.first(),
            shown: &mut window.iter().map(|node| (Some(node.seq), node.content.as_str())),
        };
        References::of(say)?.hint(&*owner.loom().snapshot().unwrap(), window).unwrap()
    }

    /// Returns the numbers of a hint's nodes, from 1.
    fn numbers(&self, hint: &Hint) -> Vec<usize> {
        hint.nodes.iter().filter_map(|node| Some(self.nodes.iter().position(|one| one.id == node.id)? + 1)).collect()
    }
}

#[test]
fn a_hint_names_the_message_that_an_own_reply_answers() {
    for (asked, named) in [("Which gasket fits?", vec![1]), ("Which of them fits?", vec![])] {
        let talk = Talk::new(&[asked, "The brass gasket fits the second pump.", "Fine.", "Good.", "Well.", "So."]);
        let hint = talk.hint("How wide is the gasket?", 2).unwrap();
        assert_eq!((hint.search.as_str(), talk.numbers(&hint)), ("gasket", named), "{asked}");
        assert_eq!(talk.hint("How wide is the gasket?", 6), None, "the window answers");
    }
}

#[test]
fn a_hint_searches_the_rarest_words() {
    let mut messages = vec!["The harbour file says that brimstone is the staging host of the release.", "Noted."];
    messages.extend(["Look at the file of the release again.", "It is the same file as for every release."].repeat(20));
    messages.extend(["Thanks.", "You are welcome."]);
    let talk = Talk::new(&messages);
    let hint = talk
        .hint("Since we discussed the staging host of the release: is it exactly the host in the file?", 2)
        .unwrap();
    assert_eq!(hint.search, "staging host");
    assert_eq!(talk.numbers(&hint)[0], 1);
    assert_eq!(talk.hint("Is the release in the file?", 2), None, "common words refer to nothing in particular");
}

#[test]
fn a_phrase_without_a_noun_points_to_the_newest_messages_outside_the_window() {
    let talk = Talk::new(&["Blue walls.", "Yes.", "And a red door.", "Yes.", "Thanks.", "Good."]);
    let hint = talk.hint("Then do it as we discussed.", 2).unwrap();
    assert_eq!((hint.trigger.as_str(), hint.search.as_str()), ("as we discussed", ""));
    assert_eq!(talk.numbers(&hint), [3, 1]);
    assert_eq!(talk.hint("Then do it as we discussed.", 6), None, "the window has all");
    assert_eq!(talk.hint("Then do it.", 2), None);
}

#[test]
fn a_hint_needs_a_noun_and_words_that_the_node_holds() {
    let mut messages = vec!["The red barge went away with the whole crew at 16:40.", "Noted."];
    messages.extend(["Fine weather.", "It is."].repeat(20));
    let talk = Talk::new(&messages);
    for say in [
        "Now put it away, as the others are still there.",
        "Give me the whole thing again.",
        "It is the file 16:40 again.",
    ] {
        assert_eq!(talk.hint(say, 10).map(|hint| hint.search), None, "{say}");
    }
    let hint = talk.hint("Is the barge still away?", 10).unwrap();
    assert_eq!((hint.search.as_str(), talk.numbers(&hint)[0]), ("barge", 1));
}

#[test]
fn a_sentence_that_refers_back_is_found_by_its_named_references() {
    let mut messages = vec!["Ghostty shows the greys, the editor's terminal does not.", "It is the contrast ratio."];
    messages.extend(["Fine weather over there today.", "It is, and different from before."].repeat(20));
    messages.extend(["I complained about all of it.", "You did complain."]);
    messages.extend(["Fine weather.", "It is."].repeat(6));
    let talk = Talk::new(&messages);
    let say = "Earlier I complained that all looked different while Ghostty was right. What was it?";
    let hint = talk.hint(say, 4).unwrap();
    assert!(hint.search.contains("Ghostty") && talk.numbers(&hint).contains(&1), "{hint:?}");
    assert_eq!(talk.hint("An idea for later: perhaps the ratio is the culprit.", 4), None, "a new idea");
}

#[test]
fn an_own_node_whose_message_is_shown_is_named_itself() {
    let talk = Talk::new(&["Write two endings.", "Done.", "Thanks.", "Good."]);
    let owner = talk.scene.owner();
    let model = owner.loom().actor(&owner.loom().agent("collaborator").unwrap());
    let draft = model.append(Parent::Node(talk.nodes[2].id), NodeDraft::text("Her hand does not press.")).unwrap();
    let hint = talk.hint("Is the press still there?", 2).unwrap();
    assert_eq!(hint.nodes.iter().map(|node| node.id).collect::<Vec<_>>(), [draft.nodes[0].id]);
}

#[test]
fn words_of_the_question_alone_are_not_searched() {
    let mut messages = vec!["The contrast ratio of the editor is 1.", "Noted."];
    messages.extend(["Fine weather over there today.", "It is, and different from before."].repeat(20));
    let talk = Talk::new(&messages);
    let hint = talk.hint("Which contrast ratio did we discuss for the parchment backdrop?", 4).unwrap();
    assert_eq!((hint.search.as_str(), talk.numbers(&hint)[0]), ("contrast ratio", 1));
}

#[test]
fn a_hint_names_no_result_of_a_tool() {
    let talk = Talk::new(&["Read it.", "It is read.", "Fine weather.", "It is.", "Thanks.", "Good."]);
    let owner = talk.scene.owner();
    let result = NodeDraft::text("The gasket is 42 mm wide.").kind(EdgeKind::Tool).author_type(AuthorType::Tool);
    owner.append(Parent::Node(talk.nodes[1].id), result).unwrap();
    assert_eq!(talk.hint("How wide is the gasket?", 2), None);
}
