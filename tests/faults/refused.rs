//! Files that must not be opened: other formats, newer versions, foreign migrations. Each is refused with a clear
//! error, and no byte of it changes.

use std::{fs, path::Path};

use loomtree::store::StoreError;
use rusqlite::Connection;

use crate::{assert_clean, assert_sentence, chain, support::store::Scene, verified};

/// Opens a file that must be refused, for writing and for reading; returns the first error.
fn refused(scene: &Scene, path: &Path) -> StoreError {
    let before = path.is_file().then(|| fs::read(path).unwrap());
    let files = |path: &Path| fs::read_dir(path.parent().unwrap()).map_or(0, Iterator::count);
    let count = files(path);
    let error = scene.options().open(path).expect_err("it is refused");
    assert_sentence(&error);
    assert_eq!(files(path), count, "and nothing was put beside it");
    assert!(error.to_string().contains(path.file_name().unwrap().to_str().unwrap()), "names the file: {error}");
    let reading = scene.options().read_only(true).open(path).expect_err("also for reading");
    assert_sentence(&reading);
    assert_eq!(path.is_file().then(|| fs::read(path).unwrap()), before, "left untouched");
    error
}

#[test]
fn a_foreign_file_is_refused() {
    let scene = Scene::new(71);
    let folder = scene.path.parent().unwrap().to_owned();
    let file = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        path
    };
    drop(scene.store());
    let ours = fs::read(&scene.path).unwrap();
    let mut mangled = ours.clone();
    mangled[..16].fill(b'x');
    for path in [
        file("text", "just words, some of them\n".repeat(500).as_bytes()),
        file("short", b"xy"),
        file("zeroes", &[0; 8_192]),
        file("mangled", &mangled),
    ] {
        let error = refused(&scene, &path);
        assert!(matches!(error, StoreError::NotADatabase { .. }), "{}: {error:?}", path.display());
        assert!(error.to_string().ends_with("is not a loomtree database"), "{error}");
    }

    // The start of a database is a damaged database.
    let error = refused(&scene, &file("header", &ours[..50]));
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");

    let other = folder.join("other");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    assert!(matches!(refused(&scene, &other), StoreError::NotADatabase { .. }));
    let marked = folder.join("marked");
    Connection::open(&marked).unwrap().execute_batch("PRAGMA application_id = 77").unwrap();
    assert!(matches!(refused(&scene, &marked), StoreError::NotADatabase { .. }));
    let versioned = folder.join("versioned");
    Connection::open(&versioned).unwrap().execute_batch("PRAGMA user_version = 1").unwrap();
    assert!(matches!(refused(&scene, &versioned), StoreError::NotADatabase { .. }));

    let directory = folder.join("directory");
    fs::create_dir(&directory).unwrap();
    assert!(matches!(refused(&scene, &directory), StoreError::CannotOpen { .. }));
    let missing = folder.join("missing").join("loom.db");
    let error = refused(&scene, &missing);
    assert!(matches!(error, StoreError::CannotOpen { .. }), "{error:?}");
    assert!(!missing.parent().unwrap().exists());
    let absent = folder.join("absent");
    let error = scene.options().create(false).open(&absent).unwrap_err();
    assert!(matches!(error, StoreError::CannotOpen { .. }) && !absent.exists(), "{error:?}");
    assert!(scene.options().read_only(true).open(&absent).is_err() && !absent.exists());
}

#[test]
fn a_truncated_file_is_damaged_and_never_silent() {
    let scene = Scene::new(72);
    chain(&scene.owner(), 60);
    let whole = fs::read(&scene.path).unwrap();
    for length in (1..whole.len() / 512).map(|n| n * 512) {
        fs::write(&scene.path, &whole[..length]).unwrap();
        match scene.options().open(&scene.path) {
            Err(error) => assert_sentence(&error),
            Ok(store) => {
                let problems = verified(&store).problems;
                assert!(!problems.is_empty(), "cut at {length} of {} and nobody noticed", whole.len());
            }
        }
    }
}

#[test]
fn an_empty_file_is_a_fresh_database() {
    let scene = Scene::new(73);
    fs::write(&scene.path, b"").unwrap();
    chain(&scene.owner(), 2);
    assert_clean(&scene.store());
}

#[test]
fn a_newer_file_is_left_untouched() {
    let scene = Scene::new(74);
    chain(&scene.owner(), 3);
    Connection::open(&scene.path).unwrap().pragma_update(None, "user_version", 999).unwrap();
    let error = refused(&scene, &scene.path);
    assert!(matches!(error, StoreError::Newer { found: 999, .. }), "{error:?}");
    let said = error.to_string();
    assert!(said.contains("newer loomtree (schema 999, this one knows ") && said.contains("update loomtree"), "{said}");
}

#[test]
fn a_file_whose_migrations_are_not_ours_is_left_untouched() {
    let scene = Scene::new(75);
    chain(&scene.owner(), 3);
    let edit = |sql: &str| Connection::open(&scene.path).unwrap().execute_batch(sql).unwrap();
    edit("CREATE TABLE kept AS SELECT * FROM migrations; UPDATE migrations SET checksum = 'edited' WHERE version = 1");
    let error = refused(&scene, &scene.path);
    assert!(matches!(error, StoreError::MigrationDiffers { version: 1, .. }), "{error:?}");
    // A migration unknown to this build, under a known version number.
    edit(
        "UPDATE migrations SET checksum = (SELECT checksum FROM kept WHERE kept.version = migrations.version);
          INSERT INTO migrations VALUES (998, 'theirs', 'x', 0)",
    );
    let error = refused(&scene, &scene.path);
    assert!(matches!(error, StoreError::MigrationDiffers { version: 998, .. }), "{error:?}");
    // Without its list of migrations, the file's history is unknown.
    edit("DELETE FROM migrations");
    let error = refused(&scene, &scene.path);
    assert!(matches!(error, StoreError::MigrationDiffers { .. }), "{error:?}");
}
