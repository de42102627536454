//! Faults around a store: torn logs, full disks, unwritable files, damaged or foreign files, clock jumps, writers that
//! bypass the store. Each leads to recovery or to one clear error message.

// Clippy recognizes only functions marked #[test] as tests, and not their helpers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

use support::child;
use support::skip;
#[path = "../support/mod.rs"]
mod support;

mod branch;
mod clock;
mod damage;
mod found;
mod full;
mod large_copy;
mod large_prune;
mod purge;
mod purge_kill;
#[cfg(unix)]
mod readonly;
mod refused;
mod schema;
mod torn;

use loomtree::{
    ops::{Actor, NodeDraft, OpsError, TreeDraft},
    store::{Snapshot, Store, StoreError, VerifyReport},
    types::{Node, Parent},
};

/// The entry point of child processes started by a test; does nothing in the test process.
#[test]
fn child_process() {
    let Some(job) = child::job() else { return };
    let words: Vec<&str> = job.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["fill", path, seed] => full::fill(path, seed.parse().unwrap()),
        ["fill and check", path, kilobytes] => full::fill_and_check(path, kilobytes.parse().unwrap()),
        ["copy", path, seed, from, to] => large_copy::copy(path, seed.parse().unwrap(), [from, to]),
        ["prune", path, seed, node] => large_prune::prune(path, seed.parse().unwrap(), node),
        ["purge", path, seed] => purge_kill::purge(path, seed.parse().unwrap()),
        #[cfg(unix)]
        ["unprivileged", path] => readonly::unprivileged(path),
        other => panic!("no such job: {other:?}"),
    }
}

/// Runs a command and returns its output lines. Panics with its standard error if it failed.
fn finish(command: std::process::Command) -> Vec<String> {
    let (child, said) = child::start(command);
    let lines: Vec<String> = said.iter().collect();
    let end = child.wait_with_output().expect("the child ends");
    let errors = String::from_utf8_lossy(&end.stderr);
    assert!(end.status.success(), "the child ended with {}: {errors}\n{lines:#?}", end.status);
    lines
}

/// Appends a root and a chain of `count` messages of different lengths.
fn chain(owner: &Actor, count: usize) -> Vec<Node> {
    let (_, root) = owner.create_tree(TreeDraft::new("root")).unwrap();
    let mut nodes = vec![root];
    for number in 0..count {
        let parent = Parent::Node(nodes[number].id);
        let receipt = owner.append(parent, NodeDraft::text(message(number))).unwrap();
        nodes.push(owner.loom().node(receipt.nodes[0].id).unwrap());
    }
    nodes
}

/// The text of a message: usually short, sometimes longer than a page.
fn message(number: usize) -> String {
    let words = if number.is_multiple_of(9) { 900 } else { 8 };
    format!("message {number}:{}", format!(" word{number}").repeat(words))
}

fn verified(store: &dyn Store) -> VerifyReport {
    store.verify(&mut |_| ()).expect("the file can be read")
}

fn assert_clean(store: &dyn Store) {
    let report = verified(store);
    assert!(report.problems.is_empty(), "{:#?}", report.problems);
}

/// Reads every node of every tree.
fn all_nodes(snapshot: &dyn Snapshot) -> Result<Vec<Node>, StoreError> {
    let mut nodes = Vec::new();
    for tree in snapshot.trees(loomtree::store::TreeFilter::default().archived(true).limit(0))? {
        nodes.extend(snapshot.nodes_after(tree.id, 0, 0)?);
    }
    Ok(nodes)
}

/// Extracts the store's error from an operation's error.
fn store_error(error: OpsError) -> StoreError {
    match error {
        OpsError::Store(error) => error,
        other => panic!("not the store's: {other}"),
    }
}

/// Asserts that an error's text is one line without Rust's debug format.
fn assert_sentence(error: &StoreError) {
    let said = error.to_string();
    assert!(!said.is_empty() && !said.contains('\n') && said.len() < 400, "{said:?}");
    assert!(!said.contains("SqliteFailure") && !said.contains("Error {"), "{said:?}");
}
