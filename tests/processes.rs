//! Several processes and many threads with one file: every acknowledged change is at its position, no lock held for
//! less than the wait causes an error, and a failing change fails alone.

// Clippy recognizes only functions marked #[test] as tests, and not their helpers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

use support::child;
mod support;

use std::{
    collections::{BTreeMap, HashSet},
    sync::Barrier,
    time::{Duration, Instant},
};

use loomtree::{
    id::{NodeId, SessionId, TreeId},
    ops::{Actor, NodeDraft, OpsError, TreeDraft},
    store::{Mutation, StoreError},
    types::{Node, Op, Parent, Timestamp},
};
use support::store::Scene;

const PROCESSES: usize = 8;
const MESSAGES: usize = 60;

/// The entry point of child processes started by a test; does nothing in the test process.
#[test]
fn child_process() {
    let Some(job) = child::job() else { return };
    let words: Vec<&str> = job.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["chain", path, number, session] => write_chain(path, number.parse().unwrap(), session.parse().unwrap()),
        ["branch", path, number, root] => write_branch(path, number.parse().unwrap(), root.parse().unwrap()),
        ["lease", path, node] => {
            let actor = worker(path, 0);
            actor.lease(node.parse().unwrap(), actor.agent(), Duration::from_secs(60)).wait().unwrap();
            child::say("taken");
            // The process is killed before this ends; its lease remains.
            std::thread::sleep(Duration::from_secs(600));
        }
        ["open", path, number] => {
            let scene = Scene::at(path.as_ref(), number.parse().unwrap());
            let agents = scene.owner().loom().snapshot().unwrap().agents().unwrap();
            child::say(&format!("opened with {} agents", agents.len()));
        }
        other => panic!("no such job: {other:?}"),
    }
}

fn worker(path: &str, number: usize) -> Actor {
    Scene::at(path.as_ref(), 1_000 + number as u64).owner()
}

/// Appends messages at the shared session's position.
fn write_chain(path: &str, number: usize, session: SessionId) {
    let actor = worker(path, number).in_session(session);
    for message in 0..MESSAGES {
        let text = format!("process {number}, message {message}");
        let receipt = actor.append(Parent::Position(session), NodeDraft::text(text)).unwrap();
        child::say(&format!("{} {}", receipt.nodes[0].id, receipt.nodes[0].turn.unwrap()));
    }
}

/// Appends a chain of messages below the shared node.
fn write_branch(path: &str, number: usize, root: NodeId) {
    let actor = worker(path, number);
    let mut parent = root;
    for message in 0..MESSAGES {
        let text = format!("process {number}, message {message}");
        let receipt = actor.append(Parent::Node(parent), NodeDraft::text(text)).unwrap();
        child::say(&format!("{} {parent}", receipt.nodes[0].id));
        parent = receipt.nodes[0].id;
    }
}

/// Runs a job in eight processes at once; returns the output lines of each.
fn run_concurrently(job: impl Fn(String) -> Vec<String>) -> Vec<Vec<String>> {
    let children: Vec<_> = (0..PROCESSES)
        .map(|number| {
            let job = job(number.to_string());
            let words: Vec<&str> = job.iter().map(String::as_str).collect();
            child::start(child::command(&[], &words))
        })
        .collect();
    let mut said = Vec::new();
    for (child, lines) in children {
        said.push(lines.iter().collect::<Vec<_>>());
        let end = child.wait_with_output().unwrap();
        assert!(end.status.success(), "{}\n{:?}", String::from_utf8_lossy(&end.stderr), said.last());
    }
    said
}

fn conversation(actor: &Actor) -> (TreeId, Node) {
    let (tree, root) = actor.create_tree(TreeDraft::new("root")).unwrap();
    (tree.id, root)
}

fn assert_clean(actor: &Actor) {
    let report = actor.loom().store().verify(&mut |_| ()).unwrap();
    assert!(report.problems.is_empty(), "{:#?}", report.problems);
}

#[test]
fn eight_processes_in_one_session_make_one_chain_of_everything_acked() {
    let scene = Scene::new(1);
    let owner = scene.owner();
    let (tree, root) = conversation(&owner);
    let session = owner.start_session("/project", tree, Some(root.id)).unwrap();

    let path = scene.path.to_str().unwrap().to_owned();
    let acked = run_concurrently(|number| vec!["chain".to_owned(), path.clone(), number, session.to_string()]);

    let position = owner.loom().session(session).unwrap().position.unwrap();
    let snapshot = owner.loom().snapshot().unwrap();
    let chain = snapshot.path_back(position, &[], 0).unwrap();
    assert_eq!(chain.len(), 1 + PROCESSES * MESSAGES, "one chain with the root");
    let turns: Vec<u64> = chain.iter().skip(1).map(|n| n.turn.unwrap()).collect();
    assert_eq!(turns, (1..=turns.len() as u64).collect::<Vec<_>>(), "turns follow the chain");
    let places: BTreeMap<String, usize> = chain.iter().enumerate().map(|(at, n)| (n.id.to_string(), at)).collect();
    for (number, lines) in acked.iter().enumerate() {
        assert_eq!(lines.len(), MESSAGES, "process {number} acked everything");
        let mut last = 0;
        for (message, line) in lines.iter().enumerate() {
            let (id, turn) = line.split_once(' ').unwrap();
            let at = *places.get(id).unwrap_or_else(|| panic!("acked {id} is not in the chain"));
            assert!(at > last, "process {number}'s messages are in its order");
            assert_eq!(chain[at].content, format!("process {number}, message {message}"));
            assert_eq!(chain[at].turn.unwrap().to_string(), turn);
            last = at;
        }
    }
    drop(snapshot);
    assert_clean(&owner);
}

#[test]
fn eight_processes_on_one_branch_keep_every_message_in_place() {
    let scene = Scene::new(2);
    let owner = scene.owner();
    let (tree, root) = conversation(&owner);

    let path = scene.path.to_str().unwrap().to_owned();
    let acked = run_concurrently(|number| vec!["branch".to_owned(), path.clone(), number, root.id.to_string()]);

    let snapshot = owner.loom().snapshot().unwrap();
    for (number, lines) in acked.iter().enumerate() {
        assert_eq!(lines.len(), MESSAGES, "process {number} acked everything");
        for (message, line) in lines.iter().enumerate() {
            let (id, parent) = line.split_once(' ').unwrap();
            let node = snapshot.node(id.parse().unwrap()).unwrap().expect("acked, so it is there");
            assert_eq!(node.parent.unwrap().to_string(), parent);
            assert_eq!(node.content, format!("process {number}, message {message}"));
            assert_eq!(node.depth as usize, message + 1);
        }
    }
    let counts = snapshot.tree(tree).unwrap().unwrap().counts;
    assert_eq!(counts.nodes, 1 + (PROCESSES * MESSAGES) as u64);
    assert_eq!((counts.leaves, counts.max_depth as usize), (PROCESSES as u64, MESSAGES));
    drop(snapshot);
    assert_clean(&owner);
}

#[test]
fn eight_processes_make_one_file_at_once() {
    for round in 0..12 {
        let scene = Scene::new(round);
        let path = scene.path.to_str().unwrap().to_owned();
        for lines in run_concurrently(|number| vec!["open".to_owned(), path.clone(), number]) {
            assert_eq!(lines, ["opened with 3 agents"], "round {round}");
        }
        assert_clean(&scene.owner());
    }
}

#[test]
fn sixteen_threads_make_one_file_at_once() {
    // Threads start closer together than processes, so that their migrations overlap.
    for round in 0..u64::from(support::rounds::of("LOOM_ROUNDS", 10, 40)) {
        let scene = Scene::new(round);
        let start = Barrier::new(16);
        std::thread::scope(|scope| {
            for number in 0..16 {
                let (path, start) = (&scene.path, &start);
                scope.spawn(move || {
                    start.wait();
                    let agents = Scene::at(path, number).owner().loom().snapshot().unwrap().agents().unwrap();
                    assert_eq!(agents.len(), 3, "round {round}");
                });
            }
        });
    }
}

#[test]
fn a_lease_of_a_killed_process_is_waited_for_until_it_runs_out() {
    let scene = Scene::new(7);
    let owner = scene.owner();
    let (_, root) = conversation(&owner);
    let subject = owner.loom().actor(&owner.loom().agent("subject").unwrap());
    let append = || subject.append(Parent::Node(root.id), NodeDraft::text("mine"));
    append().unwrap();
    let (mut child, lines) =
        child::start(child::command(&[], &["lease", scene.path.to_str().unwrap(), &root.id.to_string()]));
    assert_eq!(lines.recv().unwrap(), "taken");
    assert!(matches!(append().unwrap_err(), OpsError::Store(StoreError::Leased { seconds: 60, .. })));
    child.kill().unwrap();
    child.wait().unwrap();
    append().unwrap_err();
    scene.clock.set(Timestamp::from_millis(owner.loom().now().as_millis() + 60_000));
    append().unwrap();
    assert_clean(&owner);
}

#[test]
fn a_lock_held_longer_than_the_wait_is_reported_and_changes_nothing() {
    let scene = Scene::new(3);
    let (tree, root) = conversation(&scene.owner());
    let wait = Duration::from_millis(300);
    let store = scene.options().wait(wait).open(&scene.path).unwrap();
    let loom = scene.over(store);
    let owner = loom.actor(&loom.agent("owner").unwrap());
    let before = loom.snapshot().unwrap().last_seq().unwrap();

    let holder = rusqlite::Connection::open(&scene.path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = Instant::now();
    let error = owner.append(Parent::Node(root.id), NodeDraft::text("too early")).unwrap_err();
    assert!(start.elapsed() >= wait, "it waited");
    assert!(matches!(&error, OpsError::Store(StoreError::Busy { waited }) if *waited == wait), "{error:?}");
    assert_eq!(error.to_string(), "the database is locked by another process; waited 0.3 s");
    assert_eq!(loom.snapshot().unwrap().last_seq().unwrap(), before, "readers go on, and nothing was changed");

    // Opening needs no lock if the file has this version.
    drop(scene.options().wait(wait).open(&scene.path).unwrap());
    holder.execute_batch("ROLLBACK").unwrap();
    let receipt = owner.append(Parent::Node(root.id), NodeDraft::text("now")).unwrap();
    assert_eq!(receipt.seq, before + 1);
    assert_eq!(loom.tree(tree).unwrap().counts.nodes, 2);
    assert_clean(&owner);
}

#[test]
fn a_lock_released_within_the_wait_is_never_reported() {
    let scene = Scene::new(4);
    let owner = scene.owner();
    let (_, root) = conversation(&owner);
    let holder = rusqlite::Connection::open(&scene.path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| owner.append(Parent::Node(root.id), NodeDraft::text("patient")));
        std::thread::sleep(Duration::from_millis(200));
        assert!(!waiting.is_finished());
        holder.execute_batch("COMMIT").unwrap();
        waiting.join().unwrap().unwrap();
    });
}

#[test]
fn a_file_that_stays_locked_while_it_is_created_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let scene = Scene::at(&folder.path().join("loom.db"), 5);
    let holder = rusqlite::Connection::open(&scene.path).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let wait = Duration::from_millis(300);
    let error = scene.options().wait(wait).open(&scene.path).unwrap_err();
    assert_eq!(error.to_string(), "the database is locked by another process; waited 0.3 s");
    drop(holder);
    assert_clean(&scene.owner());
}

/// An append that must fail: its parent does not exist.
fn invalid(owner: &Actor) -> Vec<Mutation> {
    let nowhere = Parent::Node(owner.loom().node_id());
    vec![Mutation::Append(Box::new(owner.draft(nowhere, NodeDraft::text("never there"))))]
}

#[test]
fn a_failing_change_does_not_fail_its_neighbours() {
    let scene = Scene::new(6);
    let owner = scene.owner();
    let (tree, root) = conversation(&owner);
    let start = Barrier::new(64);
    let results: Vec<(usize, NodeId, Result<_, _>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..64)
            .map(|number| {
                let (owner, start) = (&owner, &start);
                scope.spawn(move || {
                    start.wait();
                    let mut done = Vec::new();
                    for message in 0..10 {
                        let good = owner.draft(Parent::Node(root.id), NodeDraft::text(format!("{number}/{message}")));
                        let id = good.id;
                        let mut mutations = vec![Mutation::Append(Box::new(good))];
                        if number % 7 == 0 {
                            // The valid part of a failing change is rolled back with it.
                            mutations.extend(invalid(owner));
                        }
                        done.push((number, id, owner.commit(Op::Append, mutations)));
                    }
                    done
                })
            })
            .collect();
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });

    let snapshot = owner.loom().snapshot().unwrap();
    let mut seqs = HashSet::new();
    for (number, id, result) in &results {
        let node = snapshot.node(*id).unwrap();
        match result {
            Ok(receipt) => {
                assert_ne!(number % 7, 0);
                assert_eq!(node.unwrap().seq, receipt.nodes[0].seq);
                assert!(seqs.insert(receipt.seq), "each has an entry of its own");
            }
            Err(OpsError::Store(StoreError::NotFound { what: "node", .. })) => {
                assert_eq!(number % 7, 0);
                assert!(node.is_none(), "told failed, so not there");
            }
            Err(other) => panic!("thread {number}: {other:?}"),
        }
    }
    let good = results.iter().filter(|r| r.2.is_ok()).count();
    assert_eq!((results.len(), good), (640, 540));
    assert_eq!(snapshot.tree(tree).unwrap().unwrap().counts.nodes, 1 + good as u64);
    assert_eq!(snapshot.last_seq().unwrap(), seqs.into_iter().max().unwrap(), "the journal has no gap");
    drop(snapshot);
    assert_clean(&owner);
}
