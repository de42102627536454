//! Flipped bytes: `verify` names the damaged item, and no other operation on such a file panics or hangs.
//!
//! `cargo test` flips 40 bits and bytes, `.ci/run` 300; `LOOM_FLIPS=10000` sets another number, `LOOM_SEED` other places.

use std::{
    fs,
    path::Path,
    sync::{Arc, mpsc},
    time::Duration,
};

use loomtree::{
    interchange::jsonl,
    ops::{Actor, NodeDraft, SplitAt, TreeDraft},
    session_state::RecordKind,
    store::{
        ChildFilter, Direction, JournalFilter, LocalIdLookup, PurgeTarget, SessionFilter, Snapshot, Store, StoreError,
        TreeFilter, UndoReach, WordFilter,
    },
    types::{
        AgentAction, AgentKind, Json, LinkTarget, Mode, NewAgent, Parent, Permissions, PinTarget, SessionPatch,
        StashContent, SummarySubject, TodoDraft, TodoScope, TodoStatus,
    },
};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{
    all_nodes, assert_sentence, chain,
    support::{rounds, store::Scene},
    verified,
};

#[test]
fn verify_names_the_node_whose_content_was_changed() {
    for (seed, words) in [(101, 3), (102, 4_000)] {
        let scene = Scene::new(seed);
        let owner = scene.owner();
        let nodes = chain(&owner, 20);
        let text = format!("{} needle {}", "hay ".repeat(words), "hay ".repeat(words));
        let id = owner.append(Parent::Node(nodes[9].id), NodeDraft::text(text)).unwrap().nodes[0].id;
        let local = owner.loom().node(id).unwrap().local;
        drop(owner);

        let mut bytes = fs::read(&scene.path).unwrap();
        let at = bytes.windows(6).position(|w| w == b"needle").expect("it is in the file");
        bytes[at] ^= 1;
        fs::write(&scene.path, &bytes).unwrap();
        let problems = verified(&scene.store()).problems;
        assert_eq!(problems.len(), 1, "{problems:?}");
        let named = format!("node [{local}] is damaged");
        assert!(problems[0].starts_with(&named), "{problems:?}");
        // The content is not UTF-8 any more. SQLite returns it unchanged, and decoding the node fails.
        bytes[at] = 0xff;
        fs::write(&scene.path, &bytes).unwrap();
        let store = scene.store();
        let problems = verified(&store).problems;
        assert!(problems.iter().any(|p| p.starts_with(&format!("node [{local}]"))), "{problems:?}");
        let read = store.snapshot().unwrap().node(id);
        assert!(matches!(read, Err(StoreError::Undecodable(_))), "never a default: {read:?}");
        assert_sentence(&read.unwrap_err());
    }
}

#[test]
fn wrong_derived_data_is_found_and_rebuilt() {
    let scene = Scene::new(103);
    let owner = scene.owner();
    let nodes = chain(&owner, 9);
    let raw = rusqlite::Connection::open(&scene.path).unwrap();
    raw.execute_batch("INSERT INTO node_state (node, continuations) VALUES (3, 9); UPDATE tree_state SET leaves = 77")
        .unwrap();
    let problems = verified(owner.loom().store().as_ref()).problems;
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains(nodes[2].local.as_str()), "{problems:?}");
    let rebuilt = owner.loom().store().rebuild().unwrap();
    assert_eq!((rebuilt.nodes, rebuilt.trees), (1, 1));
    crate::assert_clean(owner.loom().store().as_ref());
}

#[test]
fn tables_by_local_id_are_found_wrong_and_rebuilt() {
    let wrong = [
        "DELETE FROM local_ids_newest WHERE node = 4",
        "INSERT INTO local_ids_kept VALUES ('zzzzzz', 1, 4)",
        "UPDATE local_ids_newest SET node = 5 WHERE node = 4",
    ];
    for (seed, sql) in (105..).zip(wrong) {
        let scene = Scene::new(seed);
        let owner = scene.owner();
        let nodes = chain(&owner, 9);
        rusqlite::Connection::open(&scene.path).unwrap().execute_batch(sql).unwrap();
        let problems = verified(owner.loom().store().as_ref()).problems;
        assert!(problems.len() == 1 && problems[0].contains("tables of local ids"), "{sql}: {problems:?}");
        owner.loom().store().rebuild().unwrap();
        crate::assert_clean(owner.loom().store().as_ref());
        let found = owner.loom().snapshot().unwrap().resolve(nodes[3].tree, nodes[3].local.as_str()).unwrap();
        assert!(matches!(&found, LocalIdLookup::One(node) if node.id == nodes[3].id), "{sql}: {found:?}");
    }
}

#[test]
fn a_path_is_read_whatever_depth_a_damaged_node_says() {
    let scene = Scene::new(108);
    let owner = scene.owner();
    let nodes = chain(&owner, 9);
    rusqlite::Connection::open(&scene.path)
        .unwrap()
        .execute_batch("DROP TRIGGER nodes_update; UPDATE nodes SET depth = 4000000000 WHERE seq = 10")
        .unwrap();
    let path = owner.loom().snapshot().unwrap().path_back(nodes[9].id, &[], 0).unwrap();
    assert_eq!(path.len(), 10);
    assert!(!verified(owner.loom().store().as_ref()).problems.is_empty());
}

/// Returns a closed database with a row in every table, and its content.
fn stocked() -> (Vec<u8>, Dump) {
    let scene = Scene::new(104);
    let owner = scene.owner();
    let nodes = chain(&owner, 40);
    let tree = nodes[0].tree;
    stock_conversation(&owner, &nodes.iter().map(|node| node.id).collect::<Vec<_>>(), tree);
    stock_memory(&owner, nodes[3].id, tree);
    owner.create_tree(TreeDraft::new("another").mode(Mode::Buffer)).unwrap();
    let archived = owner.create_tree(TreeDraft::new("old").title("old").system_context("brief"));
    owner.archive_tree(archived.unwrap().0.id).unwrap();
    drop(owner);
    let store = scene.store();
    assert_eq!(verified(&store).problems, Vec::<String>::new());
    let dump = Dump::of(store.snapshot().unwrap().as_ref(), &scene.path).unwrap();
    drop(store);
    (fs::read(&scene.path).unwrap(), dump)
}

fn stock_conversation(owner: &Actor, nodes: &[loomtree::id::NodeId], tree: loomtree::id::TreeId) {
    let session = owner.start_session("/project", tree, Some(nodes[9])).unwrap();
    let speaker = owner.clone().in_session(session);
    let draft = NodeDraft::text("in a session")
        .raw("raw text")
        .tokens(12)
        .metadata(Json::parse(r#"{"kept":1}"#).unwrap())
        .provenance(Json::parse(r#"{"model":"gpt","usage":{"prompt":1}}"#).unwrap());
    let mut draft = speaker.draft(Parent::Position(session), draft);
    draft.source = Some("pi:session:1".to_owned());
    let draft = loomtree::store::Mutation::Append(Box::new(draft));
    let said = speaker.commit(loomtree::types::Op::Append, vec![draft]).unwrap().nodes[0].id;
    speaker.append(Parent::Position(session), NodeDraft::text("we must use Rust; the goal is a store")).unwrap();
    let patch = SessionPatch::default().metadata("key", "value".to_owned()).model("openai:gpt");
    owner.update_session(session, patch).unwrap();
    speaker.record(RecordKind::Decision, "it ends at sea").unwrap();
    let plan = TodoScope { session, turn: 0 };
    let todo = |title: &str| TodoDraft { title: title.to_owned(), ..TodoDraft::default() };
    let todos = owner.add_todos(plan, &[todo("first"), todo("second")]).unwrap();
    owner.finish_todo(todos[0].id, TodoStatus::Completed, "done").unwrap();
    let document = owner.create_document("notes", "# Notes\n\nsome\n").unwrap();
    owner.write_document(document, &loomtree::ops::DocumentEdit::Append("more".to_owned())).unwrap();
    owner.link(nodes[4], LinkTarget::Document { id: document, section: Some("Notes".to_owned()) }, None).unwrap();
    owner.link(nodes[4], LinkTarget::Node(nodes[7]), Some("see".to_owned())).unwrap();
    owner.bookmark(nodes[5], "five").unwrap();
    owner.bookmark(nodes[5], "six").unwrap();
    owner.edit(nodes[6], "six again").unwrap();
    owner.exclude(nodes[8]).unwrap();
    owner.annotate(nodes[8], "a note").unwrap();
    owner.split(said, &SplitAt::Character(3)).unwrap();
    owner.copy_branch(nodes[35], nodes[2]).unwrap();
    let pruned = owner.append(Parent::Node(nodes[30]), NodeDraft::text("pruned")).unwrap().nodes[0].id;
    owner.prune(pruned).unwrap();
    owner.prune(nodes[32]).unwrap();
    owner.undo(Some(tree)).unwrap();
    let secret = owner.append(Parent::Node(nodes[1]), NodeDraft::text("a secret")).unwrap().nodes[0].id;
    owner.purge(PurgeTarget::Node(secret)).unwrap();
}

fn stock_memory(owner: &Actor, node: loomtree::id::NodeId, tree: loomtree::id::TreeId) {
    let model = NewAgent {
        id: owner.loom().agent_id(),
        name: "thomas".to_owned(),
        kind: AgentKind::Model,
        model: Some("openai:gpt".to_owned()),
        system_prompt: Some("be brief".to_owned()),
        temperature: Some(0.7),
        max_tokens: Some(100),
        stop: vec!["stop".to_owned()],
        permissions: Permissions::all(),
    };
    owner.create_agent(model.clone()).unwrap();
    owner.update_agent(NewAgent { name: "tom".to_owned(), ..model.clone() }).unwrap();
    owner.pin(tree, PinTarget::Node(node)).unwrap();
    owner.stash(tree, "label", StashContent::Words("stashed words".to_owned())).unwrap();
    let action = AgentAction { tool: "recall".into(), about: Some("query".into()), after: 0 };
    owner.record_actions(tree, vec![action]).unwrap();
    owner.lease(node, model.id, Duration::from_secs(200)).wait().unwrap();
    let now = owner.loom().snapshot().unwrap().last_seq().unwrap();
    owner.save_summary(SummarySubject::Node(node), (0, now), "m", "a summary of the node").unwrap();
    owner.save_summary(SummarySubject::Tree(tree), (2, now), "m", "a summary of the tree").unwrap();
    owner.record_token_usage("openai:gpt", 90_000, 100_000).wait().unwrap();
    let event = Json::parse(r#"{"event":"broke","task":0,"why":"no reply"}"#).unwrap();
    let mutation = loomtree::store::Mutation::AppendDelegationEvent { node, number: 1, event };
    owner.commit(loomtree::types::Op::Delegate, vec![mutation]).unwrap();
}

/// Everything that the queries of a snapshot return, and the inverses in the journal.
#[derive(Debug, PartialEq)]
struct Dump(Vec<String>);

impl Dump {
    fn of(snapshot: &dyn Snapshot, path: &Path) -> Result<Self, StoreError> {
        let mut all = Vec::new();
        let trees = snapshot.trees(TreeFilter::default().archived(true).limit(0))?;
        let agents = snapshot.agents()?;
        let sessions = snapshot.sessions(&SessionFilter::default().delegated(true))?;
        let mut export = Vec::new();
        let ids: Vec<_> = trees.iter().map(|tree| tree.id).collect();
        jsonl::export(snapshot, &ids, &mut export).map_err(|e| StoreError::Io { detail: e.to_string() })?;
        all.push(String::from_utf8_lossy(&export).into_owned());
        all.push(format!("{trees:?} {agents:?} {sessions:?}"));
        for node in all_nodes(snapshot)? {
            all.push(format!("{node:?} {:?} {:?}", snapshot.links(node.id)?, snapshot.sources_of(node.id)?));
            let path = snapshot.path_back(node.id, &[], 0)?;
            all.push(format!("{:?}", path.iter().map(|n| n.id).collect::<Vec<_>>()));
            let children = snapshot.children(node.id, &ChildFilter::default().pruned(true))?;
            all.push(format!("{:?}", children.iter().map(|n| n.id).collect::<Vec<_>>()));
            all.push(format!("{:?} {:?}", snapshot.provenance(node.id)?, snapshot.delegation(node.id)?));
            all.push(format!("{:?}", snapshot.summary(SummarySubject::Node(node.id))?));
        }
        for tree in &trees {
            let ids = |nodes: Vec<loomtree::types::Node>| nodes.iter().map(|n| n.id.to_string()).collect::<Vec<_>>();
            all.push(format!("{:?} {:?}", ids(snapshot.bookmarks(tree.id)?), ids(snapshot.pruned(tree.id)?)));
            all.push(format!("{:?} {:?}", snapshot.leases(tree.id)?, snapshot.summary(SummarySubject::Tree(tree.id))?));
            for agent in &agents {
                let memory = snapshot.memory(agent.id(), tree.id)?;
                for stash in &memory.stashes {
                    all.push(format!("{:?}", snapshot.stashed(agent.id(), tree.id, &stash.label, false)?));
                }
                all.push(format!("{memory:?}"));
                for direction in [Direction::Undo, Direction::Redo] {
                    all.push(format!(
                        "{:?}",
                        snapshot.undo_target(Some(tree.id), UndoReach::default(), agent.id(), direction)?
                    ));
                }
            }
        }
        for session in &sessions {
            all.push(format!("{:?} {:?}", snapshot.session_state(session.id)?, snapshot.todos(session.id, None)?));
        }
        all.push(format!("{:?}", snapshot.documents()?));
        all.push(format!("{:?}", snapshot.journal(JournalFilter::default())?));
        all.push(format!("{:?} {:?}", snapshot.delegations()?, snapshot.correction("openai:gpt")?));
        let words = ["word3".to_owned(), "session".to_owned(), "note".to_owned()];
        let postings = snapshot.postings(&words, &WordFilter::default(), 1_000)?;
        let places: Vec<(u64, u32)> = postings.passages.iter().map(|hit| (hit.node, hit.part)).collect();
        all.push(format!("{postings:?} {:?}", snapshot.places(&places, &WordFilter::default())?));
        let raw = rusqlite::Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut undo = raw.prepare("SELECT undo FROM journal ORDER BY seq")?;
        let undo = undo.query_map([], |r| r.get::<_, Option<String>>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
        all.push(format!("{undo:?}"));
        Ok(Self(all))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// Opening the file fails.
    Refused,
    /// `verify` reports a problem.
    Found,
    /// Every read returns what the intact file returns.
    WithoutEffect,
}

/// Opens, verifies, reads and writes a damaged file. Panics if a read fails or differs, and `verify` reports nothing.
fn exercise(path: &Path, original: &Dump) -> Outcome {
    let scene = Scene::at(path, 105);
    let store = match scene.options().open(&scene.path) {
        Ok(store) => store,
        Err(error) => {
            assert_sentence(&error);
            return Outcome::Refused;
        }
    };
    let report = verified(&store);
    let dump = store.snapshot().and_then(|s| Dump::of(s.as_ref(), path));
    // A write may succeed or fail; the writer thread must survive it.
    let loom = scene.over(store);
    if let Some(owner) = loom.agent("owner").ok().map(|owner| loom.actor(&owner)) {
        for attempt in 0..2 {
            match owner.create_tree(TreeDraft::new(format!("attempt {attempt}"))) {
                Err(loomtree::ops::OpsError::Store(StoreError::Closed)) => panic!("the writer died"),
                Err(error) => drop(error.to_string()),
                Ok(_) => {}
            }
        }
    }
    if !report.problems.is_empty() {
        assert!(report.problems.iter().all(|p| !p.contains('\n')), "{:?}", report.problems);
        if let Err(error) = dump {
            assert_sentence(&error);
        }
        return Outcome::Found;
    }
    let dump = dump.unwrap_or_else(|error| panic!("verify reports nothing, but a read fails: {error}"));
    for (read, wanted) in dump.0.iter().zip(&original.0) {
        assert_eq!(read, wanted, "verify reports nothing");
    }
    assert_eq!(dump.0.len(), original.0.len());
    Outcome::WithoutEffect
}

#[test]
fn a_flipped_bit_or_byte_anywhere_is_found_or_without_effect() {
    let (flips, seed) = (rounds::of("LOOM_FLIPS", 40, 300), rounds::number("LOOM_SEED", 106));
    let (bytes, dump) = stocked();
    let dump = Arc::new(dump);
    let mut rng = StdRng::seed_from_u64(seed);
    let mut outcomes = std::collections::BTreeMap::new();
    let mut failures = Vec::new();
    let folder = tempfile::tempdir().unwrap();
    for case in 0..flips {
        // The first page holds the header and the schema; every tenth flip is there.
        let at = if case % 10 == 0 { rng.random_range(0..4_096) } else { rng.random_range(0..bytes.len()) };
        let mask = if case % 2 == 0 { 1_u8 << rng.random_range(0..8) } else { rng.random_range(1..=255) };
        let mut flipped = bytes.clone();
        flipped[at] ^= mask;
        let path = folder.path().join(format!("{case}.db"));
        fs::write(&path, &flipped).unwrap();
        let (done, outcome) = mpsc::channel();
        let (theirs, original) = (path.clone(), Arc::clone(&dump));
        std::thread::spawn(move || done.send(exercise(&theirs, &original)));
        match outcome.recv_timeout(Duration::from_secs(120)) {
            Ok(outcome) => *outcomes.entry(outcome).or_insert(0) += 1,
            Err(error) => failures.push(format!("byte {at} ^ {mask:#x}: {error}")),
        }
        fs::remove_file(path).unwrap();
    }
    println!("{flips} flips in {} bytes, LOOM_SEED={seed}: {outcomes:?}", bytes.len());
    assert_eq!(failures, Vec::<String>::new());
}
