//! The parent: what was said is held against what is there.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use loomtree::{
    id::{AgentId, NodeId},
    store::{JournalFilter, Snapshot, Store, TreeFilter},
    types::{ContentHash, EdgeKind, HashInput, JournalEntry, Node, Op},
};

use crate::{support::store::Scene, writer::is_whole};

/// What was seen.
#[derive(Debug, Default, Clone)]
pub(crate) struct Totals {
    /// Commits that the children were told are done.
    pub(crate) acked: u64,
    /// Nodes that they said they had added.
    pub(crate) nodes: u64,
    /// Nodes that are there without having been acked: killed between the sync and the saying.
    pub(crate) unacked: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, other: &Self) {
        self.acked += other.acked;
        self.nodes += other.nodes;
        self.unacked += other.unacked;
    }
}

/// Everything that the children of one database said.
#[derive(Default)]
pub(crate) struct Judge {
    /// By id: parent, sequence, length, checksum, hash.
    nodes: HashMap<NodeId, String>,
    /// By journal number: operation, agent and state.
    entries: HashMap<u64, (String, String, String)>,
    trees: HashMap<String, String>,
    documents: HashMap<(String, u64), String>,
    totals: Totals,
}

impl Judge {
    /// Takes down a child's lines.
    pub(crate) fn hear(&mut self, said: &[String], at: &str) {
        for line in said {
            let (what, rest) = line.split_once(' ').unwrap_or_else(|| panic!("{at}: {line:?}"));
            let words: Vec<&str> = rest.splitn(4, ' ').collect();
            match what {
                "node" => {
                    let (id, told) = rest.split_once(' ').unwrap();
                    self.nodes.insert(id.parse().unwrap(), told.to_owned());
                }
                "did" => {
                    let entry = (words[1].to_owned(), words[2].to_owned(), words[3].to_owned());
                    let twice = self.entries.insert(words[0].parse().unwrap(), entry);
                    assert!(twice.is_none(), "{at}: entry {} was acked twice", words[0]);
                }
                "tree" => drop(self.trees.insert(words[0].to_owned(), words[1].to_owned())),
                "document" => {
                    let key = (words[0].to_owned(), words[1].parse().unwrap());
                    self.documents.insert(key, words[2].to_owned());
                }
                _ => panic!("{at}: {line:?}"),
            }
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        let acked = self.entries.len() + self.trees.len();
        Totals { acked: acked as u64, nodes: self.nodes.len() as u64, ..self.totals.clone() }
    }

    /// Opens the database and holds everything that was ever said about it against it.
    pub(crate) fn judge(&mut self, path: &Path, at: &str) {
        let scene = Scene::at(path, 0);
        let store = scene.store();
        let report = store.verify(&mut |_| ()).unwrap();
        assert!(report.problems.is_empty(), "{at}: {:#?}", report.problems);
        let snapshot = store.snapshot().unwrap();
        let mut nodes: HashMap<NodeId, Node> = HashMap::new();
        for tree in snapshot.trees(TreeFilter::default().archived(true).limit(0)).unwrap() {
            assert!(tree.root.is_some(), "{at}: tree {} has no root", tree.id);
            nodes.extend(snapshot.nodes_after(tree.id, 0, 0).unwrap().into_iter().map(|n| (n.id, n)));
        }
        self.no_node_lost(&nodes, at);
        no_node_half(&nodes, at);
        let journal = snapshot.journal(JournalFilter::default()).unwrap();
        self.no_entry_lost(&journal, at);
        no_operation_half(&journal, at);
        self.newest_state(snapshot.as_ref(), &journal, &nodes, at);
        for (tree, root) in &self.trees {
            let tree = snapshot.tree(tree.parse().unwrap()).unwrap().unwrap_or_else(|| panic!("{at}: {tree} is lost"));
            assert_eq!(tree.root.unwrap().to_string(), *root, "{at}");
        }
        for ((document, version), sum) in &self.documents {
            let stored = snapshot.document_version(document.parse().unwrap(), *version).unwrap();
            let stored = stored.unwrap_or_else(|| panic!("{at}: version {version} of {document} is lost"));
            assert_eq!(blake3::hash(stored.content.as_bytes()).to_string(), *sum, "{at}: {document}");
        }
        self.totals.unacked = nodes.keys().filter(|id| !self.nodes.contains_key(id)).count() as u64;
    }

    fn no_node_lost(&self, nodes: &HashMap<NodeId, Node>, at: &str) {
        for (id, told) in &self.nodes {
            let node = nodes.get(id).unwrap_or_else(|| panic!("{at}: acked node {id} is lost"));
            let parent = node.parent.map_or("-".to_owned(), |p| p.to_string());
            let sum = blake3::hash(node.content.as_bytes());
            let stored = format!("{parent} {} {} {sum} {}", node.seq, node.content.len(), node.hash);
            assert_eq!(stored, *told, "{at}: node {id} is not what was acked");
            let above = node.parent.map(|p| nodes[&p].hash);
            assert_eq!(ContentHash::of(&HashInput::of(node, above)), node.hash, "{at}: {id}");
        }
    }

    fn no_entry_lost(&self, journal: &[JournalEntry], at: &str) {
        let stored: HashMap<u64, &JournalEntry> = journal.iter().map(|e| (e.seq, e)).collect();
        for (seq, (op, agent, _)) in &self.entries {
            let entry = stored.get(seq).unwrap_or_else(|| panic!("{at}: acked entry {seq} ({op}) is lost"));
            assert_eq!((entry.op.as_str(), &entry.agent.to_string()), (op.as_str(), agent), "{at}: entry {seq}");
        }
    }

    /// Where an agent's newest entry is one that was acked, the state is the one that it left.
    fn newest_state(&self, snapshot: &dyn Snapshot, journal: &[JournalEntry], nodes: &HashMap<NodeId, Node>, at: &str) {
        let mut seen: HashSet<AgentId> = HashSet::new();
        for entry in journal {
            if !seen.insert(entry.agent) {
                continue;
            }
            let Some((_, _, state)) = self.entries.get(&entry.seq) else { continue };
            let words: Vec<&str> = state.splitn(3, ' ').collect();
            let Some(node) = words.get(1).map(|id| &nodes[&id.parse::<NodeId>().unwrap()]) else { continue };
            // The root is everybody's.
            if journal.iter().any(|later| later.seq > entry.seq && later.node == Some(node.id)) {
                continue;
            }
            let now = snapshot.node(node.id).unwrap().unwrap().state;
            match words[0] {
                "bookmark" => assert_eq!(now.bookmark.as_deref(), words.get(2).copied(), "{at}: {state}"),
                "pruned" => assert!(now.hidden_by.is_some(), "{at}: {state}"),
                // Others may have pruned something above it since.
                "restored" => assert_ne!(now.hidden_by, Some(node.id), "{at}: {state}"),
                other => panic!("{at}: {other}"),
            }
        }
    }
}

/// Every content is a whole text, or one of the two halves of one: then the other half is there too.
fn no_node_half(nodes: &HashMap<NodeId, Node>, at: &str) {
    let halves: Vec<&Node> =
        nodes.values().filter(|n| n.kind == EdgeKind::Version && n.edited_from.is_some()).collect();
    let mut paired: HashSet<NodeId> = HashSet::new();
    for tail in &halves {
        let head = tail.parent.map(|p| &nodes[&p]).filter(|head| head.edited_from == tail.edited_from);
        if let (Some(head), Some(from)) = (head, tail.edited_from)
            && nodes[&from].content == format!("{}{}", head.content, tail.content)
        {
            paired.extend([head.id, tail.id]);
        }
    }
    for node in nodes.values() {
        // A copy says what it was copied from, the last time.
        let copied = node.metadata.as_ref().is_some_and(|m| {
            let from = m.value().unwrap()["copied_from"].as_str().unwrap().parse().unwrap();
            nodes.get::<NodeId>(&from).is_some_and(|original| original.content == node.content)
        });
        assert!(
            is_whole(&node.content) || paired.contains(&node.id) || copied,
            "{at}: node {} ({}, {} bytes) is neither whole nor a half of two",
            node.id,
            node.kind,
            node.content.len()
        );
    }
}

/// Operations of two changes left two entries. An edit of an own note hides the old one too.
fn no_operation_half(journal: &[JournalEntry], at: &str) {
    let mut groups: HashMap<u64, (Op, usize)> = HashMap::new();
    for entry in journal {
        let group = groups.entry(entry.group).or_insert((entry.op, 0));
        assert_eq!(group.0, entry.op, "{at}: group {} is of one operation", entry.group);
        group.1 += 1;
    }
    for (group, (op, entries)) in groups {
        let expected = match op {
            Op::Split | Op::CreateTree => 2,
            // The first half of a split is copied with the second.
            Op::Move => entries.clamp(2, 3),
            Op::Copy => entries.clamp(1, 2),
            Op::Undo | Op::Redo => entries,
            Op::Edit => entries.min(2),
            _ => 1,
        };
        assert_eq!(entries, expected, "{at}: {op} {group}");
    }
}
