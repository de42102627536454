//! Databases of older versions: every run opens each released one, migrates it, and checks its content.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::support;

use std::{fs, path::Path};

use loomtree::{
    id::NodeId,
    ops::{Actor, NodeDraft, TreeDraft},
    store::{StoreError, TreeFilter},
    types::{AuthorType, NewAgent, Parent, Permission, Permissions},
};
use support::store::Scene;

/// The databases in `fixtures/databases`, by name.
fn old_databases() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/databases"));
    let mut found: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "db"))
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap()))
        .collect();
    found.sort();
    assert!(!found.is_empty(), "there are no old databases");
    found
}

/// The content of files next to the scene's database whose name has this ending.
fn files_next_to(scene: &Scene, end: &str) -> Vec<Vec<u8>> {
    let folder = fs::read_dir(scene.path.parent().unwrap()).unwrap();
    let named = folder.map(|e| e.unwrap().path()).filter(|p| p.to_string_lossy().ends_with(end));
    named.map(|p| fs::read(p).unwrap()).collect()
}

#[test]
fn an_old_database_is_backed_up_migrated_and_whole() {
    for (name, bytes) in old_databases() {
        let scene = Scene::of_file(3);
        fs::write(&scene.path, &bytes).unwrap();
        let before: i64 = rusqlite::Connection::open(&scene.path)
            .unwrap()
            .query_row("SELECT count(*) FROM nodes", [], |r| r.get(0))
            .unwrap();
        let owner = scene.owner();
        let report = owner.loom().store().verify(&mut |_| {}).unwrap();
        assert_eq!(report.problems, Vec::<String>::new(), "{name}");
        assert_eq!(report.nodes, before.unsigned_abs(), "{name}");
        let trees = owner.loom().snapshot().unwrap().trees(TreeFilter::default()).unwrap();
        assert!(!trees.is_empty(), "{name}");
        owner.append(Parent::Node(trees[0].root.unwrap()), NodeDraft::text("and on it goes")).unwrap();
        assert!(owner.loom().document("notes").is_ok(), "{name}");

        let backups = files_next_to(&scene, ".bak");
        assert_eq!(backups.len(), 1, "{name}: one backup beside it");
        #[cfg(unix)]
        for file in fs::read_dir(scene.path.parent().unwrap()).unwrap().map(|file| file.unwrap()) {
            let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
            // The fixture itself was written with the mode of the test.
            let is_backup = file.file_name().to_string_lossy().ends_with(".bak");
            assert!(!is_backup || mode & 0o077 == 0, "{name}: {mode:o}");
        }
        let copy = Scene::of_file(4);
        fs::write(&copy.path, &backups[0]).unwrap();
        let version = |path: &Path| -> i64 {
            rusqlite::Connection::open(path).unwrap().pragma_query_value(None, "user_version", |r| r.get(0)).unwrap()
        };
        assert_eq!(format!("schema-{}", version(&copy.path)), name);
        assert!(version(&scene.path) > version(&copy.path));

        // Opening it again migrates nothing, and makes no second backup.
        drop(owner);
        drop(scene.owner());
        assert_eq!(files_next_to(&scene, ".bak").len(), 1, "{name}");
    }
}

#[test]
fn an_old_database_is_not_migrated_by_reading_it() {
    for (name, bytes) in old_databases() {
        let scene = Scene::of_file(3);
        fs::write(&scene.path, &bytes).unwrap();
        let refused = scene.options().read_only(true).open(&scene.path).unwrap_err();
        assert!(matches!(refused, StoreError::Refused(_)), "{name}: {refused}");
        assert!(refused.to_string().contains("open it once for writing"), "{name}: {refused}");
        assert_eq!(fs::read(&scene.path).unwrap(), bytes, "{name}");
    }
}

#[test]
fn two_at_once_migrate_once() {
    for (name, bytes) in old_databases() {
        let scene = Scene::of_file(3);
        fs::write(&scene.path, &bytes).unwrap();
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| drop(scene.store()));
            }
        });
        // A process that starts between two migrations may copy that state too; the original state is copied once.
        assert_eq!(files_next_to(&scene, &format!(".{name}-1700000000000.bak")).len(), 1, "{name}");
        assert_eq!(scene.owner().loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn only_a_collaborator_that_was_never_changed_may_delegate_after_a_migration() {
    let may_delegate = |scene: &Scene| {
        let loom = scene.owner().loom().clone();
        assert_eq!(loom.store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
        loom.agent("collaborator").unwrap().profile.permissions.has(Permission::Delegate)
    };
    // The profile before the migration, as it was made or as it was changed back.
    for (changed, expected) in [(false, true), (true, false)] {
        let scene = Scene::of_file(3);
        let owner = scene.owner();
        owner.create_tree(TreeDraft::new("What is the weather?")).unwrap();
        let profile = owner.loom().agent("collaborator").unwrap().profile;
        let held: Permissions = profile.permissions.iter().filter(|held| *held != Permission::Delegate).collect();
        if changed {
            owner.update_agent(NewAgent { permissions: held, ..profile }).unwrap();
        }
        drop(owner);
        let conn = rusqlite::Connection::open(&scene.path).unwrap();
        let trigger: String =
            conn.query_row("SELECT sql FROM sqlite_schema WHERE name = 'agents_updated'", [], |r| r.get(0)).unwrap();
        // The migration sums the row anew.
        conn.execute_batch(&format!(
            "DROP TRIGGER agents_updated; UPDATE agents SET permissions = {} WHERE name = 'collaborator'; {trigger};
             DROP TABLE retags; DELETE FROM migrations WHERE version > 21; PRAGMA user_version = 21",
            held.bits()
        ))
        .unwrap();
        drop(conn);
        assert_eq!(may_delegate(&scene), expected, "changed: {changed}");
    }
    for (name, bytes) in old_databases() {
        let scene = Scene::of_file(3);
        fs::write(&scene.path, &bytes).unwrap();
        assert!(may_delegate(&scene), "{name}");
    }
}

/// Creates a model's reply, a human's edit of it, and an edit of that edit.
fn edited(owner: &Actor) -> [NodeId; 2] {
    let (_, root) = owner.create_tree(TreeDraft::new("What is the weather?")).unwrap();
    let root = root.id;
    let reply = NodeDraft::text("It shone.").author_type(AuthorType::Model);
    let reply = owner.append(Parent::Node(root), reply).unwrap().nodes[0].id;
    let first = owner.edit(reply, "It rained.").unwrap().nodes[0].id;
    [first, owner.edit(first, "It snowed.").unwrap().nodes[0].id]
}

#[test]
fn an_edit_keeps_its_role_even_if_it_predates_roles() {
    let scene = Scene::of_file(3);
    let owner = scene.owner();
    let edits = edited(&owner);
    let tree = owner.loom().node(edits[0]).unwrap().tree;
    let session = owner.start_session("/project", tree, Some(edits[0])).unwrap();
    let speaker = owner.clone().in_session(session);
    speaker.edit(edits[0], "It hailed.").unwrap();
    speaker.record(loomtree::session_state::RecordKind::Decision, "umbrellas").unwrap();
    let state = owner.loom().snapshot().unwrap().session_state(session).unwrap();
    let keeps = |owner: &Actor| {
        for id in edits {
            let node = owner.loom().node(id).unwrap();
            assert_eq!((node.author_type, node.role()), (AuthorType::Human, AuthorType::Model));
            assert_eq!(node.speaker(), "model, edited by human");
        }
    };
    keeps(&owner);
    drop(owner);
    // The same file as before the migration that added roles.
    let conn = rusqlite::Connection::open(&scene.path).unwrap();
    let trigger: String =
        conn.query_row("SELECT sql FROM sqlite_schema WHERE name = 'nodes_update'", [], |r| r.get(0)).unwrap();
    let list = |sql: &str| -> Vec<String> {
        conn.prepare(sql).unwrap().query_map([], |r| r.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let mut before = list(
        "SELECT 'DROP TRIGGER ' || name FROM sqlite_schema WHERE type = 'trigger' AND sql LIKE '%row_sum = row_sum(%'",
    );
    before.extend(list(
        "SELECT 'ALTER TABLE ' || m.name || ' DROP COLUMN row_sum' FROM sqlite_schema m JOIN pragma_table_info(m.name) c
         WHERE m.type = 'table' AND c.name = 'row_sum'",
    ));
    before.extend([
        "DROP VIEW cowork_sessions; CREATE VIEW cowork_sessions AS SELECT id FROM sessions".to_owned(),
        "ALTER TABLE sessions DROP COLUMN person_turns; DROP TABLE system_prompts".to_owned(),
        "DROP VIEW conversation_turns; DROP TRIGGER nodes_update; ALTER TABLE nodes DROP COLUMN role".to_owned(),
        "DROP TABLE received_turns; CREATE VIEW conversation_turns AS SELECT seq AS id FROM nodes".to_owned(),
        trigger.replace(" AND NEW.role IS OLD.role", ""),
        "DROP TRIGGER nodes_delete; DROP TABLE staged_nodes; DROP TABLE retags".to_owned(),
        "DROP TABLE vector_codes; DROP TABLE embedded_ranges; DROP INDEX sessions_expiry".to_owned(),
        "CREATE TRIGGER nodes_delete BEFORE DELETE ON nodes BEGIN SELECT RAISE(ABORT, ''); END".to_owned(),
        "ALTER TABLE tree_state DROP COLUMN messages; DROP TABLE cursors".to_owned(),
        "UPDATE registers SET state = '{}'".to_owned(),
        "DELETE FROM migrations WHERE version > 12; PRAGMA user_version = 12".to_owned(),
    ]);
    before.iter().for_each(|sql| conn.execute_batch(sql).unwrap());
    drop(conn);
    let owner = scene.owner();
    keeps(&owner);
    let store = owner.loom().store();
    assert_eq!(store.snapshot().unwrap().session_state(session).unwrap(), state, "it is made again by roles");
    assert_eq!(store.verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
}

#[test]
fn verify_sees_a_change_of_each_field_that_the_hash_covers() {
    for change in [
        "author_type = 0",
        "role = 0",
        "created_at = created_at + 1",
        "raw = 'raw'",
        "tool_calls = '[]'",
        "tool_call_id = 'x'",
        "tool_name = 'x'",
        "tokens = 7",
        "interrupted = 1",
        "metadata = '{}'",
        "version_of = NULL, edited_from = NULL",
        "purged_at = 1",
    ] {
        let scene = Scene::of_file(3);
        let owner = scene.owner();
        edited(&owner);
        assert_eq!(owner.loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new());
        let conn = rusqlite::Connection::open(&scene.path).unwrap();
        let which =
            if change.contains("author_type") { "author_type = 1" } else { "seq = (SELECT max(seq) FROM nodes)" };
        conn.execute_batch(&format!("DROP TRIGGER nodes_update; UPDATE nodes SET {change} WHERE {which}")).unwrap();
        let problems = owner.loom().store().verify(&mut |_| {}).unwrap().problems;
        assert!(problems.iter().any(|p| p.contains("is damaged")), "{change}: {problems:?}");
    }
}

#[test]
fn verify_sees_undo_data_that_does_not_decode() {
    let scene = Scene::of_file(3);
    let owner = scene.owner();
    edited(&owner);
    let conn = rusqlite::Connection::open(&scene.path).unwrap();
    conn.execute_batch("DROP TRIGGER journal_update; UPDATE journal SET undo = '{\"Prun' WHERE seq = 1").unwrap();
    let problems = owner.loom().store().verify(&mut |_| {}).unwrap().problems;
    assert!(problems.iter().any(|p| p.contains("journal entry 1 cannot be undone")), "{problems:?}");
}
