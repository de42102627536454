//! Unwritable files and folders. Permission bits do not restrict root, so the test runs children as another user.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use loomtree::{
    ops::{NodeDraft, OpsError, TreeDraft},
    store::{Store, StoreError},
    types::Parent,
};

use crate::{assert_clean, assert_sentence, chain, child, skip, support::store::Scene};

/// The command prefix that drops root's rights; empty for another user.
fn wrapper(folder: &Path) -> Option<Vec<&'static str>> {
    let probe = folder.join("probe");
    fs::write(&probe, b"").unwrap();
    fs::set_permissions(&probe, fs::Permissions::from_mode(0o444)).unwrap();
    if fs::OpenOptions::new().write(true).open(&probe).is_err() {
        return Some(Vec::new());
    }
    let nobody = vec!["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let can = Command::new(nobody[0]).args(&nobody[1..]).arg("true").output();
    can.is_ok_and(|o| o.status.success()).then_some(nobody)
}

/// Runs in a child process without rights: prints the result of opening the file.
pub(crate) fn unprivileged(path: &str) {
    let scene = Scene::at(path.as_ref(), 99);
    match scene.options().open(&scene.path) {
        Err(error) => {
            assert_sentence(&error);
            let kind = match &error {
                StoreError::ReadOnly { .. } => "ReadOnly",
                StoreError::CannotOpen { .. } => "CannotOpen",
                other => panic!("{other:?}"),
            };
            child::say(&format!("write {kind} {error}"));
        }
        Ok(store) => {
            // Opening needs no write permission if there is nothing to migrate; the first commit does.
            let loom = scene.over(store);
            let owner = loom.actor(&loom.agent("owner").unwrap());
            match owner.create_tree(TreeDraft::new("root")) {
                Err(OpsError::Store(error @ StoreError::ReadOnly { .. })) => {
                    assert_sentence(&error);
                    child::say(&format!("write ReadOnly {error}"));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    match scene.options().read_only(true).open(&scene.path) {
        Err(error) => {
            assert_sentence(&error);
            child::say(&format!("read fails {error}"));
        }
        Ok(store) => {
            assert_clean(&store);
            let nodes = crate::all_nodes(store.snapshot().unwrap().as_ref()).unwrap().len();
            child::say(&format!("read {nodes}"));
        }
    }
}

/// The output of a child without rights for these file and folder modes. `log`: a writer has the file open.
fn open_unprivileged(file: u32, folder: u32, log: bool) -> Option<Vec<String>> {
    let scene = Scene::new(91);
    let within = scene.path.parent().unwrap();
    let owner = scene.owner();
    chain(&owner, 3);
    let wrapper = wrapper(within)?;
    let _open = log.then_some(owner);
    for name in fs::read_dir(within).unwrap().map(Result::unwrap) {
        fs::set_permissions(name.path(), fs::Permissions::from_mode(file)).unwrap();
    }
    fs::set_permissions(within, fs::Permissions::from_mode(folder)).unwrap();
    let lines = crate::finish(child::command(&wrapper, &["unprivileged", scene.path.to_str().unwrap()]));
    fs::set_permissions(within, fs::Permissions::from_mode(0o755)).unwrap();
    Some(lines)
}

#[test]
fn a_file_that_cannot_be_written_is_reported_and_still_readable() {
    for (file, folder, log) in
        [(0o444, 0o555, false), (0o444, 0o777, false), (0o666, 0o555, false), (0o444, 0o555, true)]
    {
        let Some(lines) = open_unprivileged(file, folder, log) else {
            return skip::missing("setpriv");
        };
        println!("file {file:o}, folder {folder:o}, open elsewhere {log}: {lines:?}");
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("write ReadOnly ") || lines[0].starts_with("write CannotOpen "), "{lines:?}");
        assert_eq!(lines[1], "read 4", "file {file:o}, folder {folder:o}, open elsewhere {log}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_reported() {
    let Some(lines) = open_unprivileged(0o000, 0o755, false) else {
        return skip::missing("setpriv");
    };
    assert!(lines[0].starts_with("write CannotOpen ") && lines[0].to_lowercase().contains("permission"), "{lines:?}");
    assert!(lines[1].starts_with("read fails ") && lines[1].to_lowercase().contains("permission"), "{lines:?}");
}

#[test]
fn a_store_that_only_reads_refuses_commits() {
    let scene = Scene::new(92);
    let nodes = chain(&scene.owner(), 3);
    let store = scene.options().read_only(true).open(&scene.path).unwrap();
    let loom = scene.over(store);
    let owner = loom.actor(&loom.agent("owner").unwrap());
    let error = owner.append(Parent::Node(nodes[0].id), NodeDraft::text("no")).unwrap_err();
    assert!(matches!(error, OpsError::Store(StoreError::ReadOnly { .. })), "{error:?}");
    assert!(error.to_string().ends_with("loom.db cannot be written (read-only)"), "{error}");
    assert!(matches!(loom.store().rebuild(), Err(StoreError::ReadOnly { .. })));
    assert_clean(loom.store().as_ref());
    assert_eq!(loom.snapshot().unwrap().path_back(nodes[3].id, &[], 0).unwrap().len(), 4);
}

#[test]
fn a_reader_sees_what_a_killed_writer_left_in_the_log() {
    let scene = Scene::new(93);
    let owner = scene.owner();
    let nodes = chain(&owner, 3);
    // A copy of an open database equals the files that a killed writer leaves.
    let copy = Scene::new(94);
    for ending in ["", "-wal"] {
        let named = |path: &Path| format!("{}{ending}", path.display());
        fs::copy(named(&scene.path), named(&copy.path)).unwrap();
    }
    let reader = copy.options().read_only(true).open(&copy.path).unwrap();
    assert!(reader.snapshot().unwrap().node(nodes[3].id).unwrap().is_some());
    assert_clean(&reader);
}
