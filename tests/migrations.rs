//! Databases of older versions: each that was ever released is opened by every run, migrated, and found whole.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

mod support;

use std::{fs, path::Path};

use loomtree::{
    ops::NodeDraft,
    store::{StoreError, TreeFilter},
    types::Parent,
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

/// Files beside the scene's database whose name ends so.
fn beside(scene: &Scene, end: &str) -> Vec<Vec<u8>> {
    let folder = fs::read_dir(scene.path.parent().unwrap()).unwrap();
    let named = folder.map(|e| e.unwrap().path()).filter(|p| p.to_string_lossy().ends_with(end));
    named.map(|p| fs::read(p).unwrap()).collect()
}

#[test]
fn an_old_database_is_backed_up_migrated_and_whole() {
    for (name, bytes) in old_databases() {
        let scene = Scene::new(3);
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

        let backups = beside(&scene, ".bak");
        assert_eq!(backups.len(), 1, "{name}: one backup beside it");
        let copy = Scene::new(4);
        fs::write(&copy.path, &backups[0]).unwrap();
        let version = |path: &Path| -> i64 {
            rusqlite::Connection::open(path).unwrap().pragma_query_value(None, "user_version", |r| r.get(0)).unwrap()
        };
        assert_eq!(format!("schema-{}", version(&copy.path)), name);
        assert!(version(&scene.path) > version(&copy.path));

        // Opening it again migrates nothing, and so makes no other backup.
        drop(owner);
        drop(scene.owner());
        assert_eq!(beside(&scene, ".bak").len(), 1, "{name}");
    }
}

#[test]
fn an_old_database_is_not_migrated_by_reading_it() {
    for (name, bytes) in old_databases() {
        let scene = Scene::new(3);
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
        let scene = Scene::new(3);
        fs::write(&scene.path, &bytes).unwrap();
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| drop(scene.store()));
            }
        });
        // One that comes between two migrations may copy that state too; what was there at first is copied once.
        assert_eq!(beside(&scene, &format!(".{name}-1700000000000.bak")).len(), 1, "{name}");
        assert_eq!(scene.owner().loom().store().verify(&mut |_| {}).unwrap().problems, Vec::<String>::new(), "{name}");
    }
}
