//! The PostgreSQL backend against SQLite, by copies of files that the engine wrote. The rest of the engine's tests run over
//! both backends by `LOOM_TEST_BACKEND`.
#![cfg(feature = "postgres")]
// Clippy recognizes only functions marked #[test] as tests, and not their helpers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "postgres/failover.rs"]
mod failover;
#[path = "postgres/locks.rs"]
mod locks;
#[path = "postgres/reads.rs"]
mod reads;
#[path = "postgres/rows.rs"]
mod rows;
#[path = "postgres/search_index.rs"]
mod search_index;
mod support;
#[path = "postgres/tip_appends.rs"]
mod tip_appends;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use loomtree::{
    id::{NodeId, SessionId},
    ops::{Actor, DocumentEdit, NodeDraft, TreeDraft},
    recall::{Query, Scope, search},
    session_state::RecordKind,
    store::{ChildFilter, JournalFilter, Location, SiblingCursor, Snapshot, TreeFilter, WordFilter},
    types::{AuthorType, EdgeKind, Json, LinkTarget, Node, Parent, PinTarget, TodoDraft, TodoScope, ToolCallFields},
};
use serde_json::Value;

use support::{postgres, postgres::Cluster, skip, store::Scene};

/// The shared server; `None` after a line that says what is missing.
fn cluster() -> Option<&'static Cluster> {
    let cluster = postgres::shared();
    if cluster.is_none() {
        skip::missing("initdb");
    }
    cluster
}

/// A file with branches, versions, pruned branches, bookmarks and sessions.
fn grow(owner: &Actor) {
    let words = ["harbour", "lantern", "the tide", "ropes and sails", "a map of the coast", "nobody answered"];
    for number in 0..3 {
        let (tree, root) = owner.create_tree(TreeDraft::new(format!("Tree {number}: where could it begin?"))).unwrap();
        let session = owner.start_session("/work", tree.id, Some(root.id)).unwrap();
        let here = owner.clone().in_session(session);
        let mut nodes = vec![root.id];
        for step in 0..60_usize {
            let text = format!("{} {} in chapter {step}", words[step % 6], words[(step * step + number) % 6]);
            let parent = if step % 7 == 3 { Parent::Node(nodes[nodes.len() / 2]) } else { Parent::Position(session) };
            nodes.push(here.append(parent, NodeDraft::text(text)).unwrap().nodes[0].id);
        }
        owner.bookmark(nodes[5], "a good place").unwrap();
        owner.edit(nodes[9], "the lantern is another one").unwrap();
        owner.prune(nodes[nodes.len() / 2 + 3]).unwrap();
        let document = owner.create_document(&format!("notes {number}"), "# Tide\n\nLow at nine.").unwrap();
        owner.write_document(document, &DocumentEdit::Append("High at three.".to_owned())).unwrap();
        owner.link(nodes[2], LinkTarget::Document { id: document, section: None }, Some("see".to_owned())).unwrap();
        owner.pin(tree.id, PinTarget::Node(nodes[3])).unwrap();
        here.record(RecordKind::Decision, "The keeper answers.").unwrap();
        let todo = TodoDraft { title: "Ask about the ropes".to_owned(), ..TodoDraft::default() };
        here.add_todos(TodoScope { session, turn: 0 }, &[todo]).unwrap();
        answer_by_commands(&here, session);
    }
}

/// Appends a turn in which a model calls a tool, and one in which it writes a command.
fn answer_by_commands(here: &Actor, session: SessionId) {
    here.append(Parent::Position(session), NodeDraft::text("\n  Never say sea. \nList it.")).unwrap();
    let calls = r#"[{"id":"c1","function":{"name":"bash","arguments":"{}"}}]"#;
    let tool = ToolCallFields { calls: Some(Json::parse(calls).unwrap()), ..ToolCallFields::default() };
    let call = NodeDraft::text("").tool(tool).author_type(AuthorType::Model);
    let call = here.append(Parent::Position(session), call).unwrap().nodes[0].id;
    let tool = ToolCallFields { calls: None, call_id: Some("c1".into()), name: Some("bash".into()) };
    let result = |tool| NodeDraft::text("log book").tool(tool).kind(Some(EdgeKind::Tool)).author_type(AuthorType::Tool);
    here.append(Parent::Node(call), result(tool).keep_position(true)).unwrap();
    let written = NodeDraft::text("→ list documents").author_type(AuthorType::Model);
    let written = here.append(Parent::Position(session), written).unwrap().nodes[0].id;
    let tool = ToolCallFields { calls: None, call_id: None, name: Some("list".into()) };
    let command = Json::parse(r#"{"command":"→ list documents","arguments":{"of":["documents",1]}}"#).unwrap();
    here.append(Parent::Node(written), result(tool).metadata(Some(command)).keep_position(true)).unwrap();
}

/// Copies a scene's file into a new database of the server.
fn transferred(scene: &Scene, cluster: &Cluster) -> Location {
    let location = Location::Postgres(cluster.new_database());
    let report = scene.options().transfer(&Location::File(scene.path.clone()), &location, &mut |_| {}).unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
    assert!(report.rows > 0);
    location
}

#[test]
fn a_copied_file_reads_as_before() {
    let Some(cluster) = cluster() else { return };
    let scene = Scene::of_file(3);
    let owner = scene.owner();
    grow(&owner);
    let location = transferred(&scene, cluster);
    let theirs = scene.options().connect(&location).unwrap();
    let (ours, theirs) = (owner.loom().snapshot().unwrap(), theirs.snapshot().unwrap());
    for tree in ours.trees(TreeFilter::default()).unwrap() {
        assert_eq!(ours.bookmarks(tree.id).unwrap(), theirs.bookmarks(tree.id).unwrap());
        assert_eq!(ours.pruned(tree.id).unwrap(), theirs.pruned(tree.id).unwrap());
        let journal = JournalFilter::default().tree(tree.id).limit(9);
        assert_eq!(ours.journal(journal).unwrap(), theirs.journal(journal).unwrap());
        for node in ours.nodes_after(tree.id, 0, 0).unwrap() {
            let id = node.id;
            assert_eq!(ours.path_back(id, &[], 0).unwrap(), theirs.path_back(id, &[], 0).unwrap());
            assert_eq!(ours.path_back(id, &[id], 4).unwrap(), theirs.path_back(id, &[id], 4).unwrap());
            assert_eq!(ours.leaf(id).unwrap(), theirs.leaf(id).unwrap());
            assert_eq!(ours.versions(id).unwrap(), theirs.versions(id).unwrap());
            for filter in [ChildFilter::default(), ChildFilter::default().kind(EdgeKind::Continuation).pruned(true)] {
                assert_eq!(ours.children(id, &filter).unwrap(), theirs.children(id, &filter).unwrap());
            }
            let last = SiblingCursor::Last;
            assert_eq!(ours.continuations(id, last, 3).unwrap(), theirs.continuations(id, last, 3).unwrap());
            assert_eq!(
                ours.resolve(tree.id, &node.local[..4]).unwrap(),
                theirs.resolve(tree.id, &node.local[..4]).unwrap()
            );
        }
        let shape = |snapshot: &dyn Snapshot| {
            let mut rows = Vec::new();
            snapshot.shape(tree.id, &mut |row| rows.push(row)).unwrap();
            rows
        };
        assert_eq!(shape(&*ours), shape(&*theirs));
        assert_eq!(ours.message_depth(tree.id).unwrap(), theirs.message_depth(tree.id).unwrap());
    }
    let newest = |snapshot: &dyn Snapshot| {
        let mut texts = Vec::new();
        let mut each = |seq, text: &str| {
            texts.push((seq, text.to_owned()));
            texts.len() < 9
        };
        snapshot.newest_first(&WordFilter::default(), 50, &mut each).unwrap();
        texts
    };
    assert_eq!(newest(&*ours), newest(&*theirs));
}

/// All rows of a file's tables that belong to no index, with row numbers of nodes and entries.
fn exported(path: &std::path::Path) -> Vec<String> {
    let conn = rusqlite::Connection::open(path).unwrap();
    let tables =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'recall_%' AND name NOT LIKE 'sqlite_%'
        AND name NOT IN ('migrations', 'settings', 'local_ids_kept', 'local_ids_newest', 'leases') ORDER BY name";
    let mut statement = conn.prepare(tables).unwrap();
    let tables: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut rows = Vec::new();
    for table in tables {
        let mut statement = conn.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2")).unwrap();
        let columns = statement.column_count();
        let mut found = statement.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            let values: Vec<_> = (0..columns).map(|at| format!("{:?}", row.get_ref(at).unwrap())).collect();
            rows.push(format!("{table}: {}", values.join(" ")));
        }
    }
    rows
}

#[test]
fn a_copy_there_and_back_is_the_same_file() {
    let Some(cluster) = cluster() else { return };
    let scene = Scene::of_file(11);
    let owner = scene.owner();
    grow(&owner);
    let location = transferred(&scene, cluster);
    let back = Location::File(scene.path.with_file_name("back.db"));
    let report = scene.options().transfer(&location, &back, &mut |_| {}).unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
    let (ours, theirs) = (exported(&scene.path), exported(back.file().unwrap()));
    assert!(ours.len() > 400, "{}", ours.len());
    ours.iter().zip(&theirs).for_each(|(ours, theirs)| assert_eq!(ours, theirs));
    assert_eq!(ours.len(), theirs.len());
    let copy = scene.options().connect(&back).unwrap();
    assert_eq!(copy.verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
    // The index of words was made: the same hits.
    let hits = |snapshot: &dyn Snapshot| {
        let found = search(snapshot, &Query::new("lantern tide", Scope::Everything).limit(9)).unwrap();
        found.hits.iter().map(|hit| hit.node.id).collect::<Vec<_>>()
    };
    let (ours, theirs) = (owner.loom().snapshot().unwrap(), copy.snapshot().unwrap());
    assert!(!hits(&*ours).is_empty());
    assert_eq!(hits(&*ours), hits(&*theirs));
    let again = scene.options().transfer(&location, &back, &mut |_| {}).unwrap_err();
    assert!(again.to_string().contains("exists already"), "{again}");
}

#[test]
fn a_database_with_gaps_becomes_a_file_that_goes_on() {
    let Some(cluster) = cluster() else { return };
    let scene = Scene::of_file(12);
    grow(&scene.owner());
    let location = transferred(&scene, cluster);
    // Numbers that PostgreSQL gave, from two servers at once.
    let server = |seed| scene.again(seed).with(location.clone()).owner();
    let grown = [server(13), server(14)].map(|owner| std::thread::spawn(move || write_more(&owner)));
    grown.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(scene.options().connect(&location).unwrap().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
    let file = scene.path.with_file_name("back.db");
    let part = scene.path.with_file_name("back.db.part");
    let back = Location::File(file.clone());
    // A copy that is cut off leaves the part, and continues with it.
    let mut calls = 0;
    let cut = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        scene.options().transfer(&location, &back, &mut |_| {
            calls += 1;
            assert!(calls < 6, "cut off");
        })
    }));
    assert!(cut.is_err() && part.exists() && !file.exists());
    let report = scene.options().transfer(&location, &back, &mut |_| {}).unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
    assert!(file.exists() && !part.exists());
    let owner = scene.again(15).with(back).owner();
    let verify = || owner.loom().store().verify(&mut |_| {}).unwrap().problems;
    assert_eq!(verify(), Vec::<String>::new());
    let trees = {
        let snapshot = owner.loom().snapshot().unwrap();
        let all = snapshot.journal(JournalFilter::default().oldest_first(true)).unwrap();
        assert!(all.iter().zip(1..).all(|(entry, number)| entry.seq == number), "the journal has gaps");
        snapshot.trees(TreeFilter::default()).unwrap()
    };
    // The copied journal holds what an undo needs, a record's number among it.
    for _ in 0..4 {
        owner.undo(Some(trees[0].id)).unwrap();
    }
    write_more(&owner);
    assert_eq!(verify(), Vec::<String>::new());
}

/// Writes to the oldest tree and to a new one; the last change is a record.
fn write_more(owner: &Actor) {
    let oldest = owner.loom().snapshot().unwrap().trees(TreeFilter::default()).unwrap().pop().unwrap();
    let (new, root) = owner.create_tree(TreeDraft::new("Another one")).unwrap();
    for (tree, at) in [(oldest.id, oldest.root.unwrap()), (new.id, root.id)] {
        let session = owner.start_session("/work", tree, Some(at)).unwrap();
        let here = owner.clone().in_session(session);
        for step in 0..20 {
            here.append(Parent::Position(session), NodeDraft::text(format!("step {step}"))).unwrap();
        }
        let edited = here.append(Parent::Position(session), NodeDraft::text("first")).unwrap().nodes[0].id;
        owner.edit(edited, "second").unwrap();
        owner.bookmark(edited, "a place").unwrap();
        here.record(RecordKind::Decision, "Nobody answers.").unwrap();
    }
}

/// Columns that hold JSON, whose spaces and order of keys differ.
const JSON_COLUMNS: [&str; 2] = ["tool_calls", "session_state"];

/// Rows of a view as JSON, by column.
fn view_of_file(path: &std::path::Path, view: &str, order: &str) -> Vec<Value> {
    let conn = rusqlite::Connection::open(path).unwrap();
    let mut statement = conn.prepare(&format!("SELECT * FROM {view} ORDER BY {order}")).unwrap();
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let value = |row: &rusqlite::Row<'_>, column: &str| match row.get_ref(column).unwrap() {
        rusqlite::types::ValueRef::Null => Value::Null,
        rusqlite::types::ValueRef::Integer(number) if column == "is_active" => Value::from(number == 1),
        rusqlite::types::ValueRef::Integer(number) => Value::from(number),
        other => Value::from(other.as_str().unwrap()),
    };
    let rows = statement.query_map([], |row| Ok(columns.iter().map(|name| (name.clone(), value(row, name))).collect()));
    rows.unwrap().map(|row: Result<serde_json::Map<String, Value>, _>| Value::Object(row.unwrap())).collect()
}

#[test]
fn the_views_read_as_those_of_the_file() {
    let Some(cluster) = cluster() else { return };
    let scene = Scene::of_file(8);
    grow(&scene.owner());
    let Location::Postgres(url) = transferred(&scene, cluster) else { unreachable!() };
    let database = url.split(['/', '?']).nth(3).unwrap();
    let mut calls = 0;
    for (view, order) in [("conversation_turns", "session_id, turn_number"), ("cowork_sessions", "id")] {
        let rows = cluster.sql(database, &format!("SELECT row_to_json(v) FROM {view} v ORDER BY {order}")).unwrap();
        let mut theirs: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
        let mut ours = view_of_file(&scene.path, view, order);
        for row in ours.iter_mut().chain(&mut theirs) {
            for column in JSON_COLUMNS {
                if let Some(text) = row[column].as_str() {
                    row[column] = serde_json::from_str(text).unwrap();
                    calls += 1;
                }
            }
        }
        assert!(ours.len() > 2 && ours.len() == theirs.len());
        ours.iter().zip(&theirs).for_each(|(ours, theirs)| assert_eq!(ours, theirs));
    }
    // Of each tree: two kinds of calls and a session's state, on both sides.
    assert_eq!(calls, 3 * 3 * 2);
}

#[test]
fn a_search_finds_the_same_hits_in_the_same_order() {
    let Some(cluster) = cluster() else { return };
    let scene = Scene::of_file(4);
    let owner = scene.owner();
    grow(&owner);
    let location = transferred(&scene, cluster);
    owner.loom().store().rebuild().unwrap();
    let theirs = scene.options().connect(&location).unwrap();
    for indexed in [false, true] {
        if indexed {
            theirs.rebuild().unwrap();
        }
        let (ours, theirs) = (owner.loom().snapshot().unwrap(), theirs.snapshot().unwrap());
        for text in
            ["harbour", "lantern tide", "the map of the coast", "who answered in chapter 12", "ropes sails nobody"]
        {
            let hits = |snapshot: &dyn Snapshot| {
                let found = search(snapshot, &Query::new(text, Scope::Everything).limit(40)).unwrap();
                found.hits.iter().map(|hit| (hit.node.seq, hit.score.to_bits())).collect::<Vec<_>>()
            };
            assert_eq!(hits(&*ours), hits(&*theirs), "{text}");
        }
    }
}

#[test]
fn a_copy_refuses_a_database_that_holds_something_else() {
    let Some(cluster) = cluster() else { return };
    let scene = Scene::of_file(5);
    grow(&scene.owner());
    let location = transferred(&scene, cluster);
    let again = scene.options().transfer(&Location::File(scene.path.clone()), &location, &mut |_| {}).unwrap_err();
    assert!(again.to_string().contains("not empty"), "{again}");
    let url = cluster.new_database();
    let name = url.split(['/', '?']).nth(3).unwrap().to_owned();
    cluster.sql(&name, "CREATE TABLE other (id int)").unwrap();
    let refused = scene.options().connect(&Location::Postgres(url)).err().unwrap();
    assert!(refused.to_string().contains("is not a loomtree database"), "{refused}");
}

/// Tables of what belongs to no tree: each server of a distributed database has a copy.
const REFERENCE_TABLES: [&str; 17] = [
    "settings",
    "agents",
    "trees",
    "sessions",
    "documents",
    "document_versions",
    "sources",
    "summaries",
    "registers",
    "records",
    "received_turns",
    "system_prompts",
    "cursors",
    "todos",
    "estimates",
    "search_state",
    "embedded_ranges",
];

#[test]
fn the_schema_can_be_distributed_by_tree() {
    let mut keys = 0;
    for name in ["0001_core", "0002_search", "0003_statistics", "0004_views", "0005_parents", "0006_hot_updates"] {
        let path = format!("{}/migrations/postgres/{name}.sql", env!("CARGO_MANIFEST_DIR"));
        let sql = std::fs::read_to_string(path).unwrap();
        let code: String = sql.lines().map(|line| line.split("--").next().unwrap_or("").to_owned() + "\n").collect();
        let upper = code.to_uppercase();
        for forbidden in [
            "SERIAL",
            "SEQUENCE",
            "TRIGGER",
            "DEFERRABLE",
            "EXCLUDE USING",
            "INHERITS",
            "LOCK TABLE",
            "LISTEN",
            "NOTIFY",
            "AS ENUM",
            "GENERATED",
            "CTID",
            "USING GIN",
            "FREEZE",
        ] {
            assert!(!upper.contains(forbidden), "{name} contains {forbidden}");
        }
        for statement in code.split(';').map(str::trim).filter(|statement| statement.starts_with("CREATE TABLE")) {
            let table = statement.split_whitespace().nth(2).unwrap();
            if REFERENCE_TABLES.contains(&table) {
                continue;
            }
            for line in statement.lines().map(str::trim) {
                for key in ["PRIMARY KEY", "UNIQUE", "FOREIGN KEY"].iter().filter(|key| line.contains(**key)) {
                    let listed = line.strip_prefix(key).map(str::trim);
                    let is_tree =
                        listed.is_some_and(|columns| columns.starts_with("(tree")) || line.starts_with("tree ");
                    assert!(is_tree, "a key of {table} does not begin with the tree: {line}");
                    keys += 1;
                }
            }
        }
        for statement in code.split(';').map(str::trim).filter(|statement| statement.starts_with("CREATE UNIQUE INDEX"))
        {
            let table = statement.split_whitespace().nth(5).unwrap();
            assert!(REFERENCE_TABLES.contains(&table) || statement.contains("(tree"), "{statement}");
        }
    }
    assert!(keys > 15, "{keys}");
}

/// Sequential scans of the large tables of a database so far.
fn scans(cluster: &Cluster, database: &str) -> String {
    let sql = "SELECT relname, seq_scan FROM pg_stat_user_tables
               WHERE relname IN ('nodes', 'node_state', 'journal', 'words', 'passages', 'provenance') ORDER BY 1";
    cluster.sql(database, sql).unwrap()
}

#[test]
fn no_read_of_the_hot_paths_scans_a_table() {
    let Some(cluster) = cluster() else { return };
    let scene = Scene::of_file(6);
    let owner = scene.owner();
    grow(&owner);
    let (trunk, _) = reads::grow_branches(&owner, 40);
    let Location::Postgres(url) = transferred(&scene, cluster) else { unreachable!() };
    let database = url.split(['/', '?']).nth(3).unwrap().to_owned();
    // PostgreSQL would scan tables as small as these because that is cheaper, and keep the plan.
    let store = scene.options().connect(&Location::Postgres(url)).unwrap();
    let before = scans(cluster, &database);
    {
        let snapshot = store.snapshot().unwrap();
        assert_eq!(snapshot.path_back(trunk[400], &[], 0).unwrap().len(), 401);
        for tree in snapshot.trees(TreeFilter::default()).unwrap() {
            let nodes = snapshot.nodes_after(tree.id, 0, 100).unwrap();
            for node in nodes.iter().step_by(9) {
                snapshot.path_back(node.id, &[], 0).unwrap();
                snapshot.leaf(node.id).unwrap();
                snapshot.children(node.id, &ChildFilter::default()).unwrap();
                snapshot.continuations(node.id, SiblingCursor::First, 5).unwrap();
                snapshot.versions(node.id).unwrap();
                snapshot.resolve(tree.id, &node.local[..5]).unwrap();
                snapshot.provenance(node.id).unwrap();
                snapshot.links(node.id).unwrap();
            }
            let seqs: Vec<u64> = nodes.iter().map(|node| node.seq).collect();
            assert_eq!(snapshot.nodes_at(&seqs).unwrap().len(), seqs.len());
            snapshot.neighbors(&seqs).unwrap();
            snapshot.journal(JournalFilter::default().tree(tree.id).limit(5)).unwrap();
            search(&*snapshot, &Query::new("harbour lantern", Scope::Tree(tree.id))).unwrap();
        }
        snapshot.journal(JournalFilter::default().after(1).limit(5).oldest_first(true)).unwrap();
        let owner = owner.agent();
        snapshot
            .undo_target(None, loomtree::store::UndoReach::default(), owner, loomtree::store::Direction::Undo)
            .unwrap();
        search(&*snapshot, &Query::new("the map of the coast", Scope::Everything)).unwrap();
    }
    // Writes: groups of appends, of which the later ones are planned for any parameters.
    let theirs = scene.share(std::sync::Arc::clone(&store));
    let actor = theirs.actor(&theirs.agent("owner").unwrap());
    for tree in theirs.snapshot().unwrap().trees(TreeFilter::default()).unwrap() {
        let root = theirs.snapshot().unwrap().nodes_after(tree.id, 0, 1).unwrap()[0].id;
        let session = actor.start_session("/work", tree.id, Some(root)).unwrap();
        let here = actor.clone().in_session(session);
        let appended =
            (0..8).map(|_| here.append(Parent::Position(session), "a rope and a lantern").unwrap().nodes[0].id);
        let nodes: Vec<NodeId> = appended.collect();
        append_all(&actor, nodes[3], 3);
        actor.edit(nodes[1], "another rope").unwrap();
        actor.prune(nodes[5]).unwrap();
        actor.undo(Some(tree.id)).unwrap();
    }
    drop((actor, theirs));
    // A connection reports its statistics when it ends.
    drop(store);
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(scans(cluster, &database), before);
}

/// A scene with a new database of the server.
fn on_server(cluster: &Cluster, seed: u64) -> Scene {
    Scene::of_file(seed).with(Location::Postgres(cluster.new_database()))
}

/// All nodes of a database without their numbers, in order.
fn nodes(actor: &Actor) -> Vec<Node> {
    let snapshot = actor.loom().snapshot().unwrap();
    let mut found = Vec::new();
    for tree in snapshot.trees(TreeFilter::default()).unwrap() {
        found.extend(snapshot.nodes_after(tree.id, 0, 0).unwrap());
    }
    found.iter_mut().for_each(|node| node.seq = 0);
    found
}

#[test]
fn the_same_changes_give_the_same_trees() {
    let Some(cluster) = cluster() else { return };
    let (file, server) = (Scene::of_file(7), on_server(cluster, 7));
    let (ours, theirs) = (file.owner(), server.owner());
    grow(&ours);
    grow(&theirs);
    assert_eq!(nodes(&ours), nodes(&theirs));
    let trees = |actor: &Actor| actor.loom().snapshot().unwrap().trees(TreeFilter::default()).unwrap();
    assert_eq!(trees(&ours), trees(&theirs));
    let entries = |actor: &Actor| {
        let journal = actor.loom().snapshot().unwrap().journal(JournalFilter::default()).unwrap();
        journal.into_iter().map(|entry| (entry.op, entry.change, entry.node, entry.at)).collect::<Vec<_>>()
    };
    assert_eq!(entries(&ours), entries(&theirs));
    let undone = |actor: &Actor| {
        let tree = trees(actor)[0].id;
        actor.undo(Some(tree)).unwrap();
        nodes(actor)
    };
    for _ in 0..4 {
        assert_eq!(undone(&ours), undone(&theirs));
    }
    for actor in [&ours, &theirs] {
        assert_eq!(actor.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
    }
}

/// Appends a message below a node; returns its id.
fn append(actor: &Actor, below: NodeId, number: usize) -> Option<NodeId> {
    let draft = NodeDraft::text(format!("message {number}"));
    Some(actor.append(Parent::Node(below), draft).ok()?.nodes[0].id)
}

/// Appends messages below a node; returns their ids.
fn append_all(actor: &Actor, below: NodeId, count: usize) -> Vec<NodeId> {
    (0..count).map(|number| append(actor, below, number).unwrap()).collect()
}

/// A task that received many messages has used up its budget, and channels of the runtime appear empty to it.
#[tokio::test]
async fn a_busy_task_opens_a_connection() {
    let Some(cluster) = cluster() else { return };
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    (0..1_000).for_each(|message| sender.send(message).unwrap());
    while receiver.recv().now_or_never().flatten().is_some() {}
    let scene = on_server(cluster, 11);
    assert_eq!(nodes(&scene.owner()).len(), 0);
}

#[test]
fn every_message_of_two_servers_is_visible_in_both() {
    let Some(cluster) = cluster() else { return };
    two_servers_write(&on_server(cluster, 8));
}

#[test]
fn a_pooler_in_transaction_mode_lends_two_servers_three_connections() {
    let Some(cluster) = cluster() else { return };
    let Some(pooler) = postgres::Pooler::start(cluster).unwrap() else {
        return skip::because("there is no PgBouncer from 1.21 here");
    };
    let url = pooler.through(&cluster.new_database());
    let scene = Scene::of_file(17).with(Location::Postgres(url));
    two_servers_write(&scene);
    let owner = scene.owner();
    grow(&owner);
    let store = owner.loom().store();
    {
        let snapshot = store.snapshot().unwrap();
        assert!(!search(&*snapshot, &Query::new("lantern tide", Scope::Everything)).unwrap().hits.is_empty());
        let tree = snapshot.trees(TreeFilter::default()).unwrap()[0].id;
        drop(snapshot);
        owner.undo(Some(tree)).unwrap();
    }
    let open = store.begin().unwrap();
    drop(open);
    store.rebuild().unwrap();
    assert_eq!(store.verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

/// Lets two servers write into one tree while a reader follows the journal, and looks for every message in both.
fn two_servers_write(scene: &Scene) {
    let first = scene.owner();
    let (tree, root) = first.create_tree(TreeDraft::new("One tree for two servers")).unwrap();
    let start = first.loom().snapshot().unwrap().last_seq().unwrap();
    let servers: Vec<Actor> = (0..2).map(|number| scene.again(100 + number).owner()).collect();
    let written: Vec<NodeId> = std::thread::scope(|scope| {
        let writers = servers.iter().flat_map(|server| [server, server]);
        let writers: Vec<_> = writers.map(|server| scope.spawn(move || append_all(server, root.id, 40))).collect();
        // A reader follows the journal meanwhile: in order, and without gaps.
        let (mut after, mut seen) = (start, Vec::new());
        while seen.len() < 160 {
            let filter = JournalFilter::default().after(after).limit(7).oldest_first(true);
            for entry in first.loom().snapshot().unwrap().journal(filter).unwrap() {
                assert!(entry.seq > after);
                after = entry.seq;
                // While a transaction of another test runs, the last final entry may precede the root's.
                seen.extend(entry.node.filter(|node| *node != root.id));
            }
        }
        let written: Vec<NodeId> = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        let (mut seen, mut sorted) = (seen, written.clone());
        seen.sort_unstable();
        sorted.sort_unstable();
        assert_eq!(seen, sorted);
        written
    });
    assert_eq!(written.len(), 160);
    for server in servers.iter().chain([&first]) {
        let snapshot = server.loom().snapshot().unwrap();
        assert!(written.iter().all(|id| snapshot.node(*id).unwrap().is_some()));
        assert_eq!(snapshot.tree(tree.id).unwrap().unwrap().counts.nodes, 161);
        assert_eq!(server.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
    }
}

#[test]
fn no_acknowledged_message_is_lost_when_the_server_is_killed() {
    let Some(programs) = postgres::programs() else { return skip::missing("initdb") };
    let mut cluster = Cluster::start(&programs, true).unwrap();
    let scene = on_server(&cluster, 9);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A crash")).unwrap();
    let mut written = Vec::new();
    for _ in 0..3 {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let numbers = (0..).take_while(|_| !is_over.load(Ordering::Relaxed));
                // An append may fail while there is no server; only one that was acknowledged counts.
                numbers.filter_map(|number| append(&owner, root.id, number)).collect::<Vec<_>>()
            });
            std::thread::sleep(std::time::Duration::from_millis(600));
            cluster.crash();
            is_over.store(true, Ordering::Relaxed);
            written.extend(writer.join().unwrap());
        });
        let again = scene.again(written.len() as u64).owner();
        let snapshot = again.loom().snapshot().unwrap();
        assert!(written.iter().all(|id| snapshot.node(*id).unwrap().is_some()));
        assert_eq!(again.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
    }
    assert!(written.len() > 3, "{}", written.len());
}

#[test]
fn no_message_is_written_twice_or_refused_when_the_server_ends_connections() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 18);
    let Location::Postgres(url) = &scene.location else { unreachable!() };
    let database = url.split(['/', '?']).nth(3).unwrap();
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("A restart")).unwrap();
    let is_over = AtomicBool::new(false);
    let written: usize = std::thread::scope(|scope| {
        let write = |writer: usize| {
            let numbers = (0..).take_while(|_| !is_over.load(Ordering::Relaxed));
            // An administrator's restart is no failure: the writer connects again, and asks what became of its commit.
            numbers.map(|number| usize::from(append(&owner, root.id, writer * 1_000_000 + number).is_some())).collect()
        };
        let writers: Vec<_> = (0..8).map(|writer| scope.spawn(move || write(writer))).collect();
        for pause in 0..60 {
            std::thread::sleep(std::time::Duration::from_millis(20 + pause % 7));
            let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                       WHERE datname = current_database() AND application_name = 'loom'";
            cluster.sql(database, end).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        let written: Vec<usize> =
            writers.into_iter().flat_map(|writer| -> Vec<usize> { writer.join().unwrap() }).collect();
        assert!(written.iter().all(|acknowledged| *acknowledged == 1), "a change was refused");
        written.len()
    });
    let snapshot = owner.loom().snapshot().unwrap();
    assert_eq!(snapshot.tree(tree.id).unwrap().unwrap().counts.nodes, written as u64 + 1);
    assert!(written > 60, "{written}");
}

/// Numbers are made of the server's transactions. A database that comes from a server that counted more of them goes on above
/// the numbers that it has.
#[test]
fn a_database_that_was_restored_into_a_younger_server_goes_on() {
    let (Some(programs), Some(cluster)) = (postgres::programs(), cluster()) else { return skip::missing("initdb") };
    let scene = on_server(cluster, 31);
    let Location::Postgres(url) = &scene.location else { unreachable!() };
    let database = url.split(['/', '?']).nth(3).unwrap();
    for _ in 0..20 {
        let burn = "DO $$ BEGIN FOR i IN 1..200 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$";
        cluster.sql(database, burn).unwrap();
    }
    let owner = scene.owner();
    grow(&owner);
    let newest = owner.loom().snapshot().unwrap().journal(JournalFilter::default().limit(1)).unwrap()[0].seq;
    let younger = Cluster::start(&programs, false).unwrap();
    cluster.restore_into(database, &younger).unwrap();
    let restored = scene.again(32).with(Location::Postgres(younger.url(database)));
    // Before it is written to, all entries are final.
    let read_only = restored.options().read_only(true).connect(&restored.location).unwrap();
    assert_eq!(read_only.snapshot().unwrap().last_seq().unwrap(), newest);
    let again = restored.owner();
    assert_eq!(again.loom().store().database_id().unwrap(), owner.loom().store().database_id().unwrap());
    write_more(&again);
    let snapshot = again.loom().snapshot().unwrap();
    let later = snapshot.journal(JournalFilter::default().oldest_first(true).after(newest)).unwrap();
    assert!(later.len() > 40 && later.iter().all(|entry| entry.seq > newest), "{}", later.len());
    assert_eq!(again.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_message_with_nul_is_stored_without_it() {
    let Some(cluster) = cluster() else { return };
    let owner = on_server(cluster, 37).owner();
    let (_, root) = owner.create_tree(TreeDraft::new("begun")).unwrap();
    let draft = NodeDraft::text("she said \0 and more").raw("\0");
    let said = owner.append(Parent::Node(root.id), draft).unwrap().nodes[0].id;
    let node = owner.loom().node(said).unwrap();
    assert_eq!((node.content.as_str(), node.raw.as_deref()), ("she said \u{fffd} and more", Some("\u{fffd}")));
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_watch_connects_again_after_its_connection_was_ended() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 33);
    let Location::Postgres(url) = &scene.location else { unreachable!() };
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A watch")).unwrap();
    let mut watch = owner.loom().store().watch().unwrap();
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    cluster.sql(url.split(['/', '?']).nth(3).unwrap(), end).unwrap();
    append(&owner, root.id, 1).unwrap();
    let start = std::time::Instant::now();
    while !watch.has_changed().unwrap_or(false) {
        assert!(start.elapsed().as_secs() < 10, "the watch sees the change");
    }
}

#[test]
fn a_database_that_cannot_hold_every_text_or_is_half_copied_is_refused() {
    let Some(cluster) = cluster() else { return };
    let refused = |scene: &Scene| scene.options().connect(&scene.location).err().unwrap().to_string();
    let name = format!("latin_{}", std::process::id());
    let create = format!("CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    cluster.sql("postgres", &create).unwrap();
    let latin = Scene::of_file(34).with(Location::Postgres(cluster.url(&name)));
    assert!(refused(&latin).contains("LATIN1"), "{}", refused(&latin));
    let scene = Scene::of_file(35);
    grow(&scene.owner());
    let half = scene.again(36).with(Location::Postgres(cluster.new_database()));
    let from = Location::File(scene.path.clone());
    let cut = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        half.options().transfer(&from, &half.location, &mut |_| panic!("cut off"))
    }));
    assert!(cut.is_err() && refused(&half).contains("has not ended"), "{}", refused(&half));
    half.options().transfer(&from, &half.location, &mut |_| {}).unwrap();
    assert!(half.options().connect(&half.location).is_ok());
}

#[test]
fn a_failover_to_a_synchronous_standby_loses_no_acknowledged_message() {
    let Some(programs) = postgres::programs() else { return skip::missing("initdb") };
    let primary = Cluster::start(&programs, true).unwrap();
    let standby = primary.synchronous_standby(&programs).unwrap();
    let hosts = format!("{}&host={}", primary.folder().display(), standby.folder().display());
    let one = primary.new_database();
    let url = one.replace(&primary.folder().display().to_string(), &hosts) + "&target_session_attrs=read-write";
    let scene = Scene::of_file(15).with(Location::Postgres(url));
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("A failover")).unwrap();
    let (is_over, acknowledged) = (AtomicBool::new(false), AtomicUsize::new(0));
    let written = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut written = Vec::new();
            for number in (0..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                written.extend(append(&owner, root.id, number));
                acknowledged.store(written.len(), Ordering::Relaxed);
            }
            written
        });
        let wait_for = |count| {
            let start = std::time::Instant::now();
            while acknowledged.load(Ordering::Relaxed) < count {
                assert!(start.elapsed().as_secs() < 60, "{count} acknowledged messages");
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        };
        wait_for(20);
        primary.kill();
        standby.promote();
        let before = acknowledged.load(Ordering::Relaxed);
        wait_for(before + 20);
        is_over.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    let again = scene.again(16).owner();
    let snapshot = again.loom().snapshot().unwrap();
    assert!(written.iter().all(|id| snapshot.node(*id).unwrap().is_some()), "{} messages", written.len());
    assert_eq!(again.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

/// Writes an authority and the certificate of a server for `localhost` into the server's folder of data.
const CERTIFICATES: &str = "cd \"$1\" && umask 077 && request() { openssl req -newkey rsa:2048 -nodes \"$@\"; } &&
    request -x509 -keyout ca.key -out ca.crt -days 2 -subj /CN=authority &&
    request -x509 -keyout other.key -out other.crt -days 2 -subj /CN=other &&
    request -keyout server.key -out server.csr -subj /CN=localhost && echo subjectAltName=DNS:localhost >names &&
    openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt";

#[test]
fn connections_are_encrypted_and_certificates_checked_as_the_url_asks() {
    let Some(programs) = postgres::programs() else { return skip::missing("initdb") };
    if std::process::Command::new("openssl").arg("version").output().is_err() {
        return skip::missing("openssl");
    }
    // The server cannot choose a free port.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let cluster = Cluster::start_with(&programs, port, |folder| {
        let mut shell = postgres::as_owner(std::path::Path::new("sh"));
        let made = shell.args(["-c", CERTIFICATES, "sh"]).arg(folder.join("data")).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        " -c fsync=off -c ssl=on -c listen_addresses=127.0.0.1".to_owned()
    });
    let cluster = cluster.unwrap();
    cluster.sql("postgres", "CREATE DATABASE encrypted").unwrap();
    let data = cluster.folder().join("data");
    let roots = |name: &str| format!("sslrootcert={}", data.join(name).display());
    let open = |host: &str, query: &str| {
        let url = format!("postgres://loom@{host}:{port}/encrypted?{query}");
        Scene::of_file(14).options().connect(&Location::Postgres(url))
    };
    let encrypted =
        "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'loom'";
    for (query, shown) in [
        ("sslmode=disable", "f"),
        ("", "t"),
        ("sslmode=require", "t"),
        (&*format!("sslmode=verify-full&{}", roots("ca.crt")), "t"),
    ] {
        let store = open("localhost", query).unwrap();
        drop(store.snapshot().unwrap());
        assert_eq!(cluster.sql("encrypted", encrypted).unwrap().trim(), shown, "{query}");
        drop(store);
        let start = std::time::Instant::now();
        while !cluster.sql("encrypted", encrypted).unwrap().trim().is_empty() {
            assert!(start.elapsed().as_secs() < 20, "the connections end");
        }
    }
    for (host, query) in [
        ("localhost", format!("sslmode=verify-full&{}", roots("other.crt"))),
        ("127.0.0.1", format!("sslmode=verify-full&{}", roots("ca.crt"))),
        ("localhost", "sslmode=verify-full".to_owned()),
    ] {
        let refused = open(host, &query).err().unwrap().to_string();
        assert!(refused.contains("certificate"), "{query}: {refused}");
    }
}

/// Rights of the program in production: it can add, and cannot change what was said.
const APP_RIGHTS: &str = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app;
    REVOKE UPDATE, DELETE ON nodes, journal, document_versions, received_turns FROM app";

#[test]
fn roles_limit_what_a_program_may_do() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 10);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("Rights")).unwrap();
    let Location::Postgres(url) = &scene.location else { unreachable!() };
    let database = url.split(['/', '?']).nth(3).unwrap();
    cluster.sql(database, "CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader").unwrap();
    cluster.sql(database, &format!("CREATE ROLE app LOGIN; {APP_RIGHTS}")).unwrap();
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/operators.md")).unwrap();
    for right in APP_RIGHTS.split(';') {
        assert!(guide.contains(&right.trim().replace("app", "loom_app")), "the guide names other rights than: {right}");
    }
    let connected = |role: &str, seed| {
        let location = Location::Postgres(url.replace("loom@", &format!("{role}@")));
        scene.again(seed).with(location).owner()
    };

    let reader = connected("reader", 11);
    let snapshot = reader.loom().snapshot().unwrap();
    assert_eq!(snapshot.tree(tree.id).unwrap().unwrap().counts.nodes, 1);
    assert_eq!(search(&*snapshot, &Query::new("rights", Scope::Everything)).unwrap().hits.len(), 1);
    drop(snapshot);
    let refused = reader.append(root.id, "not allowed").unwrap_err();
    assert!(refused.to_string().contains("the server refuses the change"), "{refused}");

    let app = connected("app", 12);
    let node = app.append(root.id, "allowed").unwrap().nodes[0].id;
    app.bookmark(node, "here").unwrap();
    app.edit(node, "allowed too").unwrap();
    app.prune(node).unwrap();
    app.undo(Some(tree.id)).unwrap();
    let refused = app.purge(loomtree::store::PurgeTarget::Node(node)).unwrap_err();
    assert!(refused.to_string().contains("the server refuses the change"), "{refused}");
    for sql in ["UPDATE nodes SET content = ''", "DELETE FROM journal", "DELETE FROM nodes"] {
        let refused = cluster.sql(database, &format!("SET ROLE app; {sql}")).unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{refused}");
    }
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_database_whose_transactions_are_serializable_is_opened_by_several_at_once() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 22);
    let Location::Postgres(url) = &scene.location else { unreachable!() };
    let database = url.split(['/', '?']).nth(3).unwrap();
    let set = format!("ALTER DATABASE {database} SET default_transaction_isolation = 'serializable'");
    cluster.sql(database, &set).unwrap();
    std::thread::scope(|scope| {
        let open = |seed| scene.again(seed).owner().create_tree(TreeDraft::new(format!("Tree {seed}"))).unwrap();
        let opened: Vec<_> = (30..38).map(|seed| scope.spawn(move || open(seed))).collect();
        opened.into_iter().for_each(|opened| drop(opened.join().unwrap()));
    });
    assert_eq!(nodes(&scene.owner()).len(), 8);
}

#[test]
fn a_violated_constraint_refuses_the_change() {
    use loomtree::{
        id::DocumentId,
        ops::OpsError,
        store::{Mutation, StoreError},
        types::Op,
    };

    let Some(cluster) = cluster() else { return };
    let owner = on_server(cluster, 23).owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("Twice")).unwrap();
    let node = owner.draft(Parent::Node(root.id), "once".into());
    let append = || owner.commit(Op::Append, vec![Mutation::Append(Box::new(node.clone()))]);
    append().unwrap();
    let twice = append().unwrap_err();
    assert!(matches!(twice, OpsError::Store(StoreError::Conflict(_))), "{twice:?}");
    let id = DocumentId::from_bytes(tree.id.to_bytes());
    let unnamed = Mutation::CreateDocument { id, name: String::new(), content: String::new() };
    let unnamed = owner.commit(Op::WriteDocument, vec![unnamed]).unwrap_err();
    assert!(matches!(unnamed, OpsError::Store(StoreError::Refused(_))), "{unnamed:?}");
}

/// Entries of a file are numbered from 1, so that a group may have any numbers.
#[test]
fn a_transferred_group_is_undone_whatever_its_numbers_are() {
    let Some(cluster) = cluster() else { return };
    let scene = Scene::of_file(24);
    let owner = scene.owner();
    let (tree, root) = owner.create_tree(TreeDraft::new("Groups")).unwrap();
    let several =
        |owner: &Actor| (0..6).map(|number| Ok(owner.append(root.id, format!("{number}"))?.nodes[0].id)).collect();
    let written: Vec<NodeId> = owner.transaction(several).unwrap();
    let later = owner.append(root.id, "later").unwrap().nodes[0].id;
    let Location::Postgres(url) = transferred(&scene, cluster) else { unreachable!() };
    let first = "SELECT grp FROM journal GROUP BY grp HAVING count(*) = 6";
    let database = url.split(['/', '?']).nth(3).unwrap();
    // The third entry of the transaction gets the number 2^20.
    cluster
        .sql(
            database,
            &format!(
                "CREATE TEMPORARY TABLE moved AS SELECT 1048576 - 2 - ({first}) AS by;
                 UPDATE journal SET seq = -(seq + (SELECT by FROM moved)), grp = grp + (SELECT by FROM moved);
                 UPDATE journal SET seq = -seq;
                 UPDATE tree_state SET last_journal = last_journal + (SELECT by FROM moved)"
            ),
        )
        .unwrap();
    let owner = scene.again(25).with(Location::Postgres(url.clone())).owner();
    let is_pruned = |node| owner.loom().node(node).unwrap().state.hidden_by.is_some();
    owner.undo(Some(tree.id)).unwrap();
    assert!(is_pruned(later) && !is_pruned(written[0]));
    owner.undo(Some(tree.id)).unwrap();
    assert!(written.iter().all(|node| is_pruned(*node)));
}

/// A server has a writer, an indexer and readers.
#[test]
fn readers_wait_for_each_other_when_the_server_has_no_connection_left() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 14);
    let (tree, root) = scene.owner().create_tree(TreeDraft::new("Few")).unwrap();
    let Location::Postgres(url) = &scene.location else { unreachable!() };
    let database = url.split(['/', '?']).nth(3).unwrap();
    let role = format!("CREATE ROLE few LOGIN CONNECTION LIMIT 4; {}", APP_RIGHTS.replace("app", "few"));
    cluster.sql(database, &role).unwrap();
    let location = Location::Postgres(url.replace("loom@", "few@"));
    let few = scene.again(15).with(location).owner();
    few.append(root.id, "written").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let snapshot = few.loom().snapshot().unwrap();
                std::thread::sleep(std::time::Duration::from_millis(60));
                assert_eq!(snapshot.tree(tree.id).unwrap().unwrap().counts.nodes, 2);
            });
        }
    });
}

#[cfg(feature = "serve")]
#[tokio::test]
async fn a_server_whose_database_does_not_answer_is_not_ready() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 16);
    scene.owner().create_tree(TreeDraft::new("Silent")).unwrap();
    let Location::Postgres(url) = &scene.location else { unreachable!() };
    let database = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let home = support::cli::Home::with_database(url.clone());
    let server = support::loom_server::HttpServer::start(&home, &[]);
    assert_eq!(server.get("/readyz").await.0, 200);
    let lock = std::thread::spawn(move || {
        cluster.sql(&database, "BEGIN; LOCK TABLE journal IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(8)").unwrap();
    });
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let (first, second) = tokio::join!(server.get("/readyz"), server.get("/readyz"));
    assert_eq!([first.0, second.0], [503, 503], "{first:?}");
    lock.join().unwrap();
    assert_eq!(server.get("/readyz").await.0, 200);
}

/// A request whose answer never comes does not keep the program.
#[cfg(all(feature = "serve", unix))]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_ends_although_its_database_does_not_answer() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 17);
    scene.owner().create_tree(TreeDraft::new("Silent")).unwrap();
    let Location::Postgres(url) = &scene.location else { unreachable!() };
    let database = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let home = support::cli::Home::with_database(url.clone());
    let mut server = support::loom_server::HttpServer::start(&home, &[]);
    assert_eq!(server.get("/readyz").await.0, 200);
    let locked = database.clone();
    let lock = std::thread::spawn(move || {
        cluster.sql(&locked, "BEGIN; LOCK TABLE journal, trees, nodes IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(300)")
    });
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let waiting = tokio::spawn(server.request(reqwest::Method::GET, "/api/v1/trees").send());
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert_eq!(server.terminate().code(), Some(1));
    assert!(!lock.is_finished(), "the database answered");
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    cluster.sql(&database, end).unwrap();
    assert!(lock.join().unwrap().is_err());
    let _ = waiting.await;
}

/// No foreign key keeps a parent.
#[test]
fn verify_names_a_node_whose_parent_is_gone() {
    let Some(cluster) = cluster() else { return };
    let scene = on_server(cluster, 21);
    let owner = scene.owner();
    let (_, root) = owner.create_tree(TreeDraft::new("Chain")).unwrap();
    let parent = owner.append(root.id, "parent").unwrap().nodes[0].id;
    let child = owner.append(parent, "child").unwrap().nodes[0].local.clone();
    let Location::Postgres(url) = &scene.location else { unreachable!() };
    cluster.sql(url.split(['/', '?']).nth(3).unwrap(), "DELETE FROM nodes WHERE content = 'parent'").unwrap();
    let problems = owner.loom().store().verify(&mut |_| {}).unwrap().problems;
    let named = format!("node [{child}] is damaged: node ");
    assert!(problems.iter().any(|problem| problem.starts_with(&named)), "{problems:?}");
}

#[cfg(all(feature = "cli", feature = "serve"))]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_while_it_generates_leaves_its_text_and_a_lease_that_runs_out() {
    use loomtree::{store::StoreError, types::Timestamp};
    use support::{
        cli::Home,
        fake_model_server::{Server, chunk, chunked_head, text, wait},
        loom_server::HttpServer,
    };

    let Some(cluster) = cluster() else { return };
    let url = cluster.new_database();
    let database = url.split(['/', '?']).nth(3).unwrap().to_owned();
    let begun = vec![chunked_head(), chunk(&text("Once upon a")), wait(600_000)];
    let model = Server::with_model("m", [begun]).await;
    let home = Home::with_database(url.clone());
    let mut server = HttpServer::start(&home, &[]);
    let created = server.ok("/api/v1/trees", serde_json::json!({ "content": "Tell a story." })).await;
    let root = created["root"]["id"].as_str().unwrap().to_owned();
    let body = serde_json::json!({ "models": [format!("{}#m", model.url())], "stream": true });
    let path = format!("/api/v1/nodes/{root}/continuations");
    let mut stream = server.request(reqwest::Method::POST, &path).json(&body).send().await.unwrap();
    let mut text = String::new();
    while !text.contains("Once upon a") {
        text.push_str(std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
    }
    server.kill();

    let expiry = cluster.sql(&database, "SELECT expires_at FROM leases").unwrap();
    let expiry: i64 = expiry.trim().parse().unwrap_or_else(|_| panic!("one lease: {expiry:?}"));
    let scene = Scene::of_file(13).with(Location::Postgres(url));
    let at = |millis: i64| scene.clock.set(Timestamp::from_millis(millis));
    let (owner, root) = (scene.owner(), root.parse::<NodeId>().unwrap());
    at(expiry - 1);
    let refused = owner.append(root, "too early").unwrap_err();
    let is_leased = matches!(refused, loomtree::ops::OpsError::Store(StoreError::Leased { seconds: 1, .. }));
    assert!(is_leased, "{refused:?}");
    at(expiry);
    owner.append(root, "the lease has run out").unwrap();

    // The next start on the machine saves what the killed server had received.
    let again = HttpServer::start(&home, &[]);
    let (_, found) = again.get(&format!("/api/v1/trees/{}/nodes", created["tree"]["id"].as_str().unwrap())).await;
    let saved: Vec<_> = found["data"].as_array().unwrap().iter().filter(|node| node["interrupted"] == true).collect();
    assert_eq!(saved.len(), 1, "{found}");
    assert_eq!(saved[0]["content"], "Once upon a");
    assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}
