//! Recall hint on labelled messages: precision and recall of the hint, and of the nodes that it names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)] // helpers of tests, and a table

use crate::support;

use std::{collections::HashMap, fs, path::Path};

use loomtree::{
    ops::{Actor, NodeDraft, TreeDraft},
    recall::References,
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
        let found =
            References::of(&say).and_then(|read| read.hint(&*snapshot, message.tree, &message, &mut shown).unwrap());
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
    for (file, tell) in [("hints.jsonl", true), ("hints-kept.jsonl", false)] {
        let score = score(file, tell);
        let (precision, recall) = (score.precision(), score.recall());
        println!("{file}: precision {precision:.3}, recall {recall:.3}, {score:?}");
        assert!(score.rightly + score.wrongly + score.missed + score.silent > 70);
        assert!(precision >= 0.9 && recall >= 0.85, "{file}: precision {precision}, recall {recall}");
        assert!(score.meant * 10 >= score.rightly * 8, "{file}: it names what is meant {score:?}");
    }
}
