//! The rules that the schema itself enforces, here against a plain SQLite connection.

use loomtree::{
    ops::{Actor, NodeDraft, TreeDraft},
    store::{LocalIdLookup, Mutation},
    types::{Mode, Op, Parent},
};
use rusqlite::Connection;

use crate::{assert_clean, chain, support::store::Scene};

/// Creates two trees, a session, a document, and a connection that bypasses the store.
fn stocked(seed: u64) -> (Scene, Actor, Connection) {
    let scene = Scene::new(seed);
    let owner = scene.owner();
    let nodes = chain(&owner, 3);
    let session = owner.start_session("/project", nodes[0].tree, Some(nodes[3].id)).unwrap();
    let speaker = owner.clone().in_session(session);
    speaker.append(Parent::Position(session), NodeDraft::text("turn one")).unwrap();
    speaker.append(Parent::Position(session), NodeDraft::text("turn two")).unwrap();
    owner.create_tree(TreeDraft::new("another root").mode(Mode::Buffer)).unwrap();
    owner.create_document("notes", "# Notes\n").unwrap();
    owner.bookmark(nodes[1].id, "here").unwrap();
    let raw = Connection::open(&scene.path).unwrap();
    raw.pragma_update(None, "foreign_keys", "ON").unwrap();
    (scene, owner, raw)
}

fn assert_refused(raw: &Connection, sql: &str) {
    let before = raw.total_changes();
    match raw.execute_batch(sql) {
        Err(error) => {
            let code = error.sqlite_error_code();
            // The triggers that set checksums call a function that only the program has.
            let refused = code == Some(rusqlite::ErrorCode::ConstraintViolation)
                || error.to_string().contains("no such function: row_sum");
            assert!(refused, "{sql}: {error}");
        }
        Ok(()) => panic!("the schema lets this through ({} rows): {sql}", raw.total_changes() - before),
    }
}

#[test]
fn nothing_of_a_node_can_be_updated() {
    let (_scene, owner, raw) = stocked(51);
    // For each column a value that differs from the stored one.
    for (column, value) in [
        ("seq", "99"),
        ("ulid", "randomblob(16)"),
        ("tree", "2"),
        ("local_id", "'zzzzzz'"),
        ("parent", "1"),
        ("depth", "7"),
        ("kind", "1"),
        ("author", "2"),
        ("author_type", "2"),
        ("created_at", "5"),
        ("hash", "randomblob(32)"),
        ("session", "NULL"),
        ("turn", "9"),
        ("edited_from", "1"),
        ("version_of", "1"),
        ("tokens", "9"),
        ("interrupted", "1"),
        ("purged_at", "9"),
        ("tool_call_id", "'x'"),
        ("tool_name", "'x'"),
        ("tool_calls", "'[]'"),
        ("metadata", "'{}'"),
        ("content", "'other words'"),
        ("raw", "'x'"),
        ("role", "2"),
        ("row_sum", "2"),
    ] {
        assert_refused(&raw, &format!("UPDATE nodes SET {column} = {value} WHERE seq = 5"));
        // A purge may change only the columns that it empties, and the checksum.
        if !matches!(column, "purged_at" | "row_sum") {
            assert_refused(
                &raw,
                &format!(
                    "UPDATE nodes SET content = '', raw = NULL, metadata = NULL, tool_calls = NULL,
                         tool_call_id = NULL, tool_name = NULL, purged_at = 9, {column} = {value} WHERE seq = 5"
                ),
            );
        }
    }
    let columns: Vec<String> = raw
        .prepare("SELECT name FROM pragma_table_info('nodes')")
        .unwrap()
        .query_map([], |r| r.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(columns.len(), 26, "a column was added: add it above: {columns:?}");
    assert_clean(owner.loom().store().as_ref());
}

#[test]
fn a_purged_node_stays_purged() {
    let (_scene, owner, raw) = stocked(52);
    let empty = "content = '', raw = NULL, metadata = NULL, tool_calls = NULL, tool_call_id = NULL, tool_name = NULL";
    raw.execute_batch(&format!("UPDATE nodes SET {empty}, purged_at = 9 WHERE seq = 5")).unwrap();
    assert_refused(&raw, "UPDATE nodes SET content = 'back' WHERE seq = 5");
    assert_refused(&raw, "UPDATE nodes SET purged_at = NULL WHERE seq = 5");
    assert_refused(&raw, "UPDATE nodes SET purged_at = 10 WHERE seq = 5");
    // Only the program computes the checksum.
    let problems = crate::verified(owner.loom().store().as_ref()).problems;
    assert_eq!(problems, ["row 5 of nodes does not match its checksum"]);
}

#[test]
fn no_row_of_the_archive_can_be_deleted_or_replaced() {
    let (_scene, owner, raw) = stocked(53);
    for sql in [
        "DELETE FROM nodes WHERE seq = 5",
        "DELETE FROM nodes",
        "DELETE FROM trees",
        "DELETE FROM agents",
        "DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)",
        "DELETE FROM document_versions",
        "UPDATE document_versions SET content = 'x'",
        "UPDATE journal SET op = 5",
        "UPDATE journal SET at = 0",
        "UPDATE journal SET undo = 'x' WHERE undo IS NOT NULL",
        "UPDATE trees SET mode = 1 - mode",
        "UPDATE trees SET created_at = 0",
        "UPDATE trees SET ulid = randomblob(16)",
        "UPDATE agents SET kind = 1 - kind",
        "UPDATE agents SET ulid = randomblob(16)",
    ] {
        assert_refused(&raw, sql);
    }
    // REPLACE deletes conflicting rows without running delete triggers.
    let columns = "ulid, tree, local_id, parent, depth, kind, author, author_type, created_at, hash, content";
    for kept in ["ulid", "local_id"] {
        let values = columns.split(", ").map(|column| match column {
            c if c == kept => c.to_owned(),
            "ulid" => "randomblob(16)".to_owned(),
            "local_id" => "'zzzzzz'".to_owned(),
            "content" => "'other words'".to_owned(),
            c => c.to_owned(),
        });
        let values = values.collect::<Vec<_>>().join(", ");
        for verb in ["INSERT OR REPLACE", "REPLACE", "INSERT"] {
            assert_refused(&raw, &format!("{verb} INTO nodes ({columns}) SELECT {values} FROM nodes WHERE seq = 3"));
        }
    }
    assert_refused(
        &raw,
        &format!(
            "REPLACE INTO nodes (seq, {columns}) SELECT seq, randomblob(16), tree, 'zzzzzz', parent, depth, kind,
                 author, author_type, created_at, hash, 'other words' FROM nodes WHERE seq = 3"
        ),
    );
    // REPLACE must not remove a node through the unique root of a tree or the unique turn of a session either.
    for verb in ["REPLACE", "INSERT"] {
        assert_refused(
            &raw,
            &format!(
                "{verb} INTO nodes ({columns}) SELECT randomblob(16), tree, 'zzzzzz', parent, depth, kind, author,
                     author_type, created_at, hash, 'other words' FROM nodes WHERE parent IS NULL AND tree = 2"
            ),
        );
    }
    for verb in ["REPLACE", "INSERT"] {
        assert_refused(
            &raw,
            &format!(
                "{verb} INTO nodes ({columns}, session, turn) SELECT randomblob(16), tree, 'zzzzzz', parent, depth, kind,
                     author, author_type, created_at, hash, 'other words', session, turn FROM nodes WHERE turn = 1"
            ),
        );
    }
    for verb in ["REPLACE", "INSERT"] {
        for (table, columns, values) in [
            (
                "document_versions",
                "document, version, author, created_at, content",
                "document, version, author, 0, 'x'",
            ),
            ("trees", "id, ulid, mode, created_at", "id, ulid, 1 - mode, 0"),
            ("agents", "id, ulid, name, kind, permissions, created_at", "id, ulid, name || 'x', 1 - kind, 0, 0"),
            ("agents", "ulid, name, kind, permissions, created_at", "ulid, name || 'x', 1 - kind, 0, 0"),
        ] {
            assert_refused(&raw, &format!("{verb} INTO {table} ({columns}) SELECT {values} FROM {table} LIMIT 1"));
        }
    }
    assert_clean(owner.loom().store().as_ref());
}

/// Inserts a valid node, with the columns in `but` replaced.
fn insert(raw: &Connection, but: &[(&str, &str)]) -> rusqlite::Result<()> {
    let plain = [
        ("ulid", "randomblob(16)"),
        ("tree", "1"),
        ("local_id", "'zzzzzz'"),
        ("parent", "1"),
        ("depth", "1"),
        ("kind", "0"),
        ("author", "1"),
        ("author_type", "0"),
        ("created_at", "0"),
        ("hash", "randomblob(32)"),
        ("content", "'words'"),
    ];
    let mut columns: Vec<(&str, &str)> = plain.into_iter().filter(|(c, _)| but.iter().all(|(b, _)| b != c)).collect();
    columns.extend(but);
    let names: Vec<&str> = columns.iter().map(|c| c.0).collect();
    let values: Vec<&str> = columns.iter().map(|c| c.1).collect();
    raw.execute_batch(&format!("INSERT INTO nodes ({}) VALUES ({})", names.join(", "), values.join(", ")))
}

#[test]
fn a_node_has_a_valid_parent() {
    let (_scene, owner, raw) = stocked(54);
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("a second root", &[("parent", "NULL"), ("depth", "0")]),
        ("a root with a depth", &[("parent", "NULL"), ("depth", "1"), ("tree", "2")]),
        ("a parent of another tree", &[("tree", "2")]),
        ("a parent that is not there", &[("parent", "4000")]),
        ("a parent that is itself", &[("seq", "500"), ("parent", "500")]),
        ("a parent that comes later", &[("seq", "-1"), ("parent", "3"), ("depth", "3")]),
        ("a depth that is not the parent's and one", &[("depth", "2")]),
        ("a local id that is taken", &[("local_id", "(SELECT local_id FROM nodes WHERE seq = 3)")]),
        ("a ULID that is taken", &[("ulid", "(SELECT ulid FROM nodes WHERE seq = 3)")]),
        ("a turn that is taken", &[("session", "1"), ("turn", "1")]),
        ("a turn without a session", &[("turn", "1")]),
        ("a session without a turn", &[("session", "1")]),
        ("a kind that means nothing", &[("kind", "7")]),
        ("an author type that means nothing", &[("author_type", "4")]),
        ("an author who is not there", &[("author", "4000")]),
        ("a tree that is not there", &[("tree", "4000"), ("parent", "NULL"), ("depth", "0")]),
        ("an original that comes later", &[("edited_from", "4000")]),
        ("a place that comes later", &[("version_of", "4000")]),
        ("no content", &[("content", "NULL")]),
        ("content that is bytes", &[("content", "x'00ff'")]),
    ];
    for (what, but) in cases {
        let error = insert(&raw, but).expect_err(what);
        assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::ConstraintViolation), "{what}: {error}");
    }
    assert_clean(owner.loom().store().as_ref());
    // The unmodified row is accepted, so each refusal was caused by its replaced column.
    raw.execute_batch("BEGIN").unwrap();
    insert(&raw, &[]).unwrap();
    insert(&raw, &[("local_id", "'yyyyyy'"), ("session", "1"), ("turn", "3")]).unwrap();
    raw.execute_batch("ROLLBACK").unwrap();
}

#[test]
fn local_ids_are_found_and_taken_in_both_of_their_tables() {
    let (_scene, owner, raw) = stocked(55);
    let tree = owner.loom().snapshot().unwrap().trees(loomtree::store::TreeFilter::default()).unwrap().pop().unwrap();
    let root = tree.root.unwrap();
    let nodes: Vec<_> = (0..33_000)
        .map(|n| owner.draft(Parent::Node(root), NodeDraft::text(format!("{n}")).keep_position(true)))
        .collect();
    let ids: Vec<_> = nodes.iter().map(|node| node.id).collect();
    owner.commit(Op::Import, nodes.into_iter().map(|node| Mutation::Append(Box::new(node))).collect()).unwrap();
    let count =
        |table: &str| -> i64 { raw.query_row(&format!("SELECT count(*) FROM {table}"), [], |r| r.get(0)).unwrap() };
    assert_eq!(count("local_ids"), count("nodes"));
    assert!(count("local_ids_kept") >= 32_768 && count("local_ids_newest") > 0, "both have some");
    let snapshot = owner.loom().snapshot().unwrap();
    for id in ids.iter().step_by(4_000).chain(&[root, ids[32_999]]) {
        let node = snapshot.node(*id).unwrap().unwrap();
        for text in [node.local.as_str(), &id.to_string(), &node.local.as_str()[..5]] {
            let found = match snapshot.resolve(tree.id, text).unwrap() {
                LocalIdLookup::One(node) => vec![*node],
                LocalIdLookup::Many(nodes) => nodes,
                LocalIdLookup::None(near) => panic!("{text} is not found, near it are {near:?}"),
            };
            assert!(found.iter().any(|found| found.id == *id), "{text}: {found:?}");
        }
        assert!(insert(&raw, &[("local_id", &format!("'{}'", node.local))]).is_err(), "{} is taken", node.local);
    }
    raw.execute_batch("BEGIN").unwrap();
    insert(&raw, &[]).unwrap();
    raw.execute_batch("ROLLBACK").unwrap();
    drop(snapshot);
    assert_clean(owner.loom().store().as_ref());
}
