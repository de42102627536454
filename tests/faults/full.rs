//! Lack of space: a limit on the file size, a full disk, a limit on the database's pages. Acknowledged changes exist,
//! failed ones do not, and the store works again once there is space.

use std::{
    collections::HashSet,
    path::Path,
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use loomtree::{
    id::NodeId,
    ops::{Actor, NodeDraft, TreeDraft},
    store::StoreError,
    types::Parent,
};

use crate::{
    all_nodes, assert_clean, assert_sentence, chain, child, message, skip, store_error, support::store::Scene,
};

const THREADS: usize = 4;

/// Runs in a child process with a limit: four threads write until each got three errors for lack of space.
pub(crate) fn fill(path: &str, seed: u64) {
    let scene = Scene::at(path.as_ref(), seed);
    let store = match scene.options().open(&scene.path) {
        Ok(store) => store,
        Err(error) => return child::say(&format!("closed {error}")),
    };
    let loom = scene.over(store);
    let owner = loom.actor(&loom.agent("owner").unwrap());
    let (acked, failed) = write_until_full(&owner, 100_000);
    for id in &acked {
        child::say(&format!("acked {id}"));
    }
    for (id, error) in &failed {
        child::say(&format!("failed {id} {error}"));
    }
    // Reads still work.
    assert_results_match(&owner, &acked, &failed);
    child::say("read");
}

/// Runs [`fill`] and the parent's checks, for a file system that only this process sees.
pub(crate) fn fill_and_check(path: &str, kilobytes: usize) {
    let scene = Scene::at(path.as_ref(), kilobytes as u64);
    let beside = scene.path.with_file_name("ballast");
    // Reserves half of the disk and frees it at the end.
    let reserve = scene.path.with_file_name("reserve");
    std::fs::write(&reserve, vec![1; kilobytes * 512]).unwrap();
    let (acked, failed) = {
        let owner = scene.owner();
        chain(&owner, 5);
        write_until_full(&owner, 100_000)
    };
    assert!(!failed.is_empty(), "the file system is small");
    // Leaves no space at all, not even for the log's index.
    let mut ballast = std::fs::File::create(&beside).unwrap();
    while std::io::Write::write_all(&mut ballast, &[1; 512]).is_ok() {}
    match scene.options().open(&scene.path) {
        Err(error) => {
            assert!(matches!(error, StoreError::Full), "{error:?}");
            child::say(&format!("closed {error}"));
        }
        Ok(store) => {
            let loom = scene.over(store);
            let owner = loom.actor(&loom.agent("owner").unwrap());
            write_until_full(&owner, 100);
        }
    }
    drop(ballast);
    std::fs::remove_file(beside).unwrap();
    std::fs::remove_file(reserve).unwrap();
    let owner = scene.owner();
    assert_results_match(&owner, &acked, &failed);
    chain(&owner, 1);
    assert_clean(owner.loom().store().as_ref());
    child::say(&format!("checked {} {}", acked.len(), failed.len()));
}

type WriteResults = (Vec<NodeId>, Vec<(NodeId, String)>);

/// Writes from four threads; each stops at its third failure.
fn write_until_full(owner: &Actor, most: usize) -> WriteResults {
    let (acked, failed) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let number = AtomicUsize::new(0);
    let (tree, _) = match owner.create_tree(TreeDraft::new("root")) {
        Ok(made) => made,
        Err(error) => {
            let error = store_error(error);
            assert!(matches!(error, StoreError::Full), "{error:?}");
            return (Vec::new(), vec![(owner.loom().node_id(), error.to_string())]);
        }
    };
    let root = tree.root.unwrap();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut failures = 0;
                while failures < 3 && number.load(Ordering::Relaxed) < most {
                    let text = message(number.fetch_add(1, Ordering::Relaxed));
                    let node = owner.draft(Parent::Node(root), NodeDraft::text(text));
                    let id = node.id;
                    let mutation = loomtree::store::Mutation::Append(Box::new(node));
                    match owner.commit(loomtree::types::Op::Append, vec![mutation]) {
                        Ok(_) => acked.lock().unwrap().push(id),
                        Err(error) => {
                            failures += 1;
                            let error = store_error(error);
                            assert!(matches!(error, StoreError::Full), "{error:?}");
                            assert_sentence(&error);
                            failed.lock().unwrap().push((id, error.to_string()));
                        }
                    }
                }
            });
        }
    });
    (acked.into_inner().unwrap(), failed.into_inner().unwrap())
}

fn assert_results_match(owner: &Actor, acked: &[NodeId], failed: &[(NodeId, String)]) {
    let snapshot = owner.loom().snapshot().unwrap();
    let stored: HashSet<NodeId> = all_nodes(snapshot.as_ref()).unwrap().into_iter().map(|n| n.id).collect();
    assert_eq!(acked.iter().find(|id| !stored.contains(id)), None, "acked, and lost");
    assert_eq!(failed.iter().find(|(id, _)| stored.contains(id)), None, "told failed, and there");
}

/// Builds a shell command that limits the file size, in kilobytes, before it runs the job.
fn limited(kilobytes: u64, job: &[&str]) -> Command {
    // `sh` counts blocks of 512 bytes.
    let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", 2 * kilobytes);
    child::command(&["sh", "-c", &script, "limited"], job)
}

#[test]
fn a_limit_on_file_size_fails_commits_and_loses_nothing() {
    let scene = Scene::new(81);
    chain(&scene.owner(), 20);
    let path = scene.path.to_str().unwrap().to_owned();
    let mut counts = (0, 0);
    // Limits that concern the log's index, the log and the database; the file grows meanwhile.
    for (round, kilobytes) in [8, 31, 33, 64, 100, 150, 211, 400, 700, 1_024].into_iter().enumerate() {
        let seed = (900 + round).to_string();
        let lines = crate::finish(limited(kilobytes, &["fill", &path, &seed]));
        let of = |word: &str| -> Vec<String> {
            lines.iter().filter_map(|l| l.strip_prefix(word)).map(|rest| rest.trim().to_owned()).collect()
        };
        let acked: Vec<NodeId> = of("acked").iter().map(|id| id.parse().unwrap()).collect();
        let failed: Vec<(NodeId, String)> = of("failed")
            .iter()
            .map(|line| line.split_once(' ').unwrap())
            .map(|(id, said)| (id.parse().unwrap(), said.to_owned()))
            .collect();
        let full = StoreError::Full.to_string();
        for said in failed.iter().map(|f| &f.1).chain(&of("closed")) {
            assert_eq!(*said, full, "limit {kilobytes}");
        }
        assert!(!failed.is_empty() || !of("closed").is_empty(), "limit {kilobytes}: {lines:?}");
        counts = (counts.0 + acked.len(), counts.1 + failed.len());

        let owner = scene.owner();
        assert_results_match(&owner, &acked, &failed);
        chain(&owner, 3);
        assert_clean(owner.loom().store().as_ref());
    }
    println!("10 limits on the file's size: {} acked, 0 lost; {} told full, 0 there", counts.0, counts.1);
    assert!(counts.0 > 100, "some limits leave room");
}

#[test]
fn a_full_disk_fails_commits_and_loses_nothing() {
    let mount = |folder: &Path, kilobytes: u32, rest: &str| {
        let script = format!("mount -t tmpfs -o size={kilobytes}k loomtree '{}' && {rest}", folder.display());
        let mut words = vec!["-m".to_owned()];
        words.extend(["sh".to_owned(), "-c".to_owned(), script, "mounted".to_owned()]);
        words
    };
    let folder = tempfile::tempdir().unwrap();
    if !skip::has("unshare") {
        return skip::missing("unshare");
    }
    let can = Command::new("unshare").args(mount(folder.path(), 64, "true")).output();
    if !can.is_ok_and(|o| o.status.success()) {
        return skip::because("a small tmpfs cannot be mounted here; that takes root");
    }
    for kilobytes in [1_500, 2_000, 3_000, 5_000] {
        let path = folder.path().join("loom.db");
        let wrapper = mount(folder.path(), kilobytes, "exec \"$@\"");
        let wrapper: Vec<&str> = std::iter::once("unshare").chain(wrapper.iter().map(String::as_str)).collect();
        let size = kilobytes.to_string();
        let job = ["fill and check", path.to_str().unwrap(), &size];
        let lines = crate::finish(child::command(&wrapper, &job));
        println!("a disk of {kilobytes} kB: {lines:?}");
        assert!(lines.last().is_some_and(|l| l.starts_with("checked ")), "{lines:?}");
    }
}

#[test]
fn a_limit_on_pages_fails_only_what_does_not_fit() {
    for (round, pages) in [95, 115, 145, 225].into_iter().enumerate() {
        let scene = Scene::new(82 + round as u64);
        let first = chain(&scene.owner(), 5);
        let told = {
            let store = scene.options().page_limit(pages).open(&scene.path).unwrap();
            let loom = scene.over(store);
            let owner = loom.actor(&loom.agent("owner").unwrap());
            let told = write_concurrently(&owner, first[0].id);
            assert_results_match(&owner, &told.0, &told.1);
            assert_clean(loom.store().as_ref());
            told
        };
        let bytes = std::fs::metadata(&scene.path).unwrap().len();
        assert!(bytes <= u64::from(pages) * 4_096, "{bytes} bytes are more than {pages} pages");
        let owner = scene.owner();
        assert_results_match(&owner, &told.0, &told.1);
        chain(&owner, 20);
        assert_clean(owner.loom().store().as_ref());
        println!("{pages} pages: {} acked, {} told full", told.0.len(), told.1.len());
        assert!(!told.0.is_empty() && !told.1.is_empty());
    }
}

/// Writes from 64 threads, so that failing changes share transactions with succeeding ones.
fn write_concurrently(owner: &Actor, root: NodeId) -> WriteResults {
    let (acked, failed) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for thread in 0..64_usize {
            let (acked, failed) = (&acked, &failed);
            scope.spawn(move || {
                for at in 0..12 {
                    let words = if (thread + at).is_multiple_of(5) { 3_000 } else { 2 };
                    let node = owner.draft(Parent::Node(root), NodeDraft::text(format!("{at} ").repeat(words)));
                    let id = node.id;
                    let mutation = loomtree::store::Mutation::Append(Box::new(node));
                    match owner.commit(loomtree::types::Op::Append, vec![mutation]).map_err(store_error) {
                        Ok(_) => acked.lock().unwrap().push(id),
                        Err(error @ StoreError::Full) => failed.lock().unwrap().push((id, error.to_string())),
                        Err(other) => panic!("{other:?}"),
                    }
                }
            });
        }
    });
    (acked.into_inner().unwrap(), failed.into_inner().unwrap())
}
